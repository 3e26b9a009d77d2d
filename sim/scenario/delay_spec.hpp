#pragma once
// Describes the variation of a worker's step time, as a scenario gives it. cost/delay.hpp computes the distribution.
#include <string>
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// The fraction `at` of all steps takes at most `value`.
struct PercentileSpec {
  double at;
  double value;
};

struct DelaySpec {
  enum class Kind {
    none,         ///< 1
    lognormal,    ///< shift + scale exp(shape z), z standard normal: median shift + scale
    gamma,        ///< shift + scale X, X of density x^(shape-1) exp(-x) / Gamma(shape); shape 1 is the exponential
    pareto_tail,  ///< a lognormal whose slowest share `tail_probability` follows P(X > x) ~ x^-tail_index
    empirical,    ///< drawn from samples
    percentiles   ///< a pareto_tail fitted to percentiles
  };
  Kind kind = Kind::none;
  bool in_seconds = false;              ///< of a whole step; false: a factor of the scenario's compute time
  bool includes_communication = false;  ///< seconds measured from outside, so messages carry no bytes
  double shift = 0;
  double scale = 1;
  double shape = 0;
  double tail_probability = 0;
  double tail_index = 0;
  std::vector<double> samples;
  std::string samples_file;  ///< text file with the samples; empty if the scenario lists them
  std::vector<PercentileSpec> percentiles;
};

inline const Choices<DelaySpec::Kind>& choices_of(DelaySpec::Kind) {
  using Kind = DelaySpec::Kind;
  static const Choices<Kind> all{{Kind::none, "none"},           {Kind::lognormal, "lognormal"},
                                 {Kind::gamma, "gamma"},         {Kind::pareto_tail, "pareto-tail"},
                                 {Kind::empirical, "empirical"}, {Kind::percentiles, "percentiles"}};
  return all;
}

/// Reads {"distribution", "unit", ...}; README.md describes the keys.
DelaySpec read_delay(const JsonNode& node);
/// Writes the form that read_delay() reads as the same distribution. Samples are written out.
Json to_json(const DelaySpec& delay);
Json delay_schema();
std::string delay_table(DelaySpec::Kind kind);

}  // namespace lockstep::sim::scenario
