#pragma once
// Numbers of GPUs that need another scenario than the largest number of the same job. Each gets the scenario of a
// question with this number alone, so that no answer depends on the other numbers in the list.
//
// Their exchange may differ. A single GPU exchanges nothing. In one node servers save no traffic, messages cross other
// links, and NCCL chooses its all-reduce.
//
// Whole replicas may differ, too. They choose sharding, recomputation and micro-batch by memory, which depends on the
// number of GPUs (replica_search.hpp).
#include <functional>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Returns the question for its numbers of GPUs within one node, or if all are within one node, for its single GPU.
/// None if the question has no such number, or no other one.
std::optional<JobQuestion> question_in_node(const JobQuestion& question, const Catalogue& catalogue);

/// Returns the asked question for those of its numbers of GPUs that `answered` lacks; none if it lacks none.
std::optional<JobQuestion> question_of_others(const JobQuestion& asked, const JobQuestion& answered);

/// True if `in_node` has another algorithm than `predicted`, another communication, or other links within a node. A
/// single GPU has neither communication nor links.
bool exchange_differs(const JobPrediction& in_node, const JobPrediction& predicted);

/// Adds the rows of `own`, in place of those with equal numbers of GPUs, and keeps `own` among
/// `predicted.own_scenarios`. Rows then have the order of `gpus`.
void add_own_scenario(JobPrediction& predicted, JobPrediction own, const std::vector<int>& gpus);

/// True if `own` chose another sharding, recomputation or number of micro-steps than `predicted`.
bool has_other_replicas(const JobPrediction& own, const JobPrediction& predicted);

/// Adds a variant to the scenario's file for each scenario, such as "one node" and "several nodes". Each sets its
/// numbers of GPUs and what differs in its scenario, which `file_of` writes. The smallest numbers come first. Returns
/// the variants' names.
std::vector<std::string> add_variants(const JobPrediction& predicted,
                                      const std::function<Json(const JobPrediction&)>& file_of, Json& file);

}  // namespace lockstep::sim::job_prediction
