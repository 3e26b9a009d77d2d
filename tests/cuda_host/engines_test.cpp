// Every convolution of the zoo, planned by cuDNN for a described H100. Descriptors, heuristics, numerical notes and
// plans are cuDNN's own, on the CPU. Only the execution needs a GPU.
#include <cudnn.h>

#include <map>
#include <set>
#include <string>

#include "engine/cuda/convolution.hpp"
#include "engine/cuda/program.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;

// NVIDIA H100 80GB HBM3 (SXM): 132 multiprocessors, 50 MB of L2, 227 KiB of shared memory per block.
constexpr const char* kH100 = R"({"cudaDeviceId":0,"deviceName":"NVIDIA H100 80GB HBM3","deviceVer":900,
"driverVer":13000,"isTccDriver":0,"l2CacheSize":52428800,"maxBlockSize":[1024,1024,64],"maxCtasPerSM":32,
"maxGridSize":[2147483647,65535,65535],"maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"memClockRateKHz":2619000,
"multiProcessorCount":132,"pciDeviceId":0,"regsPerBlock":65536,"reservedSharedMemoryPerBlock":1024,
"smClockRateKHz":1980000,"supportCoopLaunch":1,"targetSMcount":0,"totalGlobalMem":85017493504,"warpSize":32})";

/// The properties that cuDNN reads of a device that is not present: A100-SXM4-80GB, GeForce RTX 4090 and B200, by
/// NVIDIA's tables of compute capabilities 8.0, 8.9 and 10.0 and the products' data sheets.
struct DescribedGpu {
  const char* name;
  int capability;  ///< 800 means 8.0
  int multiprocessors;
  std::int64_t l2_bytes;
  int shared_bytes_per_block;  ///< most that a kernel may request
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  std::int64_t memory_bytes;
  int clock_khz, memory_clock_khz;
};
constexpr DescribedGpu kA100{
    "NVIDIA A100-SXM4-80GB", 800, 108, 41943040, 166912, 2048, 32, 85031714816, 1410000, 1593000};
constexpr DescribedGpu kRtx4090{
    "NVIDIA GeForce RTX 4090", 890, 128, 75497472, 101376, 1536, 24, 25386352640, 2520000, 10501000};
constexpr DescribedGpu kB200{"NVIDIA B200", 1000, 148, 132644864, 232448, 2048, 32, 191503007744, 1965000, 3996000};

std::string json_of(const DescribedGpu& gpu) {
  std::string json = R"({"cudaDeviceId":0,"driverVer":13000,"isTccDriver":0,"maxBlockSize":[1024,1024,64],)"
                     R"("maxGridSize":[2147483647,65535,65535],"maxRegistersPerSM":65536,"maxThreadsPerBlock":1024,)"
                     R"("maxSharedMemoryPerBlock":49152,"pciDeviceId":0,"regsPerBlock":65536,"warpSize":32,)"
                     R"("reservedSharedMemoryPerBlock":1024,"supportCoopLaunch":1,"targetSMcount":0)";
  json += std::string(",\"deviceName\":\"") + gpu.name + "\"";
  const auto add = [&](const char* key, std::int64_t value) {
    json += std::string(",\"") + key + "\":" + std::to_string(value);
  };
  add("deviceVer", gpu.capability);
  add("l2CacheSize", gpu.l2_bytes);
  add("maxCtasPerSM", gpu.blocks_per_multiprocessor);
  add("maxSharedMemoryPerBlockOptin", gpu.shared_bytes_per_block);
  add("maxThreadsPerSM", gpu.threads_per_multiprocessor);
  add("multiProcessorCount", gpu.multiprocessors);
  add("memClockRateKHz", gpu.memory_clock_khz);
  add("smClockRateKHz", gpu.clock_khz);
  add("totalGlobalMem", gpu.memory_bytes);
  return json + "}";
}

/// Returns the problems of a replica, each once, as ConvolutionOperation requests them.
std::map<ProblemKey, ConvolutionProblem> problems_of(const model::Graph& graph, int batch, Precision precision) {
  const Program program = make_program(graph, batch, element_of(precision), precision != Precision::fp32);
  std::map<ProblemKey, ConvolutionProblem> problems;
  const auto add = [&](Direction direction, const ConvolutionShape& shape, bool accumulate) {
    const ConvolutionProblem problem{direction, shape, precision, accumulate};
    problems.emplace(key_of(problem, 0), problem);
  };
  for (const Step& step : program.steps) {
    const model::Layer& layer = graph.layers[static_cast<std::size_t>(step.layer)];
    if (layer.kind != model::LayerKind::conv) continue;
    const int in_channels = step.inputs.front() == 0 ? program.input_channels : layer.in.channels;
    const ConvolutionShape shape{batch,           layer.in.height,    layer.in.width, in_channels, layer.out.height,
                                 layer.out.width, layer.out.channels, layer.window};
    add(Direction::forward, shape, false);
    add(Direction::filter_gradient, shape, false);
    if (step.writes.front().needed) add(Direction::data_gradient, shape, step.writes.front().accumulate);
  }
  return problems;
}

/// Returns true if one of the first engines has a plan with a small enough workspace; else `why` has cuDNN's message.
bool is_solved(const ConvolutionTarget& h100, ConvolutionProblem problem, std::string& why) {
  for (const bool accumulate : std::set<bool>{problem.accumulate, false}) {
    problem.accumulate = accumulate;
    const ConvolutionEngines engines(h100, problem);
    why += engines.remarks();
    for (std::size_t i = 0; i < engines.count(); ++i) {
      std::string refused;
      const auto plan = engines.plan(i, refused);
      if (plan != nullptr && plan->workspace_bytes <= most_workspace_bytes(problem)) return true;
      why += "; " + (plan != nullptr ? "workspace " + std::to_string(plan->workspace_bytes) : refused);
    }
  }
  return false;
}

}  // namespace

#if CUDNN_VERSION >= 91100

TEST_CASE("cuDNN has an engine on an H100 for every convolution of a model in every precision") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32}) {
    std::map<ProblemKey, ConvolutionProblem> problems;
    for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "alexnet_grouped", "resnet50"}) {
      const model::Graph graph = model::zoo_graph(name);
      problems.merge(problems_of(graph, graph.input.height <= 32 ? 16 : 64, precision));
    }
    CHECK(problems.size() > 80);
    for (const auto& [key, problem] : problems) {
      std::string why;
      INFO(describe(problem));
      const bool solved = is_solved({nullptr, &h100}, problem, why);
      INFO(why);
      CHECK(solved);
    }
  }
}

// Each GPU is tested in one precision, because all together would take more than a minute of processor time.
TEST_CASE("No convolution of ResNet-50 is left to our own kernels on an A100, RTX 4090 or B200") {
  const std::pair<std::string, Precision> gpus[] = {
      {json_of(kA100), Precision::tf32}, {json_of(kRtx4090), Precision::fp16}, {json_of(kB200), Precision::bf16}};
  for (const auto& [json, precision] : gpus) {
    const CudnnDescriptor gpu = described_gpu(json);
    const auto problems = problems_of(model::zoo_graph("resnet50"), 64, precision);
    CHECK(problems.size() == 59);  // each once
    for (const auto& [key, problem] : problems) {
      std::string why;
      INFO(json << "\n" << describe(problem));
      const bool solved = is_solved({nullptr, &gpu}, problem, why);
      INFO(why);
      CHECK(solved);
    }
  }
}

// cuDNN 9.19 has none in bf16 or TF32. On a B200 it has none with reproducible results, and none for images of four
// channels. If one is added, it is used.
TEST_CASE("Convolutions of ResNet-50 in fp16 have engines that sum their outputs on an H100 and an RTX 4090") {
  for (const std::string& json : {std::string(kH100), json_of(kRtx4090)}) {
    const CudnnDescriptor gpu = described_gpu(json);
    INFO(json);
    int forward = 0, planned = 0;
    for (const auto& [key, alone] : problems_of(model::zoo_graph("resnet50"), 64, Precision::fp16)) {
      if (alone.direction != Direction::forward) continue;
      ++forward;
      ConvolutionProblem problem = alone;
      problem.has_sums = true;
      CHECK(key_of(problem, 0) != key);
      const ConvolutionEngines engines({nullptr, &gpu}, problem);
      std::string refused;
      for (std::size_t i = 0; i < engines.recommended(); ++i) {
        const auto plan = engines.plan(i, refused);
        if (plan == nullptr || plan->workspace_bytes > most_workspace_bytes(problem)) continue;
        CHECK(plan->sums_channels == problem.shape.out_channels);
        ++planned;
        break;
      }
    }
    CHECK(forward == 20);
    CHECK(planned >= 19);
  }
}

TEST_CASE("Every convolution of ResNet-50 is followed by a batch norm that may take its sums") {
  const model::Graph resnet = model::zoo_graph("resnet50");
  int summed = 0, convolutions = 0;
  for (const Step& step : make_program(resnet, 64, Element::f16, true).steps) {
    convolutions += step.kind == model::LayerKind::conv ? 1 : 0;
    summed += step.summed ? 1 : 0;
  }
  CHECK(convolutions == 53);
  CHECK(summed == 53);
  // There are none with a bias, which is added after the convolution, or without a batch norm.
  for (const Step& step : make_program(model::zoo_graph("vgg16"), 64, Element::f16, true).steps)
    CHECK_FALSE(step.summed);
}

// Otherwise only slow engines would remain, which may take a hundred times as long.
TEST_CASE("Of the engines that cuDNN recommends for ResNet-50 at batch 128 one has a workspace that is not too large") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  int recommended = 0;
  for (const Precision precision : {Precision::bf16, Precision::tf32, Precision::fp32}) {
    for (const auto& [key, problem] : problems_of(model::zoo_graph("resnet50"), 128, precision)) {
      const ConvolutionEngines engines({nullptr, &h100}, problem);
      if (engines.recommended() == 0) continue;
      ++recommended;
      INFO(describe(problem) << ": " << engines.remarks());
      bool fits = false;
      for (std::size_t i = 0; i < engines.recommended() && !fits; ++i) {
        std::string refused;
        const auto plan = engines.plan(i, refused);
        fits = plan != nullptr && plan->workspace_bytes <= most_workspace_bytes(problem);
      }
      CHECK(fits);
    }
  }
  CHECK(recommended > 150);
}

// The first ten that the heuristics list are settings of one or two engines.
TEST_CASE("Every engine that is recommended has its turn among the first before any has a fourth") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  std::size_t more_engines = 0;
  for (const auto& [key, problem] : problems_of(model::zoo_graph("resnet50"), 128, Precision::bf16)) {
    const ConvolutionEngines engines({nullptr, &h100}, problem);
    const std::vector<std::size_t> order = engines.in_turns(0, engines.recommended(), 3);
    INFO(describe(problem));
    CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == engines.recommended());
    std::map<std::int64_t, int> settings, all;
    for (std::size_t i = 0; i < engines.recommended(); ++i) ++all[engines.engine(i).value()];
    std::size_t before_fourth = 0;  // places of the first three of each engine
    for (const auto& [engine, count] : all) before_fourth += static_cast<std::size_t>(std::min(count, 3));
    for (std::size_t place = 0; place < before_fourth; ++place) {
      const int rank = ++settings[engines.engine(order[place]).value()];
      CHECK(rank <= 3);
    }
    std::set<std::int64_t> tried, listed;
    for (std::size_t i = 0; i < std::min<std::size_t>(12, order.size()); ++i) {
      tried.insert(engines.engine(order[i]).value());
      listed.insert(engines.engine(i).value());
    }
    CHECK(tried.size() >= listed.size());
    more_engines += tried.size() - listed.size();
  }
  CHECK(more_engines > 0);
}

TEST_CASE("Engines for single precision use no tensor cores, those for TF32 do") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  ConvolutionShape shape{32, 28, 28, 128, 28, 28, 128, {}};
  shape.window.kernel_h = shape.window.kernel_w = 3;
  shape.window.pad_top = shape.window.pad_bottom = shape.window.pad_left = shape.window.pad_right = 1;
  const ConvolutionEngines single({nullptr, &h100}, {Direction::forward, shape, Precision::fp32, false});
  const ConvolutionEngines tf32({nullptr, &h100}, {Direction::forward, shape, Precision::tf32, false});
  CHECK(single.count() > 0);
  CHECK(tf32.count() > single.count());
  CHECK_THAT(single.remarks(), !Contains("mode A: 0 engines"));
}

TEST_CASE("A convolution that cuDNN refuses is named with the reason") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  ConvolutionShape shape{4, 8, 8, 16, 5, 5, 16, {}};  // 8 pixels, a kernel of 3 and no padding leave 6, not 5
  shape.window.kernel_h = shape.window.kernel_w = 3;
  const ConvolutionProblem problem{Direction::forward, shape, Precision::bf16, false};
  const ConvolutionEngines engines({nullptr, &h100}, problem);
  CHECK(engines.count() == 0);
  CHECK_THAT(engines.remarks(), Contains("CUDNN_STATUS_BAD_PARAM"));
  CHECK(
      describe(problem) ==
      "forward convolution, bf16, 4 x 16x8x8 -> 16x5x5, kernel 3x3, stride 1x1, padding top 0 bottom 0 left 0 right 0");
}

/// Returns cuDNN's own description of a plan: engine, settings, kernels.
std::string json_of(const ConvolutionEngines::Plan& plan) {
  std::int64_t bytes = 0;
  REQUIRE(cudnnBackendGetAttribute(plan.descriptor.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                   CUDNN_TYPE_CHAR, 0, &bytes, nullptr) == CUDNN_STATUS_SUCCESS);
  std::string json(static_cast<std::size_t>(bytes), '\0');
  REQUIRE(cudnnBackendGetAttribute(plan.descriptor.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                   CUDNN_TYPE_CHAR, bytes, &bytes, json.data()) == CUDNN_STATUS_SUCCESS);
  return json;
}

// With m learners and G identical GPUs, only the first replica calls the heuristics; the others share its result.
TEST_CASE("A plan made by its recipe is the plan of the engine that the heuristics proposed, without asking them") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  const ConvolutionTarget target{nullptr, &h100};
  const model::Graph graph = model::zoo_graph("resnet50");
  int number = 0;
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    for (const auto& [key, problem] : problems_of(graph, 32, precision)) {
      if (number++ % 7 != 0) continue;  // only some, because plans are slow
      INFO(describe(problem));
      const ConvolutionEngines engines(target, problem);
      const std::int64_t asked = ConvolutionEngines::questions();
      for (std::size_t i = 0; i < std::min<std::size_t>(engines.count(), 3); ++i) {
        std::string why, why_again;
        const auto plan = engines.plan(i, why);
        const auto recipe = engines.recipe(i);
        REQUIRE(recipe);
        const ConvolutionEngines alone(target, problem, *recipe);
        INFO(alone.remarks());
        REQUIRE(alone.count() == 1);
        const auto again = alone.plan(0, why_again);
        REQUIRE((plan == nullptr) == (again == nullptr));
        if (plan == nullptr) continue;
        CHECK(again->workspace_bytes == plan->workspace_bytes);
        CHECK(json_of(*again) == json_of(*plan));
      }
      CHECK(ConvolutionEngines::questions() == asked);
    }
  }
  CHECK(number > 80);
}

TEST_CASE("A recipe that no engine has is refused with the reason") {
  const CudnnDescriptor h100 = described_gpu(kH100);
  ConvolutionShape shape{32, 28, 28, 128, 28, 28, 128, {}};
  shape.window.kernel_h = shape.window.kernel_w = 3;
  shape.window.pad_top = shape.window.pad_bottom = shape.window.pad_left = shape.window.pad_right = 1;
  const ConvolutionProblem problem{Direction::forward, shape, Precision::bf16, false};
  const ConvolutionEngines engines({nullptr, &h100}, problem, EngineRecipe{1'000'000, {}});
  CHECK(engines.count() == 0);
  CHECK_THAT(engines.remarks(), Contains("is refused: CUDNN_STATUS"));
}

TEST_CASE("A GPU's description that cuDNN cannot read is an error with cuDNN's words") {
  CHECK_THROWS_WITH(described_gpu("{}"), Contains("CUDNN_STATUS"));
}

#endif

}  // namespace lockstep::cuda
