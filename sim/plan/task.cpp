#include "sim/plan/task.hpp"

namespace lockstep::sim {
inline namespace plan {
namespace {

// One list of members for writing and reading: `visit(name, member)`.
template <typename OutcomeOrConst, typename Visit>
void each_member(OutcomeOrConst& o, const Visit& visit) {
  visit("status", o.status);
  visit("why", o.why);
  visit("fidelity", o.fidelity);
  visit("method", o.method);
  visit("gpu", o.gpu);
  visit("cluster", o.cluster);
  visit("gpus", o.gpus);
  visit("nodes", o.nodes);
  visit("gpus_per_node", o.gpus_per_node);
  visit("nics", o.nics);
  visit("batch_per_gpu", o.batch_per_gpu);
  visit("baseline_gpus", o.baseline_gpus);
  visit("tuned_learners", o.tuned_learners);
  visit("split", o.split);
  visit("global_batch", o.global_batch);
  visit("iteration_s", o.iteration_s);
  visit("relative_low", o.relative_low);
  visit("relative_high", o.relative_high);
  visit("spread_compute", o.spread_compute);
  visit("spread_bandwidth", o.spread_bandwidth);
  visit("spread_latency", o.spread_latency);
  visit("links", o.links);
  visit("compute_s", o.compute_s);
  visit("exposed_communication_s", o.exposed_communication_s);
  visit("idle_s", o.idle_s);
  visit("memory", o.memory);
  visit("updates", o.updates);
  visit("time_s", o.time_s);
  visit("time_s_low", o.time_s_low);
  visit("time_s_high", o.time_s_high);
  visit("undisturbed_s", o.undisturbed_s);
  visit("goodput", o.goodput);
  visit("paid_share", o.paid_share);
  visit("interruptions", o.interruptions);
  visit("spot_interruptions", o.spot_interruptions);
  visit("checkpoint_s", o.checkpoint_s);
  visit("checkpoint_interval_s", o.checkpoint_interval_s);
  visit("spares", o.spares);
  visit("clocked_runs", o.clocked.runs);
  visit("clocked_mean_s", o.clocked.mean_s);
  visit("clocked_low_s", o.clocked.low_s);
  visit("clocked_high_s", o.clocked.high_s);
  visit("warnings", o.warnings);
}

}  // namespace

std::string Task::key() const {
  return std::to_string(point) + "|" + fidelity + "|" + variation + "|" + std::to_string(gpus) + "|" +
         std::to_string(batch_per_gpu) +
         (baseline_gpus > 0 ? "|baseline " + std::to_string(baseline_gpus) + " " + std::to_string(learners) : "") +
         (wants_layers ? "|layers" : "") + (wants_failure_runs ? "|failure runs" : "") +
         (is_throughput_only ? "|throughput" : "");
}

std::string Task::text() const {
  return Json{point,        fidelity,           variation,         gpus, batch_per_gpu, baseline_gpus, learners,
              wants_layers, is_throughput_only, wants_failure_runs}
      .dump();
}

Task Task::from_text(const std::string& text) {
  const Json json = Json::parse(text);
  Task task;
  task.point = json.at(0);
  task.fidelity = json.at(1);
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
  Json json = Json::object();
  each_member(*this, [&](const char* name, const auto& member) { json[name] = member; });
  if (!layer_groups.empty()) json["layer_groups"] = Json::array();
  for (const LayerGroup& g : layer_groups)
    json["layer_groups"].push_back({g.name, g.forward_s, g.backward_s, g.update_s, g.gradient_bytes, g.layers});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Outcome Outcome::from_text(const std::string& text) {
  const Json json = Json::parse(text);
  Outcome outcome;
  each_member(outcome, [&](const char* name, auto& member) { json.at(name).get_to(member); });
  if (json.contains("layer_groups"))
    for (const Json& g : json.at("layer_groups"))
      outcome.layer_groups.push_back({g.at(0), g.at(1), g.at(2), g.at(3), g.at(4), g.at(5)});
  return outcome;
}

}  // namespace plan
}  // namespace lockstep::sim
