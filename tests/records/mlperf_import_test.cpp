// Logs of MLPerf Training become predictions without editing: `simulate --predict` maps the output of `calibrate import
// mlperf`. Systems are described in the free text of submissions.
#include "calib/import/mlperf.hpp"

#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string mlperf_log(const std::string& benchmark) {
  std::string log;
  const auto add = [&](int at_ms, const std::string& key, const Json& value, const Json& metadata = Json::object()) {
    log += ":::MLLOG " + Json{{"time_ms", at_ms}, {"key", key}, {"value", value}, {"metadata", metadata}}.dump() + "\n";
  };
  add(0, "submission_benchmark", benchmark);
  add(0, "global_batch_size", 64);
  add(0, "run_start", nullptr);
  add(0, "block_start", nullptr, {{"samples_count", 6400}, {"step", 0}});
  add(100000, "block_stop", nullptr, {{"samples_count", 6400}, {"step", 100}});
  add(110000, "run_stop", nullptr, {{"status", "success"}});
  return log;
}

/// Returns why the rate has no prediction; empty: it has one.
std::string why_no_rate(const std::string& benchmark, const Json& system) {
  calib::MlperfOptions options;
  options.system = system;
  for (const Json& record : calib::import_mlperf({{mlperf_log(benchmark), "log.txt"}}, options).records)
    if (record["metric"] == "images_per_s") {
      const auto records = records_from(Json::array({record}).dump());
      return predict(records).at(0).task.unmapped;
    }
  return "no rate";
}

Json system_of(int gpus_per_node, const std::string& gpu, const std::string& network, const std::string& link) {
  return {{"number_of_nodes", "2"},
          {"accelerators_per_node", std::to_string(gpus_per_node)},
          {"accelerator_model_name", gpu},
          {"host_networking", network},
          {"accelerator_interconnect", link}};
}

}  // namespace

TEST_CASE("every benchmark of MLPerf that has a model leads from a log to a predicted rate") {
  const Json system = system_of(8, "NVIDIA H200-SXM5-141GB", "8x ConnectX-7 IB NDR 400Gb/Sec", "18x 4th Gen NVLink");
  for (const std::string benchmark : {"resnet", "bert", "llama31_8b", "llama2_70b_lora", "retinanet", "unet3d"}) {
    INFO(benchmark);
    CHECK(why_no_rate(benchmark, system).empty());
  }
  // Without a split these do not fit, and logs do not name the split.
  for (const std::string benchmark : {"llama31_405b", "gpt3"})
    CHECK_THAT(why_no_rate(benchmark, system), Contains("needed: tp, pp or sharding"));
  for (const std::string benchmark : {"ssd", "maskrcnn"})
    CHECK(why_no_rate(benchmark, system) == "no model of the catalogue is that of " + benchmark);
}

TEST_CASE("systems of MLPerf lead to predictions as submissions describe them") {
  const std::vector<Json> systems{
      system_of(4, "NVIDIA Blackwell GPU (GB200)", "4x ConnectX-7 IB NDR 400 Gb/s",
                "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5"),
      system_of(4, "NVIDIA Blackwell Ultra GPU (GB300)", "4x ConnectX-8 800Gb/s", "NVLINK Gen5 + NVSWITCH Gen5"),
      system_of(8, "NVIDIA B200-SXM-180GB", "8x NVIDIA BlueField-3 400 Gb/s", "NVLink 5"),
      system_of(8, "NVIDIA H100-SXM5-80GB", "Infiniband: Data bandwidth for GPU-to-PCIe: 252GB/s; PCIe-to-NIC: 500GB/s",
                "18x 4th Gen NVLink"),
      system_of(8, "NVIDIA H100 80GB HBM3", "Ethernet: 2x 100GbE; Infiniband: 8x NDR", "NVSwitch"),
      system_of(8, "NVIDIA L40S", "2x 200 GbE", "PCIe Gen4 x16"),
      system_of(8, "AMD Instinct MI325X 256GB HBM3e", "8x 400Gb/s RoCE", "XGMI")};
  for (const Json& system : systems) {
    INFO(system.dump());
    CHECK(why_no_rate("llama31_8b", system).empty());
  }
}

}  // namespace lockstep::tests
