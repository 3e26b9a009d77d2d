#pragma once
// What a record measures, by the many names and units that publications have for it.
#include <optional>
#include <string>

#include "sim/records/record.hpp"

namespace lockstep::sim {

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, reduce };

struct Measure {
  std::string metric;  ///< "images_per_s", "iteration_s", ... as in map.cpp; as the record says where it is unknown
  double per_si = 1;   ///< the record's number is the SI value times this (of bandwidths, times GB/s)
  bool per_gpu = false;
  bool is_iterations = false;                      ///< a rate of iterations, not of images
  bool is_tokens = false;                          ///< a rate of tokens, not of samples
  Collective collective = Collective::all_reduce;  ///< of which a time or a bandwidth is asked for
};

/// "step_time_ms", "algbw" in "MB/s", "efficiency" in "%". Throws Unmapped (mapping.hpp) for a unit that does not fit
/// the metric.
Measure measure_of(const Record& record);

/// Its metric alone; "" for a unit that does not fit.
std::string metric_of(const Record& record);

/// The record's value in SI (bandwidths in GB/s, efficiencies as fractions) and, of a rate, over all GPUs; none where
/// there is no value or no such unit.
std::optional<double> si_value(const Record& record);

}  // namespace lockstep::sim
