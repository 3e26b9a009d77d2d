#pragma once
// Numbers of GPUs that exchange gradients in another way than the largest number of the same job.
//
// A single GPU exchanges nothing. In one node servers save no traffic, messages cross other links, and NCCL chooses its
// all-reduce. Such numbers of GPUs get the scenario that they have if they are asked alone, so that no answer depends
// on the others in the list.
#include <functional>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Returns the question for its numbers of GPUs within one node, or if all are within one node, for its single GPU.
/// None if the question has no such number, or no other one.
std::optional<JobQuestion> question_in_node(const JobQuestion& question, const Catalogue& catalogue);

/// True if `in_node` has another algorithm than `predicted`, another communication, or other links within a node. A
/// single GPU has neither communication nor links.
bool exchange_differs(const JobPrediction& in_node, const JobPrediction& predicted);

/// Replaces the rows that `in_node` has, and keeps it as `predicted.in_node`.
void replace_rows_in_node(JobPrediction& predicted, JobPrediction in_node);

/// Adds a variant to the scenario's file for each kind of exchange, such as "one node" and "several nodes". Each sets
/// its numbers of GPUs and what differs in its scenario, which `file_of` writes. The smallest numbers come first.
/// Returns the variants' names.
std::vector<std::string> add_node_variants(const JobPrediction& predicted,
                                           const std::function<Json(const JobPrediction&)>& file_of, Json& file);

}  // namespace lockstep::sim::job_prediction
