#include "calib/import/imported.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// Two steps of two modules. Forward thread 1: conv (0-10 us) launches kernel 1 of 4 us, fc (10-20) kernel 2 of 2 us.
// Backward thread 2: fc's operator (sequence 8) launches 3 of 3 us, conv's (sequence 7) 4 and 5 of 5 and 1 us. Kernel 6
// of 5 us is the optimiser's. Step two is the same 100 us later: every mean is that of one step.
std::string trace() {
  Json events = Json::array();
  const auto add = [&](const char* category, const std::string& name, int tid, double ts, double dur, Json args) {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"pid", 1},
                      {"tid", tid},
                      {"ts", ts},
                      {"dur", dur},
                      {"args", args}});
  };
  for (int step = 0; step < 2; ++step) {
    const double t = 100 * step;
    const int k = 10 * step;
    add("user_annotation", "ProfilerStep#" + std::to_string(step), 1, t, 99, Json::object());
    add("python_function", "nn.Module: Conv2d_0", 1, t, 10, Json::object());
    add("python_function", "nn.Module: Linear_0", 1, t + 10.5, 10, Json::object());
    add("cpu_op", "aten::conv2d", 1, t + 1, 5, {{"Sequence number", 7 + k}});
    add("cpu_op", "aten::linear", 1, t + 11, 5, {{"Sequence number", 8 + k}});
    add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, t + 30, 5, {{"Sequence number", 8 + k}});
    add("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 2, t + 40, 9,
        {{"Sequence number", 7 + k}});
    const double launch_at[] = {2, 12, 31, 41, 45, 60};
    const double duration[] = {4, 2, 3, 5, 1, 5};
    for (int i = 0; i < 6; ++i) {
      const int thread = i < 2 || i == 5 ? 1 : 2;
      add("cuda_runtime", "cudaLaunchKernel", thread, t + launch_at[i], 1, {{"correlation", k + i + 1}});
      add("kernel", "k", 7, t + launch_at[i] + 10, duration[i], {{"correlation", k + i + 1}});
    }
  }
  return Json{{"deviceProperties", {{{"name", "NVIDIA X"}}}}, {"traceEvents", events}}.dump();
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
  const std::string text =
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A\n"
      "GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A\n"
      "NIC0\tPIX\tSYS\t X \t\t\t\t\n"
      "\n"
      "Legend:\n"
      "\n"
      "  X    = Self\n"
      "  SYS  = Connection traversing PCIe as well as the SMP interconnect\n"
      "NIC Legend:\n"
      "\n"
      "  NIC0: mlx5_0\n";
  const Imported imported = import_topology(text, "topo.txt");
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
