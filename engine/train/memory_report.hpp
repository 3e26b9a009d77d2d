#pragma once
// Reports how much memory the plans of engine/model/memory_plan.hpp save for a run's model, batch and learners. It
// covers the layers' outputs and their gradients on one GPU.
#include <string>

#include "engine/model/graph.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// Returns {learners, batch, element_bytes, buffers, unplanned_bytes, offline_bytes, least_bytes, replicated_bytes,
/// turns_bytes, pooled_is, pooled_bytes}:
///   unplanned_bytes   one learner, if every buffer had its own memory
///   offline_bytes     one learner, with the offline plan; a pass on the host uses this
///   least_bytes       one learner: the buffers live at the fullest step, which no plan can go below
///   replicated_bytes  all learners of a GPU, each with its offline plan
///   turns_bytes       all learners of a process on the host, which take turns in as many arenas as there are
///                     concurrent passes: min(threads, learners) offline plans. Null for CUDA: see pooled_is
///   pooled_bytes      all learners of a GPU with a pool per operator, computed for learners at even distances
Json memory_plan_json(const model::Graph& graph, const Settings& settings);
/// Writes the same numbers as text.
std::string memory_plan_text(const model::Graph& graph, const Settings& settings);

}  // namespace lockstep::train
