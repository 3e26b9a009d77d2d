// The result file "lockstep/result/1" and the CSV have keys on which scripts depend, and the same bytes for the same
// input.
#include <algorithm>

#include "engine/base/provenance.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::csv_text;
using sim::predict;
using sim::Report;
using sim::result_json;

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

using Keys = std::vector<std::string>;

SmallFiles files_with_convergence() {
  SmallFiles files;
  files.scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 60000}, {"epochs", 2}};
  files.scenario["compute"]["jitter"] = {{"distribution", "lognormal"}, {"coefficient_of_variation", 0.05}};
  return SmallFiles(files.scenario, files.cluster);
}

// Returns the result without parts that may differ between two runs.
std::string comparable(const Report& report) {
  Json json = result_json(report, {"simulate"});
  json.erase("provenance");
  for (Json& point : json["points"]) point["simulation"].erase("wall_s");
  return json.dump(2);
}

// Parses RFC 4180; every line becomes its fields.
std::vector<Keys> parse_csv(const std::string& text) {
  std::vector<Keys> rows(1, Keys(1));
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && c == ',')
      rows.back().emplace_back();
    else if (!is_quoted && c == '\n')
      rows.emplace_back(1, "");
    else
      rows.back().back() += c;
  }
  REQUIRE(rows.back() == Keys{""});  // the text ends with a line break
  rows.pop_back();
  return rows;
}

// Every field of the row equals the point's value for that column, and is empty if the point has none.
void check_row(const Keys& columns, const Keys& row, const Json& point) {
  REQUIRE(row.size() == columns.size());
  std::size_t filled = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    INFO(columns[i] << " = " << row[i]);
    const Json::json_pointer where("/" + columns[i]);
    if (!point.contains(where)) {
      CHECK(row[i] == "");
      continue;
    }
    ++filled;
    const Json& value = point[where];
    CHECK(row[i] == (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  CHECK(filled == point.flatten().size());
}

void check_csv(const Report& report) {
  const std::vector<Keys> rows = parse_csv(csv_text(report));
  const Json points = result_json(report, {})["points"];
  REQUIRE(rows.size() == 1 + points.size());
  for (std::size_t i = 0; i < points.size(); ++i) check_row(rows[0], rows[i + 1], points[i]);
}

}  // namespace

TEST_CASE("the result has the keys that scripts rely on") {
  SmallFiles files = files_with_convergence();
  files.scenario["published"] =
      Json::parse(R"([{"gpus": 2, "metric": "time_to_accuracy", "value": "2 min", "source": "a"}])");
  const Json json = result_json(predict(files.load(), 2, {}), {"simulate", "x.json"});
  CHECK(keys_of(json) == Keys{"schema", "provenance", "scenario", "points", "published", "assumptions"});
  CHECK(json["schema"] == "lockstep/result/1");
  CHECK(keys_of(json["provenance"]) ==
        Keys{"version", "git", "argv", "started_utc", "host", "simgrid", "network_model", "inputs"});
  CHECK(json["provenance"]["argv"] == Json{"simulate", "x.json"});
  CHECK(json["provenance"]["network_model"] == sim::Cluster::network_model());
  CHECK(json["provenance"]["inputs"][files.folder.path("scenario.json")] == sha256_hex(files.scenario.dump()));
  CHECK(json["scenario"]["seed"] == 1);
  REQUIRE(json["points"].size() == 2);
  for (const Json& point : json["points"]) {
    CHECK(keys_of(point) == Keys{"gpus",
                                 "nodes",
                                 "batch_per_gpu",
                                 "global_batch",
                                 "iteration_s",
                                 "samples_per_s",
                                 "samples_per_s_low",
                                 "samples_per_s_high",
                                 "scaling_efficiency",
                                 "compute_s",
                                 "exposed_communication_s",
                                 "input_wait_s",
                                 "bytes_sent_per_gpu",
                                 "messages",
                                 "memory",
                                 "epochs",
                                 "iterations",
                                 "time_to_accuracy_s",
                                 "time_to_accuracy_s_low",
                                 "time_to_accuracy_s_high",
                                 "simulation"});
    CHECK(keys_of(point["iteration_s"]) == Keys{"mean", "p50", "p99"});
    CHECK(keys_of(point["simulation"]) == Keys{"fidelity", "method", "error_class", "reason", "wall_s", "events"});
  }
  for (const Json& assumption : json["assumptions"])
    CHECK(keys_of(assumption) == Keys{"pointer", "value", "kind", "source"});
  CHECK(json["assumptions"].size() > 20);
  REQUIRE(json["published"].size() == 1);
  const Json& published = json["published"][0];
  CHECK(keys_of(published) ==
        Keys{"gpus", "metric", "published", "predicted", "relative_error", "used_for_fit", "source"});
  CHECK(published["published"] == 120.0);
  CHECK(published["predicted"] == json["points"][0]["time_to_accuracy_s"]);
}

TEST_CASE("without a target a point has no time to it, and of variants it tells which") {
  SmallFiles files;
  files.scenario["gpus"] = {2};
  files.scenario["variants"] = Json::parse(R"([{"name": "a", "set": {}}])");
  const Json point = result_json(predict(files.load(), 1, {}), {})["points"][0];
  CHECK(point["variant"] == "a");
  CHECK(keys_of(point)[0] == "variant");
  for (const char* key : {"epochs", "iterations", "time_to_accuracy_s"}) CHECK(!point.contains(key));
}

TEST_CASE("the numbers of a point agree with each other") {
  const SmallFiles files = files_with_convergence();
  const Report report = predict(files.load(), 2, {});
  const Json points = result_json(report, {})["points"];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Json& p = points[i];
    const double mean_s = p["iteration_s"]["mean"], rate = p["samples_per_s"];
    const std::vector<double>& each = report.points[i].point.iteration_s;
    CHECK(each.size() == 10);
    CHECK(p["global_batch"].get<int>() == p["gpus"].get<int>() * p["batch_per_gpu"].get<int>());
    CHECK(rate == Approx(p["global_batch"].get<int>() / mean_s).epsilon(1e-11));
    CHECK(p["samples_per_s_low"].get<double>() < 0.99 * rate);
    CHECK(p["samples_per_s_high"].get<double>() > 1.01 * rate);
    CHECK(p["iteration_s"]["p99"].get<double>() > p["iteration_s"]["p50"].get<double>());
    CHECK(p["iteration_s"]["p99"].get<double>() <= *std::max_element(each.begin(), each.end()));
    CHECK(p["compute_s"].get<double>() + p["exposed_communication_s"].get<double>() + p["input_wait_s"].get<double>() ==
          Approx(mean_s).epsilon(1e-11));
    CHECK(p["time_to_accuracy_s"].get<double>() == Approx(p["iterations"].get<int>() * mean_s).epsilon(1e-11));
  }
}

TEST_CASE("the same scenario and seed give the same bytes, another seed others") {
  const SmallFiles files = files_with_convergence();
  const std::string first = comparable(predict(files.load(), 1, {}));
  CHECK(first == comparable(predict(files.load(), 1, {})));
  CHECK(first == comparable(predict(files.load(), 4, {})));  // with any number of processes
  const Json other = Json::parse(comparable(predict(files.load({{"/seed", "2"}}), 1, {})));
  CHECK(other["points"][1]["iteration_s"] != Json::parse(first)["points"][1]["iteration_s"]);
}

TEST_CASE("the CSV has a column per value of a point and a row per point, with the result's numbers") {
  const Report report = predict(files_with_convergence().load(), 2, {});
  const Keys columns = parse_csv(csv_text(report))[0];
  CHECK(columns.size() == 42);
  CHECK(columns[0] == "gpus");
  CHECK(columns[4] == "iteration_s/mean");
  CHECK(columns.back() == "simulation/events");
  check_csv(report);
}

TEST_CASE("CSV columns hold for all rows when only some variants have a target") {
  SmallFiles files;
  files.scenario["variants"] = Json::parse(R"([{"name": "none", "set": {}}, {"name": "some", "set": {"/convergence":
    {"target": "99 %", "train_samples": 60000, "epochs": 2}}}])");
  const Report report = predict(files.load(), 2, {});
  const std::vector<Keys> rows = parse_csv(csv_text(report));
  CHECK(std::count(rows[0].begin(), rows[0].end(), "time_to_accuracy_s") == 1);
  CHECK(rows[0].size() == 43);
  check_csv(report);
}

TEST_CASE("CSV fields with commas and quotes are quoted") {
  SmallFiles files;
  files.scenario["gpus"] = {2};
  files.scenario["variants"] = Json::parse(R"([{"name": "rings, \"flat\"", "set": {}}])");
  const Report report = predict(files.load(), 1, {});
  CHECK(csv_text(report).find("\n\"rings, \"\"flat\"\"\",2,1,16,32,") != std::string::npos);
  check_csv(report);
}

}  // namespace lockstep::tests
