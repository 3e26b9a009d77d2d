#include "sim/quantity/calendar.hpp"

#include <algorithm>

#include "engine/model/optimizer.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/program/gpu_memory.hpp"

namespace lockstep::sim::quantity {

Json default_failures(const std::string& storage) {
  Json failures{{"repair",
                 {{"value", "0 s"},
                  {"kind", "assumed"},
                  {"source", "a spare node replaces every node that fails, as in published trainings"}}}};
  if (!storage.empty()) failures.update(parse_storage_bandwidth("--storage", storage));
  return failures;
}

Calendar calendar_of(const Scenario& scenario, int gpus, const std::string& storage, double iteration_s) {
  Calendar calendar;
  if (gpus <= kUndisturbedGpus) return calendar;
  JsonDocument document = JsonDocument::parse(Json{{"failures", default_failures(storage)}}.dump(), "interruptions");
  failures_format().complete(document, "/failures");
  const FailureSpec spec = failures_format().read(document.root().at("failures"));
  const int of_node = std::max(1, scenario.cluster.gpus_per_node);
  const int nodes = std::max(1, gpus / of_node);
  const FailureProcess process =
      process_of(spec, {nodes, std::min(of_node, gpus), checkpoint_bytes(scenario), iteration_s});
  calendar.goodput = goodput(process);
  calendar.interruptions_per_s = 1 / process.mttf_s;
  for (Assumption rate : document.assumptions()) {
    rate.pointer = "interruptions: " + rate.pointer.substr(rate.pointer.rfind('/') + 1);
    calendar.inputs.push_back(rate);
  }
  return calendar;
}

bool has_searched_ranks(const Job& job) {
  const auto is_given = [&](const char* key) {
    return job.split.has(key) && job.assumed.count(job::chosen_key(key)) == 0;
  };
  for (const char* key : {"tensor", "context", "expert", "pipeline", "data"})
    if (is_given(key)) return false;
  return job.split.is_searched || job.assumed.count(job::chosen_key("micro_batch")) > 0;
}

std::optional<double> training_over_fastest(StackModel& m) {
  if (!m.model->is_of_sequences() || !m.job.split.task.empty() || !has_searched_ranks(m.job)) return std::nullopt;
  return m.constant({kTrainingOverFastest});
}

}  // namespace lockstep::sim::quantity
