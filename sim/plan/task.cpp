#include "sim/plan/task.hpp"

#include "engine/base/field_bytes.hpp"
#include "engine/base/field_text.hpp"

namespace lockstep::sim::plan {

std::string Task::key() const {
  return std::to_string(point) + "|" + name_of(fidelity) + "|" + variation + "|" + std::to_string(gpus) + "|" +
         std::to_string(batch_per_gpu) +
         (baseline_gpus > 0 ? "|baseline " + std::to_string(baseline_gpus) + " " + std::to_string(learners) : "") +
         (wants_layers ? "|layers" : "") + (wants_failure_runs ? "|failure runs" : "") +
         (is_throughput_only ? "|throughput" : "");
}

std::string Task::bytes() const {
  std::string bytes;
  append_bytes(*this, bytes);
  return bytes;
}

Task Task::from_bytes(std::string_view bytes) {
  Task task;
  FieldBytes(bytes).read(task);
  return task;
}

std::string Outcome::text() const {
  std::string text;
  append_json_text(*this, text);
  return text;
}

Outcome Outcome::from_text(const std::string& text) {
  return fields_from_json<Outcome>(Json::parse(text));
}

std::string Outcome::bytes() const {
  std::string bytes;
  append_bytes(*this, bytes);
  return bytes;
}

Outcome Outcome::from_bytes(std::string_view bytes) {
  Outcome outcome;
  FieldBytes(bytes).read(outcome);
  return outcome;
}

}  // namespace lockstep::sim::plan
