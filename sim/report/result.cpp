#include "sim/report/result.hpp"

#include <algorithm>

#include "engine/base/printing.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/rounded_json.hpp"
#include "engine/base/statistics.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/scenario/profile_quality.hpp"

namespace lockstep::sim::report {
namespace {

Json point_json(const ReportPoint& row) {
  const PointResult& p = row.point;
  const double rate = p.samples_per_s();
  Json json = Json::object();
  if (!row.variant.empty()) json["variant"] = row.variant;
  json.update(Json{
      {"gpus", p.gpus},
      {"nodes", p.nodes},
      {"batch_per_gpu", p.batch_per_gpu},
      {"global_batch", row.global_batch},
      {"iteration_s",
       {{"mean", p.mean_iteration_s()}, {"p50", quantile(p.iteration_s, 0.5)}, {"p99", quantile(p.iteration_s, 0.99)}}},
      {"samples_per_s", rate},
      {"samples_per_s_low", rate / p.interval.high},
      {"samples_per_s_high", rate / p.interval.low},
      {"scaling_efficiency", row.scaling_efficiency},
      {"compute_s", p.compute_s},
      {"exposed_communication_s", p.exposed_communication_s},
      {"input_wait_s", p.input_wait_s},
      {"bytes_sent_per_gpu", p.bytes_sent_per_gpu},
      {"messages", p.messages},
      {"memory", memory_json(row.memory)}});
  if (row.tokens_per_s > 0) {
    json["tokens_per_s"] = row.tokens_per_s;
    json["model_flops_per_gpu"] = row.model_flops_per_gpu;
    if (row.peak_flops > 0) json["mfu"] = row.mfu();
    if (row.peak_flops > 0 && row.recomputed_share > 0) json["hfu"] = row.hfu();
  }
  if (row.has_accuracy) {
    json["epochs"] = row.accuracy.epochs;
    json["iterations"] = row.accuracy.iterations;
    json["time_to_accuracy_s"] = row.accuracy.seconds;
    json["time_to_accuracy_s_low"] = row.accuracy.low_s;
    json["time_to_accuracy_s_high"] = row.accuracy.high_s;
  }
  std::vector<std::string> notes = row.extrapolations;
  if (row.has_accuracy) notes.insert(notes.end(), row.accuracy.notes.begin(), row.accuracy.notes.end());
  if (!notes.empty()) json["notes"] = notes;
  if (Json details = details_json(p.details); !details.empty()) json["details"] = std::move(details);
  json["simulation"] = {{"fidelity", name_of(p.fidelity)}};
  json["simulation"].update(method_json(p.method));
  json["simulation"].update({{"wall_s", p.wall_s}, {"events", p.events}});
  return json;
}

// Writes values in SI units: seconds, samples per second, fractions.
Json comparison_json(const Comparison& c) {
  Json json = Json::object();
  if (!c.variant.empty()) json["variant"] = c.variant;
  json.update(Json{{"gpus", c.published.gpus},
                   {"metric", name_of(c.published.metric)},
                   {"published", c.published.value},
                   {"predicted", c.predicted},
                   {"relative_error", c.error()},
                   {"used_for_fit", c.published.is_fitted},
                   {"source", c.published.source}});
  return json;
}

Json shared_json(const std::vector<SharedCluster>& shared) {
  Json jobs = Json::array();
  for (const SharedJob& job : jobs_of(shared))
    jobs.push_back({{"job", job.name},
                    {"gpus", job.gpus},
                    {"nodes", job.nodes},
                    {"alone_s", job.alone_s},
                    {"together_s", job.together_s},
                    {"together_s_low", job.together_low_s},
                    {"together_s_high", job.together_high_s},
                    {"slowdown", job.slowdown()},
                    {"samples_per_s", job.samples_per_s()}});
  return {{"jobs", jobs},
          {"background_flows", shared.front().background_flows},
          {"replays", shared.front().replays},
          {"messages_per_replay", shared.back().messages}};
}

// RFC 4180: a field with a comma, a quote or a line break is quoted, its quotes doubled.
std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += for_csv(field) + ",";
  line.back() = '\n';
  return line;
}

}  // namespace

Json result_head(const std::string& schema, const LoadedScenario& loaded, const std::vector<std::string>& argv) {
  Json json{{"schema", schema}};
  json["provenance"] = provenance(argv, Cluster::network_model(), loaded.inputs);
  json["scenario"] = loaded.resolved;
  return json;
}

Json assumptions_json(const LoadedScenario& loaded) {
  Json json = Json::array();
  for (const Assumption& a : loaded.assumptions)
    json.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
  return json;
}

Json result_json(const Report& report, const std::vector<std::string>& argv) {
  Json json = result_head("lockstep/result/1", report.loaded, argv);
  json["points"] = Json::array();
  for (const ReportPoint& row : report.points) json["points"].push_back(point_json(row));
  if (!report.shared.empty()) json["shared_cluster"] = shared_json(report.shared);
  json["published"] = Json::array();
  for (const Comparison& c : report.comparisons) json["published"].push_back(comparison_json(c));
  json["assumptions"] = assumptions_json(report.loaded);
  if (!report.loaded.notes.empty()) json["notes"] = report.loaded.notes;
  const std::vector<std::string> imprecise = imprecise_profiles(report.loaded.variants);
  if (!imprecise.empty()) json["imprecise"] = imprecise;
  return rounded(std::move(json));
}

// A column for each value that any row has, because variants may have different values.
std::string csv_text(const Report& report) {
  std::vector<Json> rows;
  std::vector<std::string> pointers, names;
  for (const ReportPoint& row : report.points) {
    rows.push_back(rounded(point_json(row)).flatten());
    for (const auto& [pointer, value] : rows.back().items())
      if (std::find(pointers.begin(), pointers.end(), pointer) == pointers.end()) pointers.push_back(pointer);
  }
  for (const std::string& pointer : pointers) names.push_back(pointer.substr(1));
  std::string text = csv_line(names);
  for (const Json& row : rows) {
    std::vector<std::string> fields;
    for (const std::string& pointer : pointers) {
      const Json value = row.value(pointer, Json(""));
      fields.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    text += csv_line(fields);
  }
  return text;
}

Json layers_json(const Scenario& scenario, int batch_per_gpu) {
  Scenario s = scenario;
  s.compute.busy_devices = std::min(s.gpus.front(), s.cluster.gpus_per_node);
  const ModelCost cost = model_cost(s, batch_per_gpu);
  const double all = std::max(1.0, static_cast<double>(s.model.parameter_count()));
  Json rows = Json::array();
  for (std::size_t i = 0; i < s.model.layers.size(); ++i) {
    const auto parameters = static_cast<double>(s.model.layers[i].parameter_count());
    rows.push_back({{"layer", s.model.layers[i].name},
                    {"forward_s", cost.layers[i].forward_s},
                    {"backward_s", cost.layers[i].backward_s},
                    {"update_s", cost.update_s * parameters / all},
                    {"parameters", parameters},
                    {"gradient_bytes", parameters * bytes_of(s.communication.wire)}});
  }
  return rounded(std::move(rows));
}

std::string layers_csv(const Scenario& scenario, int batch_per_gpu) {
  const std::vector<std::string> columns{"layer",    "forward_s",  "backward_s",
                                         "update_s", "parameters", "gradient_bytes"};
  std::string text = csv_line(columns);
  for (const Json& row : layers_json(scenario, batch_per_gpu)) {
    std::vector<std::string> fields{row.at("layer").get<std::string>()};
    for (std::size_t i = 1; i < columns.size(); ++i) fields.push_back(row.at(columns[i]).dump());
    text += csv_line(fields);
  }
  return text;
}

}  // namespace lockstep::sim::report
