// The trace file: Chrome trace events. Rows have names, spans nest or are disjoint, and show as much computation as the
// result reports.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/report/traced.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::Report;

constexpr double kSlack_us = 1e-3;

struct Span {
  std::string name;
  std::string category;
  double start_us;
  double end_us;
  int iteration;
  int depth = 0;
};

using Row = std::pair<int, int>;  // process (GPU), thread (stream)

struct Trace {
  std::map<int, std::string> processes;
  std::map<Row, std::string> threads;
  std::map<Row, std::vector<Span>> rows;
};

// Parses the trace, and checks each event's shape.
Trace parse(const std::string& text) {
  Trace trace;
  const Json file = Json::parse(text);
  for (const Json& event : file["traceEvents"]) {
    INFO(event.dump());
    REQUIRE(event["name"].is_string());
    REQUIRE(event["ph"].is_string());
    const int pid = event["pid"].get<int>(), tid = event["tid"].get<int>();
    if (event["ph"] == "M") {
      if (event["name"] == "process_name") CHECK(trace.processes.emplace(pid, event["args"]["name"]).second);
      if (event["name"] == "thread_name") CHECK(trace.threads.emplace(Row{pid, tid}, event["args"]["name"]).second);
      continue;
    }
    REQUIRE(event["ph"] == "X");
    const double start_us = event["ts"], duration_us = event["dur"];
    CHECK(start_us >= 0);
    CHECK(duration_us >= 0);
    trace.rows[{pid, tid}].push_back(
        {event["name"], event["cat"], start_us, start_us + duration_us, event["args"]["iteration"]});
  }
  return trace;
}

// As in a viewer, a span that begins before another one of its row has ended must end within it, and is shown below it.
void nest(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_us < b.start_us; });
  std::vector<const Span*> open;
  for (Span& span : spans) {
    while (!open.empty() && open.back()->end_us <= span.start_us + kSlack_us) open.pop_back();
    INFO(span.name << " from " << span.start_us << " to " << span.end_us);
    if (!open.empty()) {
      INFO("within " << open.back()->name << " to " << open.back()->end_us);
      CHECK(span.end_us <= open.back()->end_us + kSlack_us);
    }
    span.depth = static_cast<int>(open.size());
    open.push_back(&span);
  }
}

Trace nested(const Traced& traced) {
  Trace trace = parse(traced.text);
  for (auto& [row, spans] : trace.rows) nest(spans);
  return trace;
}

// Returns the seconds of top-level compute spans of a GPU per measured iteration. The first iteration is a warm-up.
double compute_s(const Trace& trace, int gpu, int iterations) {
  double total_us = 0;
  for (const auto& [row, spans] : trace.rows)
    for (const Span& span : spans)
      if (row.first == gpu && span.category == "compute" && span.depth == 0 && span.iteration > 0)
        total_us += span.end_us - span.start_us;
  return total_us / 1e6 / iterations;
}

// Launches take 100 us per layer, and there is input to load, so that no row is empty and spans are long compared with
// the tolerance.
SmallFiles traced_files() {
  SmallFiles files;
  files.scenario["iterations"] = 3;
  files.scenario["compute"]["launch_overhead"] = "100 us";
  files.scenario["input"] = {{"samples_per_s_per_node", "1000 images/s"}, {"bytes_per_sample", "1 MB"}};
  return SmallFiles(files.scenario, files.cluster);
}

const Settings kJitter{{"/compute/jitter", R"({"distribution": "lognormal", "coefficient_of_variation": 0.1})"}};

}  // namespace

TEST_CASE("a trace has a named row per GPU and stream, by every method") {
  for (const char* fidelity : {"fast", "message"}) {
    const SmallFiles files = traced_files();
    const Trace trace = nested(traced(files.load({{"/fidelity", fidelity}}), {0, 1, 3}));
    CHECK(trace.processes ==
          std::map<int, std::string>{{0, "GPU 0 (node 0)"}, {1, "GPU 1 (node 0)"}, {3, "GPU 3 (node 1)"}});
    std::set<std::string> used;
    for (const auto& [row, spans] : trace.rows) {
      INFO("process " << row.first << ", thread " << row.second);
      CHECK(trace.processes.count(row.first) == 1);
      REQUIRE(trace.threads.count(row) == 1);
      used.insert(trace.threads.at(row));
    }
    // A ring over 4 GPUs: each sends to the next and receives from the one before; GPUs 0, 1 and 3 are shown.
    CHECK(used == std::set<std::string>{"all-reduce", "compute", "copy", "input", "to GPU 1", "to GPU 2", "to GPU 0",
                                        "from GPU 3", "from GPU 0", "from GPU 2"});
  }
}

TEST_CASE("what goes out on a link of the trace comes in at its other end, bytes and messages, inside the collective") {
  for (const char* fidelity : {"fast", "message"}) {
    const SmallFiles files = traced_files();
    const Json file = Json::parse(traced(files.load({{"/fidelity", fidelity}}), {0, 1, 2, 3}).text);
    std::map<Row, std::string> names;
    std::map<std::pair<int, int>, std::pair<std::int64_t, int>> sent, received;  // (from, to) -> bytes, messages
    for (const Json& event : file["traceEvents"])
      if (event["name"] == "thread_name") names[{event["pid"], event["tid"]}] = event["args"]["name"];
    for (const Json& event : file["traceEvents"]) {
      if (event["ph"] != "X" || event["cat"] != "link") continue;
      const std::string& name = names.at({event["pid"], event["tid"]});
      const int gpu = event["pid"], peer = std::stoi(name.substr(name.rfind(' ')));
      const bool is_send = name.rfind("to ", 0) == 0;
      auto& [bytes, messages] = is_send ? sent[{gpu, peer}] : received[{peer, gpu}];
      bytes += event["args"]["bytes"].get<std::int64_t>();
      messages += event["args"]["messages"].get<int>();
    }
    CHECK(sent.size() == 4);
    CHECK(sent == received);
  }
}

TEST_CASE("layers lie within their pass and fill it, and nothing else nests") {
  const SmallFiles files = traced_files();
  for (const char* fidelity : {"fast", "message"}) {
    Settings settings = kJitter;
    settings.emplace_back("/fidelity", fidelity);
    const Trace trace = nested(traced(files.load(settings), {0, 2}));
    std::set<std::string> passes, layers;
    for (const auto& [row, spans] : trace.rows) {
      double pass_us = 0, layers_us = 0;
      for (const Span& span : spans) {
        INFO(span.name);
        CHECK(span.depth <= 1);
        if (span.depth == 0 && (span.name == "forward" || span.name == "backward"))
          pass_us += span.end_us - span.start_us;
        if (span.depth == 0 && span.category == "compute") passes.insert(span.name);
        if (span.depth == 1) {
          CHECK(span.category == "compute");
          layers_us += span.end_us - span.start_us;
          layers.insert(span.name);
        }
      }
      CHECK(layers_us == Approx(pass_us).epsilon(1e-9));
    }
    CHECK(passes == std::set<std::string>{"backward", "forward", "update"});
    CHECK(layers.count("conv1") == 1);
    CHECK(layers.size() > 5);
  }
}

TEST_CASE("a GPU's compute spans add up to the compute time of the result") {
  const SmallFiles files = traced_files();
  for (const char* fidelity : {"fast", "message"}) {
    const Settings even{{"/fidelity", fidelity}};
    const Traced plain = traced(files.load(even), {0, 1, 2, 3});
    const Trace trace = nested(plain);
    for (int gpu = 0; gpu < 4; ++gpu)
      CHECK(compute_s(trace, gpu, 3) == Approx(plain.report.points[1].point.compute_s).epsilon(1e-9));

    Settings uneven = kJitter;
    uneven.push_back(even[0]);
    const Traced jittered = traced(files.load(uneven), {0, 1, 2, 3});
    const Trace spans = nested(jittered);
    double sum_s = 0;
    for (int gpu = 0; gpu < 4; ++gpu) sum_s += compute_s(spans, gpu, 3);
    CHECK(sum_s / 4 == Approx(jittered.report.points[1].point.compute_s).epsilon(1e-9));
    CHECK(compute_s(spans, 0, 3) != Approx(compute_s(spans, 1, 3)).epsilon(1e-4));
  }
}

TEST_CASE("the spans of a trace cover the iterations that the result reports") {
  const SmallFiles files = traced_files();
  const Traced of_one = traced(files.load(), {0});
  std::map<int, double> end_us;  // per iteration, the update's
  for (const auto& [row, spans] : nested(of_one).rows)
    for (const Span& span : spans)
      if (span.name == "update") end_us[span.iteration] = span.end_us;
  REQUIRE(end_us.size() == 4);
  const std::vector<double>& iteration_s = of_one.report.points[1].point.iteration_s;
  REQUIRE(iteration_s.size() == 3);
  for (int i = 0; i < 3; ++i)
    CHECK((end_us[i + 1] - end_us[i]) / 1e6 == Approx(iteration_s[static_cast<std::size_t>(i)]).epsilon(1e-9));
}

TEST_CASE("only the largest point of the first variant is traced, and none unless asked") {
  SmallFiles files = traced_files();
  files.scenario["gpus"] = {1, 4, 2};
  files.scenario["variants"] = Json::parse(R"([{"name": "a", "set": {}}, {"name": "b", "set": {"/gpus": [2, 4]}}])");
  const Traced asked = traced(files.load(), {3});
  REQUIRE(asked.report.points.size() == 5);
  const Trace trace = parse(asked.text);
  CHECK(trace.processes == std::map<int, std::string>{{3, "GPU 3 (node 1)"}});
  double spans_s = 0;
  for (const auto& [row, spans] : trace.rows)
    for (const Span& span : spans)
      if (span.name == "update") spans_s = std::max(spans_s, span.end_us * 1e-6);
  const std::vector<double>& largest = asked.report.points[1].point.iteration_s;
  CHECK(spans_s > std::accumulate(largest.begin(), largest.end(), 0.0));
  CHECK(parse(traced(files.load(), {}).text).rows.empty());
}

}  // namespace lockstep::tests
