#include "calib/import/imported.hpp"
#include "tests/calib/data.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// Two steps of two modules. Forward thread 1: conv (0-10 us) launches kernel 1 of 4 us, fc (10-20) kernel 2 of 2 us.
// Backward thread 2: fc's operator (sequence 8) launches 3 of 3 us, conv's (sequence 7) 4 and 5 of 5 and 1 us. Kernel 6
// of 5 us is the optimiser's. Step two is the same 100 us later: every mean is that of one step.
std::string trace() {
  return tests::data("torch_trace.json");
}

double seconds_of(const Imported& imported, const std::string& layer, const std::string& pass) {
  for (const Sample& sample : imported.samples)
    if (sample.key["layer"] == layer && sample.key["pass"] == pass) return sample.seconds[0];
  return -1;
}

}  // namespace

TEST_CASE("a PyTorch trace gives each module's forward and backward time per step") {
  const Imported imported = import_torch_trace(trace(), "t.json", {"cnn", 32, "bf16"});
  CHECK(imported.samples.size() == 4);
  CHECK(seconds_of(imported, "Conv2d_0", "forward") == Approx(4e-6));
  CHECK(seconds_of(imported, "Linear_0", "forward") == Approx(2e-6));
  CHECK(seconds_of(imported, "Linear_0", "backward") == Approx(3e-6));
  CHECK(seconds_of(imported, "Conv2d_0", "backward") == Approx(6e-6));
  CHECK(imported.samples[0].key["batch"] == 32);
  CHECK(imported.device.name == "NVIDIA X");
  // The optimiser's 5 of 20 us belong to no module, and that is said.
  REQUIRE(imported.refused.size() == 1);
  CHECK(imported.refused[0].find("t.json: 25 % of the GPU time belongs to no module") == 0);
}

TEST_CASE("a PyTorch trace with a step missing, or without any, still gives times per step") {
  // Without the mark of step 1 its kernels belong to no step; without any mark every module ran twice.
  const auto without = [](const std::string& prefix) {
    Json json = Json::parse(trace()), events = Json::array();
    for (const Json& event : json["traceEvents"])
      if (event["name"].get<std::string>().find(prefix) != 0) events.push_back(event);
    json["traceEvents"] = events;
    return json.dump();
  };
  for (const std::string prefix : {"ProfilerStep#1", "ProfilerStep"}) {
    const Imported imported = import_torch_trace(without(prefix), "t.json", {"cnn", 32, "bf16"});
    CHECK(seconds_of(imported, "Conv2d_0", "forward") == Approx(4e-6));
    CHECK(seconds_of(imported, "Linear_0", "backward") == Approx(3e-6));
    CHECK(imported.refused[0].find("t.json: 25 % of the GPU time belongs to no module") == 0);
    CHECK(imported.refused.size() == (prefix == "ProfilerStep" ? 2 : 1));
  }
  CHECK(import_torch_trace(without("ProfilerStep"), "t.json", {"cnn", 32, "bf16"}).refused[1] ==
        "t.json: no ProfilerStep; taken as 2 steps, for as often its modules ran");
}

TEST_CASE("traces without modules, without kernels, or without what they cannot tell") {
  CHECK_THROWS_WITH(import_torch_trace("{\"traceEvents\": []}", "t.json", {"cnn", 32, "bf16"}),
                    Contains("t.json: no GPU kernel of a module"));
  CHECK_THROWS_WITH(import_torch_trace(trace(), "t.json", {"cnn", 0, "bf16"}), Contains("--batch"));
  CHECK_THROWS_AS(import_torch_trace("{", "t.json", {"cnn", 32, "bf16"}), InputError);
}

TEST_CASE("nvidia-smi's topology matrix") {
  const Imported imported = import_topology(tests::data("nvidia_smi_topo.txt"), "topo.txt");
  const Json topology = imported.device.facts["topology"];
  CHECK(topology["gpus"].dump() == "[\"GPU0\",\"GPU1\"]");
  CHECK(topology["nics"].dump() == "[\"NIC0\"]");
  CHECK(topology["links"].dump() == "{\"GPU0-GPU1\":\"NV18\",\"GPU0-NIC0\":\"PIX\",\"GPU1-NIC0\":\"SYS\"}");
  CHECK(imported.device.count == 2);
}

TEST_CASE("a topology that contradicts itself, an unknown link, a file that is something else") {
  const std::string head = "\tGPU0\tGPU1\n";
  CHECK_THROWS_WITH(import_topology(head + "GPU0\tX\tNV4\nGPU1\tSYS\tX\n", "t"),
                    "t: GPU0 and GPU1 are linked by NV4 one way and SYS the other");
  CHECK_THROWS_WITH(import_topology(head + "GPU0\tX\tFOO\n", "t"), "t line 2: unknown link \"FOO\"");
  CHECK_THROWS_WITH(import_topology("hello\n", "t"), "t: no matrix of nvidia-smi topo -m");
}
