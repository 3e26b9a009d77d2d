#include "sim/quantity/quantity_prediction.hpp"
#include "sim/quantity/task_memory.hpp"

namespace lockstep::sim::quantity {

Json prediction_json(const std::string& id, const std::string& metric, const std::string& unit,
                     const QuantityPrediction& p) {
  if (!p.is_mapped()) return {{"id", id}, {"metric", metric}, {"unmapped", p.task.unmapped}};
  Json assumptions = Json::array();
  std::vector<Assumption> inputs = p.task.assumptions;
  if (const std::optional<Assumption> memory = assumed_memory(p.task)) inputs.push_back(*memory);
  for (const Assumption& a : inputs)
    assumptions.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
  Json json{{"id", id},       {"metric", metric},          {"unit", unit}, {"predicted", p.predicted}, {"low", p.low},
            {"high", p.high}, {"assumptions", assumptions}};
  if (const Json memory = task_memory_json(p.task); !memory.is_null()) json["memory"] = memory;
  return json;
}

}  // namespace lockstep::sim::quantity
