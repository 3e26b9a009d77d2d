#include "sim/plan/task.hpp"

#include "engine/base/json_fields.hpp"

namespace lockstep::sim {
inline namespace plan {
std::string Task::key() const {
  return std::to_string(point) + "|" + name_of(fidelity) + "|" + variation + "|" + std::to_string(gpus) + "|" +
         std::to_string(batch_per_gpu) +
         (baseline_gpus > 0 ? "|baseline " + std::to_string(baseline_gpus) + " " + std::to_string(learners) : "") +
         (wants_layers ? "|layers" : "") + (wants_failure_runs ? "|failure runs" : "") +
         (is_throughput_only ? "|throughput" : "");
}

std::string Task::text() const {
  return Json{point,        name_of(fidelity),  variation,         gpus, batch_per_gpu, baseline_gpus, learners,
              wants_layers, is_throughput_only, wants_failure_runs}
      .dump();
}

Task Task::from_text(const std::string& text) {
  const Json json = Json::parse(text);
  Task task;
  task.point = json.at(0);
  task.fidelity = choice_named<Fidelity>(json.at(1).get<std::string>(), "task");
  task.variation = json.at(2);
  task.gpus = json.at(3);
  task.batch_per_gpu = json.at(4);
  task.baseline_gpus = json.at(5);
  task.learners = json.at(6);
  task.wants_layers = json.at(7);
  task.is_throughput_only = json.at(8);
  task.wants_failure_runs = json.at(9);
  return task;
}

std::string Outcome::text() const {
  Json json = fields_to_json(*this);
  if (!layer_groups.empty()) json["layer_groups"] = Json::array();
  for (const LayerGroup& g : layer_groups)
    json["layer_groups"].push_back({g.name, g.forward_s, g.backward_s, g.update_s, g.gradient_bytes, g.layers});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Outcome Outcome::from_text(const std::string& text) {
  const Json json = Json::parse(text);
  Outcome outcome = fields_from_json<Outcome>(json);
  if (json.contains("layer_groups"))
    for (const Json& g : json.at("layer_groups"))
      outcome.layer_groups.push_back({g.at(0), g.at(1), g.at(2), g.at(3), g.at(4), g.at(5)});
  return outcome;
}

}  // namespace plan
}  // namespace lockstep::sim
