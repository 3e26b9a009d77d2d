#pragma once
// What the memory plans of engine/model/memory_plan.hpp save for a run's model, batch and learners: the outputs of all
// layers and their gradients, on one GPU.
#include <string>

#include "engine/model/graph.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// {learners, batch, element_bytes, buffers, unplanned_bytes, offline_bytes, least_bytes, replicated_bytes,
/// turns_bytes, pooled_is, pooled_bytes}
///   unplanned_bytes   of one learner, every buffer by itself
///   offline_bytes     of one learner, with the offline plan; this is what a pass on the host holds
///   least_bytes       of one learner: the buffers live at the fullest step, which no plan can go below
///   replicated_bytes  of all learners of a GPU, each with its offline plan
///   turns_bytes       of all learners of a process on the host, which take turns in as many arenas as passes run at
///                     once: min(threads, learners) offline plans. Null for CUDA: see pooled_is
///   pooled_bytes      of all learners of a GPU with a pool per operator, computed for learners at even distances
Json memory_plan_json(const model::Graph& graph, const Settings& settings);
/// The same as text.
std::string memory_plan_text(const model::Graph& graph, const Settings& settings);

}  // namespace lockstep::train
