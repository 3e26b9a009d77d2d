// Classes of predictions whose intervals are calibrated together.

#include "sim/quantity/quantity_task.hpp"

namespace lockstep::sim::quantity {
namespace {

constexpr int kFewTokens = 4096;  // tokens of a pass on a GPU; with fewer, launches and small GEMMs dominate

const char* const kLittleWork = "little work";
const char* const kMuchWork = "much work";

const char* work_of_pass(std::int64_t batch, std::int64_t tokens, bool has_adapters) {
  return has_adapters || batch * tokens < kFewTokens ? kLittleWork : kMuchWork;
}

bool is_sharded_or_split(const GivenSplit& split) {
  return split.values.sharding != ShardingStage::none || split.is_searched || split.divides_replicas();
}

// Split models are predicted best if the software's exchange or state was read from its code. Other software is
// predicted better with many tokens per pass than with adapters or few tokens.
std::vector<std::string> kinds_of_sequences(const StackModel& m, const QuantityTask& task) {
  if (m.stack->is_followed() && is_sharded_or_split(m.job.split)) return {"sequences", "followed"};
  return {"sequences", "other",
          work_of_pass(task.target.front().batch_per_gpu, m.model->tokens, m.job.split.task == kAdapters)};
}

// Transports of clouds differ from each other more than machines with InfiniBand do.
std::string path_of_all_reduce(const StackModel& m) {
  if (m.network == nullptr) return "in a node";
  return m.network->rdma && !m.network->has_slow_plugin ? "by RDMA" : "by a transport of its own";
}

const char* const kSequences = "sequences";

}  // namespace

std::string IntervalClass::name() const {
  std::string name;
  for (const std::string& kind : kinds) name += (name.empty() ? "" : ", ") + kind;
  return name;
}

std::vector<std::string> IntervalClass::names() const {
  std::vector<std::string> names;
  for (IntervalClass wider = *this; !wider.kinds.empty(); wider.kinds.pop_back()) names.push_back(wider.name());
  if (!has_fixed_width()) names.emplace_back("all");
  return names;
}

bool IntervalClass::has_fixed_width() const {
  return !kinds.empty() && kinds.front() == kSequences;
}

void set_work_of_pass(const Workload& run, bool has_adapters, IntervalClass& interval_class) {
  std::string& last = interval_class.kinds.back();
  if (last != kLittleWork && last != kMuchWork) return;
  last = work_of_pass(run.batch_per_gpu, run.scenario.model.tokens, has_adapters);
}

IntervalClass whole_training_class() {
  return {{kSequences, "whole trainings"}};
}

IntervalClass interval_class_of(const StackModel& m, const QuantityTask& task) {
  if (task.is_whole_training) return whole_training_class();
  switch (task.quantity) {
    case Quantity::all_reduce_s:
    case Quantity::bus_bandwidth:
    case Quantity::algorithm_bandwidth:
    case Quantity::alpha_s:
    case Quantity::beta_s_per_byte:
      return {{"all-reduce", m.intra_node->is_nvlink ? "NVLink" : "PCIe", path_of_all_reduce(m)}};
    case Quantity::exchange_s:
      return {{"exchange"}};
    case Quantity::epochs:
      return {{"epochs"}};
    case Quantity::memory:
      return {{"memory"}};
    case Quantity::speedup:
    case Quantity::efficiency:
    case Quantity::time_ratio:
    case Quantity::iteration_increase:
      return {{"scaling", m.job.transport == Transport::nccl ? "NCCL" : "servers and MPI"}};
    default:
      break;
  }
  IntervalClass result{{"throughput"}};
  if (task.epochs > 0) {
    result.kinds = {"time to accuracy"};
    if (m.job.is_mlperf()) result.kinds.emplace_back("MLPerf");
  }
  const bool is_by_tokens = task.epochs == 0 && m.model->is_of_sequences();
  if (!task.has_rates() || m.job.has_carried_rate())
    return is_by_tokens ? IntervalClass{kinds_of_sequences(m, task)} : result;
  result.without_rate = is_by_tokens ? kinds_of_sequences(m, task) : result.kinds;
  result.kinds.emplace_back("anchored");
  return result;
}

}  // namespace lockstep::sim::quantity
