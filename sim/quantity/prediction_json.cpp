#include <algorithm>
#include <cmath>

#include "sim/quantity/quantity_prediction.hpp"
#include "sim/quantity/task_memory.hpp"
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::quantity {
namespace {

// With a split, the batch of a GPU is the micro-batch.
void add_batch_and_split(const Workload& workload, Json& json) {
  json["batch_per_gpu"] = workload.batch_per_gpu;
  json["global_batch"] = std::llround(workload.samples() * workload.accumulation);
  if (workload.scenario.parallel) json["split"] = parallel_format().write(workload.scenario.parallel_at(workload.gpus));
}

}  // namespace

Json prediction_json(const std::string& id, const std::string& metric, const std::string& unit,
                     const QuantityPrediction& p) {
  if (!p.is_mapped())
    return {{"id", id},
            {"metric", metric},
            {"unit", unit},
            {"status", name_of(AnswerStatus::unmapped)},
            {"unmapped", p.task.unmapped}};
  Json assumptions = Json::array();
  std::vector<Assumption> inputs = p.task.assumptions;
  const std::optional<GpuMemory> memory = p.memory ? p.memory : count_task_memory(p.task);
  if (memory) inputs.push_back(memory_assumption(*memory));
  for (const Assumption& a : inputs)
    assumptions.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
  Json json{{"id", id},
            {"metric", metric},
            {"unit", unit},
            {"status", name_of(!memory || memory->fits() ? AnswerStatus::ok : AnswerStatus::does_not_fit)},
            {"predicted", p.predicted},
            {"low", p.low},
            {"high", p.high},
            {"assumptions", assumptions}};
  if (!p.task.target.empty()) {
    const Workload& workload = p.task.target.front();
    const int of_node = std::max(1, workload.scenario.cluster.gpus_per_node);
    json["gpus"] = workload.gpus;
    json["nodes"] = (workload.gpus + of_node - 1) / of_node;
    json["method"] = name_of(workload.scenario.fidelity);
    if (p.method) json["simulation"] = method_json(*p.method);
    if (workload.kind == Workload::Kind::iteration) add_batch_and_split(workload, json);
  }
  if (memory) {
    json["memory"] = memory_json(*memory);
    if (const Json stages = stages_json(count_stage_memories(p.task)); !stages.is_null())
      json["memory"]["stages"] = stages;
  }
  return json;
}

}  // namespace lockstep::sim::quantity
