#pragma once
// Constants from records: `validate --fit`.
//
// A constant is asked for by a chain of names, the most specific first: "speed/a100-pcie/mixed", "speed/ampere/mixed",
// "speed/mixed". Its value is what is usual (priors.hpp) times a factor for each name; a factor that was never fitted is 1.
// So what holds for a class stands in for a member that nobody has measured, and a member differs from its class as far
// as records say so. A GPU's generation and precision, software and family of networks are chains of their own, whose
// values are multiplied.
//
// All factors are fitted together (mixed_effects.hpp): the residual of a record is log(published / predicted); the
// logarithm of a factor is an effect, whose spread before any record priors.hpp has; what records of one kind and source
// have in common is an effect as well, which no prediction uses. So a constant that many sources show is believed, one that
// a single source shows is shared between the constant and the source. Predictions are linearised in the logarithms of the
// chains' values, by differences, and the solution is taken again from where it led (Gauss-Newton).
//
// What each kind of record may move:
//
//   rates of one GPU; MLPerf's up to 64         speeds of GPUs, memories, software, families, kernel and host launches
//   rates of transformers that are split        the same
//   epochs                                      epochs at small batch, critical batch
//   all-reduces alone, exchanges                shares of links and networks, calls, messages
//   rates and efficiencies of several GPUs      jitter, shares of TCP networks
//   rates where processors decode images        images decoded
//   times of trainings, their rate given        share of evaluations
//   and not given                               what a training takes over benchmarks
//
// The first and the third see records without what their experiments give, so that constants stand for the record
// itself. All records count that are given or to be predicted: what a prediction is worth is told by leaving out whole
// sources (scoring.hpp), for which the same linear equations are solved without them. So is what spreads and noise, which
// are assumed, should be (fit_sensitivity.hpp).
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/validation/fit_sensitivity.hpp"
#include "sim/validation/predict.hpp"

namespace lockstep::sim {
inline namespace validation {

using Tell = std::function<void(const std::string& line)>;

/// All that the fit looks at: records that are given or to be predicted, with a value.
std::vector<Record> fit_input(const std::vector<Record>& records);

struct FittedConstants {
  Catalogue all;
  std::map<std::string, Catalogue> without;   ///< by whole source: constants of all the other sources
  std::vector<FitSensitivity> sensitivities;  ///< where they are asked for
};

/// Constants fitted anew, and those without each source (whole_source()) that the records have. `tell` gets a line per
/// round.
FittedConstants fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                              const Tell& tell = {}, bool with_sensitivities = false);

/// The file fitted.json.
Json constants_json(const Catalogue& catalogue);

}  // namespace validation
}  // namespace lockstep::sim
