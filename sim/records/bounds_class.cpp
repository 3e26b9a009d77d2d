// What kind of prediction a record's is: those of one kind have bounds in common.
#include <algorithm>

#include "sim/records/mapping.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr int kFewTokens = 4096;  // of a pass on a GPU, below which launches and small products decide

bool is_sharded_or_split(const JobSpec& job) {
  const SplitSpec& split = job.split;
  const bool is_sharded = split.sharding.value_or(ShardingStage::none) != ShardingStage::none;
  return is_sharded || split.is_searched || std::max({split.tensor, split.pipeline, split.context, split.expert}) > 1;
}

// Models that are divided by software whose exchange or state was looked up in its code are known better than others; of the
// others, passes over many tokens are known better than adapters and passes over few.
std::string how_sure_of_sequences(const Mapping& m) {
  if (m.stack->is_followed() && is_sharded_or_split(m.job)) return ", followed";
  const RecordRun& run = m.result.target.front();
  const bool has_little_work =
      m.job.split.task == kAdapters || std::int64_t{run.batch_per_gpu} * m.model->tokens < kFewTokens;
  return std::string(", other") + (has_little_work ? ", little work" : ", much work");
}

// Clouds' own transports differ from each other by more than InfiniBand's machines do.
std::string where_of_all_reduce(const Mapping& m) {
  if (m.network == nullptr) return ", in a node";
  return m.network->rdma && !m.network->has_slow_plugin ? ", by RDMA" : ", by a transport of its own";
}

}  // namespace

std::string bounds_class_of(const Mapping& m) {
  const MappedRecord& r = m.result;
  switch (r.quantity) {
    case Quantity::all_reduce_s:
    case Quantity::bus_bandwidth:
    case Quantity::algorithm_bandwidth:
    case Quantity::alpha_s:
    case Quantity::beta_s_per_byte:
      return "all-reduce" + std::string(m.intra_node->is_nvlink ? ", NVLink" : ", PCIe") + where_of_all_reduce(m);
    case Quantity::exchange_s:
      return "exchange";
    case Quantity::epochs:
      return "epochs";
    case Quantity::memory:
      return "memory";
    case Quantity::speedup:
    case Quantity::efficiency:
    case Quantity::time_ratio:
    case Quantity::iteration_increase:
      return m.job.transport == Transport::nccl ? "scaling, NCCL" : "scaling, servers and MPI";
    default:
      break;
  }
  const bool is_mlperf = m.job.is_mlperf();
  const bool anchored = r.has_rates();
  if (m.model->is_of_sequences() && r.epochs == 0)
    return anchored ? "throughput, anchored" : "sequences" + how_sure_of_sequences(m);
  const std::string what = r.epochs > 0 ? (is_mlperf ? "time to accuracy, MLPerf" : "time to accuracy") : "throughput";
  return what + (anchored ? ", anchored" : "");
}

}  // namespace records
}  // namespace lockstep::sim
