#include <cmath>

#include "calib/import/imported.hpp"
#include "engine/model/zoo/zoo.hpp"
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
    if (sample.key.value("layer", "") == layer && sample.key.value("pass", "") == pass) return sample.seconds[0];
  return -1;
}

}  // namespace

TEST_CASE("a PyTorch trace gives each module's forward and backward time per step") {
  const Imported imported = import_torch_trace(trace(), "t.json", {"cnn", 32, "bf16"});
  REQUIRE(imported.samples.size() == 5);
  CHECK(imported.samples[4].probe == "iteration");
  CHECK(imported.samples[4].key ==
        Json{{"model", "cnn"}, {"precision", "bf16"}, {"learners", 1}, {"devices", 1}, {"batch", 32}});
  REQUIRE(imported.samples[4].seconds.size() == 1);  // from the first step's begin to the second's
  CHECK(imported.samples[4].seconds[0] == Approx(1e-4));
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

TEST_CASE("a PyTorch trace whose times begin anywhere imports to the same profile") {
  const auto shifted = [](const std::string& text, const Json& offset) {
    Json json = Json::parse(text);
    for (Json& event : json["traceEvents"])
      if (event.contains("ts")) event["ts"] = event["ts"].get<double>() + offset.get<double>();
    return json.dump();
  };
  // Whole microseconds, as PyTorch up to 2.3 writes them, with the four steps of unequal length.
  Json steps = Json::array();
  double at = 0;
  for (int step = 0; step < 4; ++step) {
    const double length = 100000.0 * (1 + step % 3);
    steps.push_back({{"ph", "X"},
                     {"cat", "user_annotation"},
                     {"name", "ProfilerStep#" + std::to_string(step)},
                     {"pid", 1},
                     {"tid", 1},
                     {"ts", at},
                     {"dur", length - 50}});
    at += length;
  }
  for (const std::string& text : {trace(), Json{{"traceEvents", steps}}.dump()}) {
    const Imported expected = import_torch_trace(text, "t.json", {"cnn", 32, "bf16"});
    for (const double offset : {1.0, 1e6, 1.7e12, 999999999999999.0, 1e15, 1.7e15, 1.8e15, 2e15}) {
      const Imported moved = import_torch_trace(shifted(text, offset), "t.json", {"cnn", 32, "bf16"});
      INFO(offset);
      REQUIRE(moved.samples.size() == expected.samples.size());
      for (std::size_t i = 0; i < moved.samples.size(); ++i)
        CHECK(to_json(moved.samples[i]).dump() == to_json(expected.samples[i]).dump());
      CHECK(moved.refused == expected.refused);
    }
  }
  const Imported four = import_torch_trace(Json{{"traceEvents", steps}}.dump(), "t.json", {"cnn", 32, "bf16"});
  REQUIRE(four.samples.size() == 1);
  REQUIRE(four.samples[0].seconds.size() == 3);
  for (int step = 0; step < 3; ++step)
    CHECK(four.samples[0].seconds[static_cast<std::size_t>(step)] == Approx(0.1 * (1 + step)));
}

TEST_CASE("fractions of microseconds that times since 1970 lose move no kernel to another module") {
  // 300 modules of 1.7 us each, whose kernel is launched 0.1 us before their end.
  const auto trace_at = [](double offset) {
    Json events = Json::array();
    const auto add = [&](const char* category, const std::string& name, double ts, double dur, const Json& args) {
      events.push_back({{"ph", "X"},
                        {"cat", category},
                        {"name", name},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", offset + ts},
                        {"dur", dur},
                        {"args", args}});
    };
    for (int i = 0; i < 300; ++i) {
      const double begin = 2.33 * i;
      add("python_function", "nn.Module: Linear_" + std::to_string(i), begin, 1.7, Json::object());
      add("cuda_runtime", "cudaLaunchKernel", begin + 1.6, 0.05, {{"correlation", i}});
      add("kernel", "k", begin + 5, 1 + i, {{"correlation", i}});
    }
    return Json{{"traceEvents", events}}.dump();
  };
  for (const double offset : {0.0, 1e12, 1.7e15, 2e15}) {
    const Imported imported = import_torch_trace(trace_at(offset), "t.json", {"net", 8, "fp32"});
    INFO(offset);
    CHECK(imported.refused.empty());
    for (int i = 0; i < 300; ++i)
      CHECK(seconds_of(imported, "Linear_" + std::to_string(i), "forward") == Approx(1e-6 * (1 + i)));
  }
}

TEST_CASE("events of a PyTorch trace whose time cannot be one are left out, and that is said") {
  Json json = Json::parse(trace());
  json["traceEvents"].push_back({{"ph", "X"}, {"cat", "kernel"}, {"name", "k"}, {"ts", 1.8e18}, {"dur", 5}});
  json["traceEvents"].push_back({{"ph", "X"}, {"cat", "kernel"}, {"name", "k"}, {"dur", 5}});
  const Imported imported = import_torch_trace(json.dump(), "t.json", {"cnn", 32, "bf16"});
  REQUIRE(imported.refused.size() == 2);
  CHECK(imported.refused[0].find("t.json: 25 % of the GPU time belongs to no module") == 0);
  CHECK(imported.refused[1] == "t.json: 2 events are left out: their \"ts\" is missing, or no time in microseconds");
}

TEST_CASE("on a processor operators take the time, those within others count once") {
  // A step of 100 us: conv (0-10 us) calls aten::conv2d (1-9), which calls aten::convolution; backward its operator of
  // sequence 7 (50-64) with another within; 6 us of the optimizer belong to no module.
  Json events = Json::array();
  const auto add = [&](const std::string& category, const std::string& name, int begin, int length, int sequence = -1) {
    Json event{{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", begin}, {"dur", length}};
    if (sequence >= 0) event["args"] = {{"Sequence number", sequence}};
    events.push_back(event);
  };
  add("user_annotation", "ProfilerStep#0", 0, 100);
  add("python_function", "nn.Module: Conv2d_0", 0, 10);
  add("cpu_op", "aten::conv2d", 1, 8, 7);
  add("cpu_op", "aten::convolution", 2, 6, 7);
  add("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 50, 14, 7);
  add("cpu_op", "ConvolutionBackward0", 51, 12, 7);
  add("cpu_op", "aten::add_", 80, 6);
  const Imported imported = import_torch_trace(Json{{"traceEvents", events}}.dump(), "t.json", {"cnn", 32, "fp32"});
  CHECK(seconds_of(imported, "Conv2d_0", "forward") == Approx(8e-6));
  CHECK(seconds_of(imported, "Conv2d_0", "backward") == Approx(14e-6));
  REQUIRE(imported.refused.size() == 1);
  CHECK(imported.refused[0].find("t.json: 21 % of the operators' time belongs to no module") == 0);
  // Without its kernels a GPU's trace tells of launches alone.
  const Json of_gpu{{"traceEvents", events}, {"deviceProperties", {{{"name", "NVIDIA X"}}}}};
  CHECK(seconds_of(import_torch_trace(of_gpu.dump(), "t.json", {"cnn", 32, "fp32"}), "Conv2d_0", "forward") == -1);
}

TEST_CASE("a PyTorch trace of a process among several: steps that hold the exchange, and its collectives") {
  Json json = Json::parse(trace());
  json["distributedInfo"] = {{"backend", "nccl"}, {"rank", 0}, {"world_size", 8}};
  const auto call = [](const char* what, double in, double out) {
    return Json{{"ph", "X"},
                {"cat", "kernel"},
                {"name", "ncclDevKernel"},
                {"ts", 50},
                {"dur", 30},
                {"pid", 0},
                {"tid", 9},
                {"args",
                 {{"Collective name", what},
                  {"In msg nelems", in},
                  {"Out msg nelems", out},
                  {"Group size", 8},
                  {"dtype", "BFloat16"}}}};
  };
  json["traceEvents"].push_back(call("allreduce", 1000, 1000));
  json["traceEvents"].push_back(call("allreduce", 1000, 1000));
  json["traceEvents"].push_back(call("_allgather_base", 100, 800));
  json["traceEvents"].push_back(call("send", 100, 100));
  const Imported imported = import_torch_trace(json.dump(), "t.json", {"cnn", 32, "bf16"});
  REQUIRE(imported.samples.size() == 4 + 1 + 2);
  CHECK(imported.samples[4].probe == "step");
  CHECK(imported.samples[4].key["ranks"] == 8);
  CHECK(imported.samples[5].key["operation"] == "all-reduce");
  CHECK(imported.samples[5].key["bytes"] == 2000);
  CHECK(imported.samples[5].seconds.size() == 2);
  CHECK(imported.samples[6].key["operation"] == "all-gather");
  CHECK(imported.samples[6].key["bytes"] == 1600);
  CHECK(imported.device.count == 8);
}

TEST_CASE("modules of a built-in model are its layers in order, or there are no times by layer") {
  // LeNet has two convolutions and two fully-connected layers.
  Json json = Json::parse(trace()), twice = Json::array();
  const Json events = json["traceEvents"];
  for (int copy = 0; copy < 2; ++copy)
    for (Json event : events) {
      const std::string name = event["name"];
      if (name.find("ProfilerStep") == 0) {
        if (copy == 1) continue;
        event["dur"] = 199;
        event["ts"] = event["ts"] == 0 ? 0 : 200;
      } else {
        const double at = event["ts"];
        event["ts"] = (at >= 100 ? 200 : 0) + std::fmod(at, 100) + 100 * copy;
        if (name.find("nn.Module") == 0) event["name"] = name.substr(0, name.size() - 1) + std::to_string(copy);
      }
      for (const char* id : {"correlation", "Sequence number"})
        if (event.contains("args") && event["args"].contains(id))
          event["args"][id] = event["args"][id].get<int>() + 1000 * copy;
      twice.push_back(event);
    }
  json["traceEvents"] = twice;
  const Imported imported = import_torch_trace(json.dump(), "t.json", {"lenet", 32, "bf16"});
  const model::Graph lenet = model::zoo_graph("lenet");
  std::vector<std::string> convolutions;
  for (const model::Layer& layer : lenet.layers)
    if (layer.kind == model::LayerKind::conv) convolutions.push_back(layer.name);
  REQUIRE(convolutions.size() == 2);
  CHECK(seconds_of(imported, convolutions[0], "forward") == Approx(4e-6));
  CHECK(seconds_of(imported, convolutions[1], "forward") == Approx(4e-6));
  CHECK(seconds_of(imported, "Conv2d_0", "forward") == -1);
  // One convolution does not match two: the steps are left.
  const Imported half = import_torch_trace(trace(), "t.json", {"lenet", 32, "bf16"});
  REQUIRE(half.samples.size() == 1);
  CHECK(half.samples[0].probe == "iteration");
  CHECK(half.refused.back() == "t.json: 1 modules Conv2d, and lenet has 2 such layers: no times by layer");
}

TEST_CASE("traces without modules, without kernels, or without what they cannot tell") {
  CHECK_THROWS_WITH(import_torch_trace("{\"traceEvents\": []}", "t.json", {"cnn", 32, "bf16"}),
                    Contains("t.json: no ProfilerStep and no GPU kernel or operator of a module; allowed: "));
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
