// Traces follow the rules of the trace-event format ("Trace Event Format", JSON object form), as viewers enforce them.
// Phases are known, and required members have the right types. Complete events have a duration. Metadata have known
// names, and ids fit 32 bits. Spans of a thread must nest when rounded to nanoseconds, as in Perfetto's importer.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/json_text.hpp"
#include "tests/catch.hpp"
#include "tests/report/traced.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using FormatRow = std::pair<std::int64_t, std::int64_t>;

struct FormatSpan {
  std::int64_t start_ns;
  std::int64_t end_ns;
};

void check_id(const Json& event, const char* member) {
  REQUIRE(event.contains(member));
  REQUIRE(event[member].is_number_integer());
  CHECK(event[member].get<std::int64_t>() >= 0);
  CHECK(event[member].get<std::int64_t>() <= 2147483647);
}

void check_metadata(const Json& event) {
  static const std::map<std::string, const char*> argument{{"process_name", "name"},
                                                           {"process_labels", "labels"},
                                                           {"process_sort_index", "sort_index"},
                                                           {"thread_name", "name"},
                                                           {"thread_sort_index", "sort_index"}};
  const auto known = argument.find(event["name"].get<std::string>());
  REQUIRE(known != argument.end());
  REQUIRE(event["args"].contains(known->second));
  const Json& value = event["args"][known->second];
  const bool is_index = std::string(known->second) == "sort_index";
  CHECK((is_index ? value.is_number_integer() : value.is_string() && !value.get<std::string>().empty()));
}

FormatSpan check_complete(const Json& event) {
  for (const char* member : {"ts", "dur"}) {
    REQUIRE(event.contains(member));
    REQUIRE(event[member].is_number());
    CHECK(std::isfinite(event[member].get<double>()));
    CHECK(event[member].get<double>() >= 0);
  }
  REQUIRE(event["cat"].is_string());
  CHECK(!event["cat"].get<std::string>().empty());
  const double start_us = event["ts"], duration_us = event["dur"];
  return {std::llround(start_us * 1e3), std::llround((start_us + duration_us) * 1e3)};
}

// A span that begins within another one of its thread must end within it, after rounding to nanoseconds.
void check_nesting(std::vector<FormatSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const FormatSpan& a, const FormatSpan& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<FormatSpan> open;
  for (const FormatSpan& span : spans) {
    while (!open.empty() && open.back().end_ns <= span.start_ns + 1) open.pop_back();
    if (!open.empty()) CHECK(span.end_ns <= open.back().end_ns + 1);
    open.push_back(span);
  }
}

/// Returns the number of complete events.
std::size_t check_format(const std::string& text) {
  const Json file = parse_json(text, "trace");  // the strict reader: no duplicate keys, no NaN, UTF-8
  REQUIRE(file.is_object());
  REQUIRE(file["traceEvents"].is_array());
  CHECK((file["displayTimeUnit"] == "ms" || file["displayTimeUnit"] == "ns"));
  std::map<FormatRow, std::vector<FormatSpan>> rows;
  std::set<FormatRow> named;
  std::set<std::int64_t> named_processes;
  std::size_t complete = 0;
  for (const Json& event : file["traceEvents"]) {
    INFO(event.dump());
    REQUIRE(event.is_object());
    for (const auto& [member, value] : event.items())
      CHECK((member == "name" || member == "cat" || member == "ph" || member == "ts" || member == "dur" ||
             member == "pid" || member == "tid" || member == "args"));
    REQUIRE(event["name"].is_string());
    CHECK(!event["name"].get<std::string>().empty());
    REQUIRE(event["ph"].is_string());
    check_id(event, "pid");
    check_id(event, "tid");
    if (event.contains("args")) REQUIRE(event["args"].is_object());
    const FormatRow row{event["pid"], event["tid"]};
    if (event["ph"] == "M") {
      check_metadata(event);
      if (event["name"] == "thread_name") CHECK(named.insert(row).second);
      if (event["name"] == "process_name") CHECK(named_processes.insert(row.first).second);
      continue;
    }
    REQUIRE(event["ph"] == "X");
    rows[row].push_back(check_complete(event));
    ++complete;
  }
  for (const auto& [row, spans] : rows) {
    INFO("pid " << row.first << ", tid " << row.second);
    CHECK(named.count(row) == 1);
    CHECK(named_processes.count(row.first) == 1);
    check_nesting(spans);
  }
  return complete;
}

}  // namespace

TEST_CASE("traces of every algorithm follow the trace-event format") {
  SmallFiles files;
  files.scenario["iterations"] = 2;
  files.scenario["input"] = {{"samples_per_s_per_node", "1000 images/s"}, {"bytes_per_sample", "1 MB"}};
  files.scenario["compute"]["jitter"] =
      Json::parse(R"({"distribution": "lognormal", "coefficient_of_variation": 0.1})");
  const std::vector<Settings> algorithms{
      {},
      {{"/algorithm", "sma"}, {"/learners", R"({"per_gpu": 2, "occupancy": {"multiprocessors": 24}})"}},
      {{"/algorithm", "parameter-server"}},
      {{"/algorithm", "local-sgd"}, {"/local_sgd", R"({"period": 2})"}},
      {{"/algorithm", "sharded"}},
      {{"/algorithm", "theano-mpi"}},
      {{"/communication/all_reduce", "hierarchical"}, {"/communication/group_size", "2"}}};
  for (const char* fidelity : {"fast", "message"})
    for (Settings settings : algorithms) {
      INFO(fidelity << ", " << (settings.empty() ? "s-sgd" : settings[0].second));
      settings.emplace_back("/fidelity", fidelity);
      CHECK(check_format(traced(files.load(settings), {0, 1, 3}).text) > 20);
    }
}

}  // namespace lockstep::tests
