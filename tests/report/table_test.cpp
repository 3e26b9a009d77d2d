// The table that simulate prints, as text. If a number changes on purpose, the text here must change with it.
#include <regex>

#include "sim/report/result.hpp"
#include "sim/report/text_table.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::predict;
using sim::Report;
using sim::table_text;

// Replaces the time that the simulation took.
std::string normalised(const std::string& text) {
  return std::regex_replace(text, std::regex("simulated in [0-9.]+ s"), "simulated in TIME");
}

Report report_of(const Json& scenario) {
  return predict(SmallFiles(scenario, even_cluster()).load(), 2, {});
}

// Returns a row with the given iteration and time to accuracy.
std::string table_of(double iteration_s, double to_accuracy_s) {
  Report report{SmallFiles().load(), {}, {}};
  report.loaded.variants[0].convergence = sim::ConvergenceSpec{"99 %", 60000, 2.5};
  sim::ReportPoint row;
  row.point.gpus = 1024;
  row.point.batch_per_gpu = 64;
  row.point.samples_per_iteration = row.point.gpus * 64.0;
  row.point.iteration_s = {iteration_s};
  row.global_batch = 65536;
  row.scaling_efficiency = 0.98765;
  row.has_accuracy = true;
  row.accuracy = {2.5, 1, to_accuracy_s, 0.5 * to_accuracy_s, 2 * to_accuracy_s};
  report.points.push_back(row);
  return table_text(report);
}

}  // namespace

TEST_CASE("the table of a small scenario") {
  Json scenario = even_scenario();
  scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 60000}, {"epochs", 2}};
  scenario["uncertainty"] = {{"compute", 0.03}, {"bandwidth", 0.0}, {"latency", 0.0}, {"epochs", 0.04}};
  scenario["published"] = Json::parse(R"([
    {"gpus": 1, "metric": "samples_per_s", "value": "800 images/s", "source": "a", "used_for_fit": true},
    {"gpus": 2, "metric": "scaling_efficiency", "value": 0.95, "source": "a"},
    {"gpus": 2, "metric": "iteration", "value": "20 ms", "source": "a"},
    {"gpus": 2, "metric": "time_to_accuracy", "value": "1 min", "source": "a"}])");
  CHECK(normalised(table_text(report_of(scenario))) ==
        R"(small: LeNet (Crossbow repo variant, MNIST 28x28) on two even nodes
  G, fp32, S-SGD, ring all-reduce, fp32 wire, fused to 1.00 GB, after back-propagation
  to 99 % in 2 epochs of 60,000 images

GPUs  batch/GPU  global batch  iteration  compute  exposed  images/s  efficiency  time to accuracy      low      high
   1         16            16    16.0 ms  16.0 ms   0.0 ms     1,000     100.0 %          2.00 min  112.3 s  2.13 min
   2         16            32    16.4 ms  16.0 ms   0.4 ms     1,946      97.3 %            61.7 s   57.8 s    65.6 s
Memory per GPU: 1.3 of 14.9 GiB.

Predicted against published:
GPUs              metric       predicted     published        error
   1       samples_per_s  1,000 images/s  800 images/s      +25.0 %  fitted
   2  scaling_efficiency          97.3 %        95.0 %  +2.3 points
   2           iteration         16.4 ms       20.0 ms      -17.8 %
   2    time_to_accuracy          61.7 s        60.0 s       +2.8 %

Fidelity fast, 10 iterations a point, simulated in TIME. Inputs: 29 assumed (--json lists them with their sources).
low and high: 80 % interval, by the uncertainty of the inputs.
)");
}

TEST_CASE("the table of variants: one part each, without a target no time to it") {
  Json scenario = even_scenario();
  scenario["gpus"] = {1};
  scenario["iterations"] = 2;
  scenario["compute"]["rates"][0]["rate"] = {{"value", "500 images/s"}, {"kind", "measured"}, {"source", "a test"}};
  scenario["variants"] = Json::parse(R"([{"name": "by group", "set": {"/communication/all_reduce": "hierarchical",
      "/communication/fusion_threshold": "0 B", "/communication/overlap": true}},
    {"name": "by size", "set": {"/communication/all_reduce": "hybrid", "/communication/group_size": 4,
      "/communication/hybrid_threshold": "2 MB", "/communication/wire": "fp16"}}])");
  CHECK(normalised(table_text(report_of(scenario))) ==
        R"(small, by group: LeNet (Crossbow repo variant, MNIST 28x28) on two even nodes
  G, fp32, S-SGD, hierarchical all-reduce, groups of 16, fp32 wire, unfused, overlapped

GPUs  batch/GPU  global batch  iteration  compute  exposed  images/s  efficiency
   1         16            16    32.0 ms  32.0 ms   0.0 ms       500     100.0 %
Memory per GPU: 1.3 of 14.9 GiB.

small, by size: LeNet (Crossbow repo variant, MNIST 28x28) on two even nodes
  G, fp32, S-SGD, hybrid all-reduce, groups of 4, ring from 2.00 MB, fp16 wire, fused to 1.00 GB, after back-propagation

GPUs  batch/GPU  global batch  iteration  compute  exposed  images/s  efficiency
   1         16            16    32.0 ms  32.0 ms   0.0 ms       500     100.0 %
Memory per GPU: 1.3 of 14.9 GiB.

Variants compared:
images/s  1 GPU  of the fastest at 1
by group    500              100.0 %
by size     500              100.0 %

Fidelity fast, 2 iterations a point, simulated in TIME. Inputs: 1 measured, 28 assumed (--json lists them with their sources).
)");
}

TEST_CASE("durations are in the unit that reads well, counts in thousands") {
  CHECK(table_of(0.25, 100).find("262,144      98.8 %           100.0 s  50.0 s  3.33 min") != std::string::npos);
  CHECK(table_of(0.25, 3600).find("60.00 min  30.00 min  2.00 h") != std::string::npos);
  CHECK(table_of(0.25, 86400).find("24.00 h  12.00 h  2.00 d") != std::string::npos);
  CHECK(table_of(1.0 / 16, 1).find("62.5 ms") != std::string::npos);
  CHECK(table_of(1.0 / 16, 1).find("1,048,576") != std::string::npos);
  CHECK(table_of(0.25, 1).find("to 99 % in 2.5 epochs of 60,000 images\n") != std::string::npos);
}

TEST_CASE("columns of names beyond ASCII stand in line") {
  sim::TextTable table;
  table.add({"a", "b"});
  table.add({"\xc3\xa9t\xc3\xa9", "1"});  // three letters, five bytes
  table.add({"four", "22"});
  CHECK(table.text() == "   a   b\n \xc3\xa9t\xc3\xa9   1\nfour  22\n");
}

}  // namespace lockstep::tests
