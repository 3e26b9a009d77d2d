#pragma once
// What a job states of its split, as keys of a scenario's "parallel".
#include <set>
#include <string>

#include "sim/records/job_spec.hpp"

namespace lockstep::sim {
inline namespace records {

/// Sets what is stated, and leaves the rest as it is. Gives the keys that were set; replicas, batches and adapters, which a
/// job states in other words, are not among them.
std::set<std::string> take_stated(const SplitSpec& split, ParallelSpec& spec);

/// The catalogue's name of what trains models so divided, where nothing says it.
std::string usual_software(const SplitSpec& split);

}  // namespace records
}  // namespace lockstep::sim
