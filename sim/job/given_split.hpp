#pragma once
// The part of a job that says how a replica is split over GPUs: the given keys of a scenario's "parallel"
// (parallel_format()). Command lines and records have names of their own for these keys.
#include <set>
#include <string>

#include "engine/base/json.hpp"
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::job {

/// Fine-tuning tasks: LoRA adapters with frozen weights, or all weights. Without a task, all weights are trained.
inline constexpr const char *kAdapters = "lora", *kAllWeights = "sft";

struct GivenSplit {
  ParallelSpec values;              ///< keys that are not given have their defaults
  std::set<std::string> keys;       ///< keys of parallel_format() that are given
  std::string task;                 ///< kAdapters, or kAllWeights; empty: as kAllWeights
  std::string unsupported_offload;  ///< as a record names it
  bool is_requested = false;        ///< the user asked for a split, even if each replica is one GPU
  bool is_searched = false;         ///< the search chooses keys that are not given: the fastest split that fits
  /// True if one GPU holds a replica, which decides the default software. Unset: memory was not checked.
  std::optional<bool> fits_one_gpu;

  /// Returns whether a key is given. Throws std::logic_error for a key that "parallel" does not have.
  bool has(const std::string& key) const;
  /// Sets a key to a scenario's value. Choices may have any case ("1F1B"). Throws InputError at `node`.
  void give(const std::string& key, const JsonNode& node);
  /// Sets a key to the value of a command line. Errors begin with `where`.
  void give(const std::string& key, const Json& value, const std::string& where = "split");
  /// Removes a given key.
  void leave_out(const std::string& key);
  /// True if the given keys make a replica span several GPUs.
  bool divides_replicas() const;
};

/// Returns the given keys, which a search keeps.
std::set<std::string> fixed_keys(const GivenSplit& split);
/// Copies the given keys into `spec`. Skips batches, the number of replicas and adapters, which the stack
/// model sets.
void apply_given_split(const GivenSplit& split, ParallelSpec& spec);

/// Returns the catalogue's name of the default software for models that are split in this way.
std::string usual_software(const GivenSplit& split);

}  // namespace lockstep::sim::job
