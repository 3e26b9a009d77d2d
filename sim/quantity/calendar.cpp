#include "sim/quantity/calendar.hpp"

#include <algorithm>

#include "engine/model/optimizer.hpp"
#include "sim/program/gpu_memory.hpp"

namespace lockstep::sim::quantity {

Calendar calendar_of(const Scenario& scenario, int gpus, const std::string& storage) {
  return gpus <= kUndisturbedGpus ? Calendar() : disturbed_calendar(scenario, gpus, storage);
}

Calendar disturbed_calendar(const Scenario& scenario, int gpus, const std::string& storage) {
  Calendar calendar;
  Json failures{{"repair", "0 s"}};
  if (!storage.empty()) failures.update(parse_storage_bandwidth("--storage", storage));
  JsonDocument document = JsonDocument::parse(Json{{"failures", failures}}.dump(), "interruptions");
  failures_format().complete(document, "/failures");
  const FailureSpec spec = failures_format().read(document.root().at("failures"));
  const int of_node = std::max(1, scenario.cluster.gpus_per_node);
  const int nodes = std::max(1, gpus / of_node);
  const FailureProcess process = process_of(spec, {nodes, std::min(of_node, gpus), checkpoint_bytes(scenario)});
  calendar.goodput = goodput(process);
  calendar.interruptions_per_s = 1 / process.mttf_s;
  for (Assumption rate : document.assumptions()) {
    rate.pointer = "interruptions: " + rate.pointer.substr(rate.pointer.rfind('/') + 1);
    calendar.inputs.push_back(rate);
  }
  return calendar;
}

}  // namespace lockstep::sim::quantity
