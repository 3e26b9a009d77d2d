#pragma once
// Local SGD (Stich 2019): every GPU trains alone for H steps, each with its own update. Then all replace their
// parameters by the average. With H = 1 and plain SGD it is S-SGD with the all-reduce after the update.
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

struct LocalSgd : SSgd {
  int period = 1;  ///< H: steps from one averaging to the next
};

/// An iteration is a step. Every `period`-th step ends with an averaging of the parameters, one all-reduce
/// after the other for their `buckets`. SSgd's overlap and accumulation do not apply. Streams are those of
/// s_sgd().
Program local_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets,
                  const LocalSgd& options, const AllReduce& all_reduce);

}  // namespace lockstep::sim::schedule
