#pragma once
// Local SGD (Stich 2019): every GPU trains alone for H steps, each with its own update. Then all replace their
// parameters by the average. With H = 1 and plain SGD it is S-SGD with the all-reduce after the update.
//
// DiLoCo (Douillard et al. 2023): groups of GPUs, such as data centres, take the place of GPUs. The GPUs of a group train
// one replica by S-SGD. After H steps the groups average their parameters, and each makes an outer update.
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

struct LocalSgd : SSgd {
  int period = 1;      ///< H: steps from one averaging to the next
  int group_gpus = 1;  ///< GPUs of a replica; divides `gpus`
};

/// An iteration is a step. Every `period`-th step ends with an averaging of the parameters, one all-reduce
/// after the other for their `buckets`. SSgd's overlap and accumulation apply within groups; without groups both are
/// ignored. Streams are those of s_sgd().
///
/// Within groups `all_reduce` sums gradients, for all groups at the same time. A library operation ends on all GPUs
/// together, so that groups then wait for each other at every step. Between groups, rank i of a group exchanges its
/// part of the parameters with the ranks i of the others (average_between_groups()). `gather` then gathers the parts
/// within the groups. The outer update takes as long as an update.
Program local_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets,
                  const LocalSgd& options, const AllReduce& all_reduce, const AllReduce& gather);

}  // namespace lockstep::sim::schedule
