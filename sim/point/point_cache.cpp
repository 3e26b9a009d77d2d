#include "sim/point/point_cache.hpp"

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

}  // namespace lockstep::sim::point
