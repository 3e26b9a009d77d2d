// Logs of MLPerf Training. The layout is mlperf_logging's; the figures are ours: batches of 1000 of 100,000 images, 10 s an
// epoch.
#include "calib/import/mlperf.hpp"

#include "calib/import/mlperf_system.hpp"

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::string entry(const std::string& key, int at_s, const Json& value, Json metadata = Json::object()) {
  metadata["file"] = "train.py";
  const Json line{{"namespace", ""}, {"time_ms", 1000 * at_s}, {"event_type", "POINT_IN_TIME"},
                  {"key", key},      {"value", value},         {"metadata", metadata}};
  return "0: :::MLLOG " + line.dump() + "\n";
}

// Makes a log with two evaluations: below the target after `epochs` - 1, at the target after `epochs`.
std::string log_of(int epochs, int seconds, int seed = 7, const std::string& status = "success", int batch = 1000,
                   bool has_rates = true) {
  std::string log = "some other output\n" + entry("submission_benchmark", 1, "resnet") +
                    entry("submission_org", 1, "Us") + entry("submission_platform", 1, "4xX") + entry("seed", 1, seed) +
                    entry("global_batch_size", 2, batch) + entry("train_samples", 2, 100000) +
                    entry("run_start", 100, nullptr);
  log += entry("block_start", 110, nullptr, {{"first_epoch_num", 1}, {"epoch_count", 4}});
  if (has_rates) log += entry("tracked_stats", 120, {{"throughput", 9000.0}}, {{"step", 1}});
  log += entry("block_stop", 150, nullptr, {{"first_epoch_num", 1}});
  log += entry("eval_accuracy", 200, 0.70, {{"epoch_num", epochs - 1}});
  log += entry("eval_accuracy", 210, 0.76, {{"epoch_num", epochs}});
  log += entry("run_stop", 100 + seconds, nullptr, {{"status", status}});
  return log;
}

Json record_of(const MlperfResults& results, const std::string& metric) {
  for (const Json& record : results.records)
    if (record["metric"] == metric) return record;
  return {};
}

std::string mlperf_error(const std::string& text) {
  return error_of([&] { import_mlperf({{text, "r.txt"}}, {}); });
}

}  // namespace

TEST_CASE("a run of MLPerf has a time to train, a rate and epochs, and iterations to its benchmark's target") {
  const MlperfResults results = import_mlperf({{log_of(36, 400), "r0.txt"}}, {});
  REQUIRE(results.records.size() == 3);
  CHECK(record_of(results, "time_to_accuracy_s")["value"] == 400.0);
  CHECK(record_of(results, "images_per_s")["value"] == 9000.0);
  CHECK(record_of(results, "epochs_to_accuracy")["value"] == 36.0);
  const Json record = record_of(results, "time_to_accuracy_s");
  CHECK(record["model"] == "resnet50_v15");
  CHECK(record["global_batch"] == 1000.0);
  CHECK(record["source"] == "MLPerf Training logs");
  CHECK_FALSE(record.contains("gpus"));
  // 36 epochs of 100 iterations; the evaluation before, at 35, was below.
  const Json run = results.convergence["runs"][0];
  CHECK(run["targets"][0]["iterations"] == 3600.0);
  CHECK(run["targets"][0]["above"] == 3500.0);
  CHECK(run["seed"] == 7);
  CHECK(results.convergence["targets"][0]["accuracy"] == 0.759);
  CHECK(results.convergence["train_samples"] == 100000.0);
}

TEST_CASE(
    "of five runs the best and the worst do not count, and one that failed has no time but counts as far as it came") {
  std::vector<std::pair<std::string, std::string>> logs;
  for (int seconds : {400, 410, 420, 430, 900}) logs.emplace_back(log_of(36, seconds), "r.txt");
  CHECK(record_of(import_mlperf(logs, {}), "time_to_accuracy_s")["value"] == 420.0);
  logs.resize(2);
  CHECK(record_of(import_mlperf(logs, {}), "time_to_accuracy_s")["value"] == 405.0);

  MlperfOptions options;
  options.target = 0.80;
  const MlperfResults failed = import_mlperf({{log_of(36, 400, 7, "aborted"), "r0.txt"}}, options);
  CHECK(record_of(failed, "time_to_accuracy_s").is_null());
  CHECK(failed.said == std::vector<std::string>{"r0.txt: the run did not succeed: no time to train"});
  CHECK(failed.convergence["runs"][0]["targets"][0].dump() == R"({"more_than":3600.0})");
}

TEST_CASE("without logged rates blocks have them, samples or epochs over their time") {
  // Four epochs of 100,000 in 40 s.
  const MlperfResults results = import_mlperf({{log_of(36, 400, 7, "success", 1000, false), "r.txt"}}, {});
  CHECK(record_of(results, "images_per_s")["value"] == 10000.0);
  std::string samples = entry("submission_benchmark", 1, "bert") + entry("global_batch_size", 1, 64) +
                        entry("run_start", 10, nullptr) + entry("block_start", 10, nullptr, {{"samples_count", 1000}}) +
                        entry("block_stop", 20, nullptr, {{"samples_count", 6000}}) +
                        entry("run_stop", 30, nullptr, {{"status", "success"}});
  CHECK(record_of(import_mlperf({{samples, "b.txt"}}, {}), "images_per_s")["value"] == 500.0);
}

namespace {

// As logs from v5 on: samples_count is the block's own, and time_ms counts from 1970.
std::string later_log(const std::string& benchmark, double offset_ms, bool has_counts, bool has_step_time = true) {
  std::string log;
  const auto add = [&](double ms, const std::string& key, const Json& value, const Json& metadata = Json::object()) {
    log += ":::MLLOG " +
           Json{{"time_ms", offset_ms + ms}, {"key", key}, {"value", value}, {"metadata", metadata}}.dump() + "\n";
  };
  const auto at = [&](int step) {
    return has_counts ? Json{{"samples_count", 12800}, {"step", step}} : Json::object();
  };
  add(0, "submission_benchmark", benchmark);
  add(0, "global_batch_size", 16);
  add(1000, "run_start", nullptr);
  for (int block = 0; block < 3; ++block) {
    const double begin = 1000 + 210000.0 * block;
    add(begin, "block_start", nullptr, at(800 * block));
    if (has_step_time) add(begin + 10, "tracked_stats", {{"train_step_time", 0.25}}, {{"step", 31.0}});
    add(begin + 200000, "block_stop", nullptr, at(800 * (block + 1)));
  }
  add(621000.4, "run_stop", nullptr, {{"status", "success"}});
  return log;
}

}  // namespace

TEST_CASE("blocks that count their own samples have a rate, and step times have one without blocks") {
  const MlperfResults blocks = import_mlperf({{later_log("llama31_8b", 0, true), "r.txt"}}, {});
  CHECK(record_of(blocks, "images_per_s")["value"] == 64.0);  // 12,800 in 200 s
  const MlperfResults steps = import_mlperf({{later_log("llama31_8b", 0, false), "r.txt"}}, {});
  CHECK(record_of(steps, "images_per_s")["value"] == 64.0);  // 16 in 0.25 s
  const MlperfResults none = import_mlperf({{later_log("llama31_8b", 0, false, false), "r.txt"}}, {});
  CHECK(record_of(none, "images_per_s").is_null());
  REQUIRE(!none.said.empty());
  CHECK(none.said.front() ==
        "r.txt: no rate: neither throughput nor train_step_time, nor blocks with a count of samples");
}

TEST_CASE("a log of MLPerf whose times begin anywhere gives the same records") {
  for (const bool has_counts : {true, false}) {
    const Json expected = import_mlperf({{later_log("llama31_8b", 0, has_counts), "r.txt"}}, {}).records;
    for (const double offset : {1.0, 1e9, 1.7e12, 1.8e12, 4e12})
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Json moved = import_mlperf({{later_log("llama31_8b", offset, has_counts), "r.txt"}}, {}).records;
        REQUIRE(moved.size() == expected.size());
        CHECK(moved[i]["value"].get<double>() == Approx(expected[i]["value"].get<double>()).epsilon(1e-9));
      }
  }
}

TEST_CASE("MLPerf's benchmarks of texts are models of the catalogue with their sequences") {
  const std::vector<std::tuple<std::string, std::string, int, std::string>> benchmarks{
      {"llama31_8b", "llama3_1_8b", 8192, ""},
      {"llama31_405b", "llama3_1_405b", 8192, ""},
      {"llama2_70b_lora", "llama2_70b", 8192, "lora"},
      {"gpt3", "gpt3_175b", 2048, ""}};
  for (const auto& [benchmark, model, tokens, task] : benchmarks) {
    const Json record = import_mlperf({{later_log(benchmark, 0, true), "r.txt"}}, {}).records[0];
    INFO(benchmark);
    CHECK(record["model"] == model);
    CHECK(record["seq"] == tokens);
    CHECK(record.value("task", "") == task);
    CHECK(record["software"] == "mlperf");
  }
  const std::string longer = later_log("llama31_8b", 0, true) + entry("max_sequence_length", 1, 16384);
  CHECK(import_mlperf({{longer, "r.txt"}}, {}).records[0]["seq"] == 16384);
  const Json other = import_mlperf({{later_log("maskrcnn", 0, true), "r.txt"}}, {}).records[0];
  CHECK(other["not_predicted"] == "no model of the catalogue is that of maskrcnn");
  MlperfOptions options;
  options.model = "mine";
  const Json own = import_mlperf({{later_log("llama31_8b", 0, true), "r.txt"}}, options).records[0];
  CHECK(own["model"] == "mine");
  CHECK_FALSE(own.contains("seq"));
}

TEST_CASE("logs of ssd are of RetinaNet where they train on the images of OpenImages") {
  const auto record_with = [](const std::string& samples) {
    const std::string log = later_log("ssd", 0, true) + samples;
    return import_mlperf({{log, "r.txt"}}, {}).records[0];
  };
  const Json retinanet = record_with(entry("train_samples", 1, 1170301));
  CHECK(retinanet["model"] == "retinanet");
  CHECK(retinanet["software"] == "mlperf");
  for (const std::string& samples : {entry("train_samples", 1, 117266), std::string()})
    CHECK(record_with(samples)["not_predicted"] == "no model of the catalogue is that of ssd");
}

TEST_CASE("networks and links of a system's description become names that records may have") {
  const std::vector<std::pair<std::string, std::string>> networks{
      {"4x ConnectX-7 IB NDR 400 Gb/s", "4x IB NDR 400 Gb/s"},
      {"8x NVIDIA ConnectX-7 InfiniBand NDR", "8x InfiniBand NDR"},
      {"8x NVIDIA BlueField-3 400Gb/Sec", "8x 400Gb/s"},
      {"Storage: 2x BF3 ConnectX-7 400Gb/s, Compute: 8x ConnectX-7 400Gb/s", "8x 400Gb/s"},
      {"Ethernet: 2x 100GbE; Infiniband: 8x NDR", "8x NDR"},
      {"100 GbE", "100 GbE"},
      {"Infiniband", ""},
      {"Infiniband: Data bandwidth for GPU-to-PCIe: 252GB/s", ""},
      {"N/A", ""}};
  for (const auto& [text, network] : networks) CHECK(network_of_system({{"host_networking", text}}) == network);
  CHECK(network_of_system({{"host_networking", "Infiniband"}, {"host_network_card_count", "8x 400Gb/s"}}) ==
        "8x 400Gb/s");
  for (const std::string text :
       {"NVLINK Gen5 1800 GB/s + NVSWITCH Gen5", "18x 4th Gen NVLink", "NVLink, PCIe 5.0", "XGMI", "N/A", ""})
    CHECK(link_of_system({{"accelerator_interconnect", text}}).empty());
  CHECK(link_of_system({{"accelerator_interconnect", "PCIe Gen5 x16"}}) == "PCIe 5.0");
}

TEST_CASE("the submission's description of its system tells what the log does not") {
  MlperfOptions options;
  options.source = "MLPerf Training v4.0";
  options.system = Json::parse(R"({"number_of_nodes": "2", "accelerators_per_node": 4,
                                   "accelerator_model_name": "NVIDIA X", "host_networking": "100 GbE"})");
  const MlperfResults results = import_mlperf({{log_of(36, 400), "r.txt"}}, options);
  const Json record = results.records[0];
  CHECK(record["gpus"] == 8);
  CHECK(record["gpus_per_node"] == 4);
  CHECK(record["batch_per_gpu"] == 125.0);
  CHECK(record["gpu"] == "NVIDIA X");
  CHECK(record["network"] == "100 GbE");
  CHECK(record["source"] == "MLPerf Training v4.0 logs");
  CHECK(results.convergence["runs"][0]["workers"] == 8);
  CHECK(results.convergence["runs"][0]["batch"] == 125.0);
}

TEST_CASE("runs of other batches are results of their own and runs of one profile") {
  const MlperfResults results =
      import_mlperf({{log_of(36, 400), "a.txt"}, {log_of(40, 200, 8, "success", 2000), "b.txt"}}, {});
  CHECK(results.records.size() == 6);
  REQUIRE(results.convergence["runs"].size() == 2);
  CHECK(results.convergence["runs"][1]["targets"][0]["iterations"] == 2000.0);
  CHECK(results.convergence["runs"][0]["cell"] != results.convergence["runs"][1]["cell"]);
}

TEST_CASE("what is no log of MLPerf, or says too little, is refused") {
  CHECK(mlperf_error("hello\n") == "r.txt: no run_start; allowed: a log of MLPerf Training (lines of :::MLLOG)");
  CHECK(mlperf_error(":::MLLOG {\"key\": 1}\n").find("r.txt line 1: ") == 0);
  CHECK(mlperf_error(entry("run_start", 1, nullptr)).find("no submission_benchmark") != std::string::npos);
  CHECK(mlperf_error(entry("run_start", 1, nullptr) + entry("submission_benchmark", 1, "resnet"))
            .find("no global_batch_size") != std::string::npos);
  std::string other = log_of(36, 400);
  other.replace(other.find("resnet"), 6, "unet3d");
  MlperfOptions options;
  options.target = 0.759;
  CHECK_THROWS_WITH(import_mlperf({{log_of(36, 400), "a.txt"}, {other, "b.txt"}}, options),
                    Contains("allowed: runs of one benchmark"));
}
