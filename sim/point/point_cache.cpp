#include "sim/point/point_cache.hpp"

#include "sim/program/jitter.hpp"
#include "sim/scenario/same_cluster.hpp"

namespace lockstep::sim::point {

const Cluster& PointCache::cluster(const ClusterSpec& spec, int gpus, const InputHosts& input,
                                   double message_overhead_s) {
  const bool is_known = facts_ && facts_->gpus == gpus && facts_->message_overhead_s == message_overhead_s &&
                        facts_->input.has_memories == input.has_memories &&
                        facts_->input.file_server_bytes_per_s == input.file_server_bytes_per_s &&
                        is_same_cluster(facts_->spec, spec);
  if (is_known) return *cluster_;
  facts_.reset();
  costs_ = {};
  cluster_ = std::make_unique<Cluster>(spec, gpus, input);
  cluster_->set_message_overhead({message_overhead_s, message_overhead_s});
  facts_ = std::make_unique<const Facts>(Facts{spec, gpus, input, message_overhead_s});
  return *cluster_;
}

double PointCache::find_expected_slowest(const Scenario& scenario, int gpus) {
  const std::tuple<JitterKind, double, int> jitter{scenario.compute.jitter, scenario.compute.jitter_variation, gpus};
  if (slowest_ == 0 || jitter != jitter_) {
    jitter_ = jitter;
    slowest_ = expected_slowest(scenario, gpus);
  }
  return slowest_;
}

}  // namespace lockstep::sim::point
