// Emulates the part of cuDNN's graph interface that Lockstep's convolutions use. It checks its inputs, proposes engines
// with settings, and computes on its streams. Descriptors, choices, plans and routes are thus tested, but not cuDNN's
// own heuristics and rounding.
//
//   engine 0  no settings; the fallback
//   engine 1  needs a tile size, 0 or 1: mode A proposes both. Each sums in a different order. Plans no images with an
//             odd number of channels, although it is proposed for them
//   engine 2  results vary between runs, so it must not be used
//   engine 3  forward convolutions in fp16 with sums of outputs (GEN_STATS), which no other engine supports
//
// It refuses groups, and adding to existing values unless the kernel is 1x1. Lockstep runs the former on its own
// kernels, the latter through its scratch memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda_emulated/cudnn_graph.hpp"
#include "tests/cuda_emulated/emulated.hpp"
#include "tests/cuda_emulated/knobs.hpp"

std::atomic<bool> emulated::ignores_beta{false};
std::atomic<bool> emulated::has_summing_engine{true}, emulated::forgets_rows{false};
std::atomic<std::int64_t> emulated::summing_engine_ns{0};

namespace {

using namespace emulated;

Descriptor& of(cudnnBackendDescriptor_t descriptor) {
  return *reinterpret_cast<Descriptor*>(descriptor);
}

struct Handle {
  cudaStream_t stream = nullptr;
};

std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;  // enumerations and float
  }
}

std::vector<float> loaded(cudnnDataType_t type, const void* from, const Integers& dimensions) {
  std::vector<float> values(static_cast<std::size_t>(dimensions[0] * dimensions[1] * dimensions[2] * dimensions[3]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == CUDNN_DATA_HALF)
      values[i] = __half2float(static_cast<const __half*>(from)[i]);
    else if (type == CUDNN_DATA_BFLOAT16)
      values[i] = __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i]);
    else
      values[i] = static_cast<const float*>(from)[i];
  }
  return values;
}

void store(cudnnDataType_t type, const std::vector<float>& values, void* to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == CUDNN_DATA_HALF)
      static_cast<__half*>(to)[i] = __float2half_rn(values[i]);
    else if (type == CUDNN_DATA_BFLOAT16)
      static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(values[i]);
    else
      static_cast<float*>(to)[i] = values[i];
  }
}

/// Adds the products of one image pixel, one output pixel and one kernel element that meet, over all channels.
void meet(Direction direction, std::int64_t outputs, std::int64_t channels, std::int64_t weights_apart, float* x,
          float* y, float* weight) {
  for (std::int64_t k = 0; k < outputs; ++k) {
    float* row = weight + k * weights_apart;
    float sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      if (direction == Direction::forward) sum += x[c] * row[c];
      if (direction == Direction::data) x[c] += y[k] * row[c];
      if (direction == Direction::filter) row[c] += y[k] * x[c];
    }
    if (direction == Direction::forward) y[k] += sum;
  }
}

/// `order` 0, 1 or 2 sums forwards, backwards over the kernel, or backwards over images and kernel.
void compute(const Convolution& problem, int order, std::array<void*, 3> pointers) {
  const Integers* dimensions[] = {&problem.x, &problem.y, &problem.weight};
  const std::size_t result = problem.direction == Direction::forward ? 1 : problem.direction == Direction::data ? 0 : 2;
  std::array<std::vector<float>, 3> tensors;
  for (std::size_t i = 0; i < 3; ++i) tensors[i] = loaded(problem.type, pointers[i], *dimensions[i]);
  if (!problem.accumulate || emulated::ignores_beta) std::fill(tensors[result].begin(), tensors[result].end(), 0.0F);
  const std::int64_t channels = problem.x[1], height = problem.x[2], width = problem.x[3];
  const std::int64_t outputs = problem.y[1], rows = problem.y[2], columns = problem.y[3];
  const std::int64_t kernel_rows = problem.weight[2], kernel_columns = problem.weight[3];
  const std::int64_t pixels = problem.x[0] * rows * columns, places = kernel_rows * kernel_columns;
  for (std::int64_t i = 0; i < pixels * places; ++i) {
    const std::int64_t pixel = order == 2 ? pixels - 1 - i / places : i / places;
    const std::int64_t place = order > 0 ? places - 1 - i % places : i % places;
    const std::int64_t image = pixel / (rows * columns);
    const std::int64_t h = pixel / columns % rows * problem.strides[0] - problem.before[0] + place / kernel_columns;
    const std::int64_t w = pixel % columns * problem.strides[1] - problem.before[1] + place % kernel_columns;
    if (h < 0 || h >= height || w < 0 || w >= width) continue;
    meet(problem.direction, outputs, channels, places * channels,
         tensors[0].data() + ((image * height + h) * width + w) * channels, tensors[1].data() + pixel * outputs,
         tensors[2].data() + place * channels);
  }
  store(problem.type, tensors[result], pointers[result]);
}

/// Sums the outputs as they are stored, row after row in float.
void sum_outputs(const Convolution& problem, const void* outputs, std::array<float*, 2> sums) {
  const std::vector<float> values = loaded(problem.type, outputs, problem.y);
  const auto channels = static_cast<std::size_t>(problem.y[1]);
  const std::size_t rows = values.size() / channels / (emulated::forgets_rows ? 2 : 1);
  for (float* sum : sums) std::fill_n(sum, channels, 0.0F);
  for (std::size_t i = 0; i < rows * channels; ++i) {
    sums[0][i % channels] += values[i];
    sums[1][i % channels] += values[i] * values[i];
  }
  emulated::clock_ahead_ns += emulated::summing_engine_ns;
}

Descriptor knob(std::int64_t value) {
  Descriptor choice{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, true, {}, {}};
  const cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_TILE_SIZE;
  choice.values[CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE].assign(reinterpret_cast<const char*>(&type),
                                                         reinterpret_cast<const char*>(&type + 1));
  choice.values[CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE].assign(reinterpret_cast<const char*>(&value),
                                                          reinterpret_cast<const char*>(&value + 1));
  return choice;
}

/// Makes an engine's configuration; with `tile` below 0, it has no tile size.
Descriptor proposed(std::shared_ptr<const Descriptor> graph, std::int64_t index, std::int64_t tile) {
  Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR, true, {}, {}};
  engine.parts[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {std::move(graph)};
  engine.values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX].assign(reinterpret_cast<const char*>(&index),
                                                       reinterpret_cast<const char*>(&index + 1));
  Descriptor configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, true, {}, {}};
  configuration.parts[CUDNN_ATTR_ENGINECFG_ENGINE] = {std::make_shared<const Descriptor>(engine)};
  if (tile >= 0)
    configuration.parts[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = {std::make_shared<const Descriptor>(knob(tile))};
  return configuration;
}

std::vector<Descriptor> proposals(const Descriptor& heuristics) {
  const std::shared_ptr<const Descriptor> graph = heuristics.parts.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).at(0);
  Convolution problem;
  if (read_graph(*graph, problem) != CUDNN_STATUS_SUCCESS) return {};
  const bool is_fallback =
      heuristics.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
  if (problem.has_sums) {
    if (is_fallback || problem.type != CUDNN_DATA_HALF || !emulated::has_summing_engine) return {};
    return {proposed(graph, 3, -1)};
  }
  if (problem.accumulate && problem.weight[2] * problem.weight[3] > 1) return {};
  if (is_fallback) return {proposed(graph, 0, -1)};
  return {proposed(graph, 1, 1), proposed(graph, 2, -1), proposed(graph, 1, 0)};
}

std::int64_t engine_of(const Descriptor& configuration) {
  return configuration.part(CUDNN_ATTR_ENGINECFG_ENGINE)->integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX).at(0);
}
std::int64_t tile_of(const Descriptor& configuration) {
  return configuration.part(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)->integers(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE).at(0);
}
std::int64_t workspace_of(const Descriptor& configuration) {
  return engine_of(configuration) == 1 ? 256 * (1 + tile_of(configuration)) : 0;
}

bool has_its_settings(const Descriptor& configuration) {
  const Descriptor* engine = configuration.part(CUDNN_ATTR_ENGINECFG_ENGINE);
  if (engine == nullptr || !engine->is_final) return false;
  const Descriptor* choice = configuration.part(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  if (engine_of(configuration) != 1) return choice == nullptr;
  return choice != nullptr && choice->is_final && (tile_of(configuration) == 0 || tile_of(configuration) == 1) &&
         choice->value<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) == CUDNN_KNOB_TYPE_TILE_SIZE;
}

cudnnStatus_t checked(const Descriptor& descriptor) {
  const auto is_set = [](const Descriptor* part) {
    return part != nullptr && part->is_final ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
  };
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: {
      Convolution problem;
      return read(descriptor, problem);
    }
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return is_set(descriptor.part(CUDNN_ATTR_OPERATIONGRAPH_OPS));
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return is_set(descriptor.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: {
      const std::int64_t index = descriptor.integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX).at(0);
      if (index < 0 || index > 3) return CUDNN_STATUS_NOT_SUPPORTED;
      return is_set(descriptor.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
    }
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return has_its_settings(descriptor) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      const Descriptor* configuration = descriptor.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (is_set(configuration) != CUDNN_STATUS_SUCCESS || engine_of(*configuration) != 1) return is_set(configuration);
      const Descriptor* graph =
          configuration->part(CUDNN_ATTR_ENGINECFG_ENGINE)->part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
      Convolution problem;
      const cudnnStatus_t status = read_graph(*graph, problem);
      if (status != CUDNN_STATUS_SUCCESS) return status;
      return problem.x[1] % 2 == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
    }
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

/// Returns the parts of a descriptor that are requested as copies into other descriptors.
std::vector<Descriptor> parts_asked(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) return proposals(descriptor);
  std::vector<Descriptor> parts;
  const auto found = descriptor.parts.find(name);
  if (found == descriptor.parts.end()) return parts;
  for (const auto& part : found->second) parts.push_back(*part);
  return parts;
}

}  // namespace

size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return "CUDNN_STATUS_SUCCESS";
  return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}
void cudnnGetLastErrorString(char* text, size_t size) {
  std::snprintf(text, size, "emulated");
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  *descriptor = reinterpret_cast<cudnnBackendDescriptor_t>(new Descriptor{type, false, {}, {}});
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const cudnnStatus_t status = checked(of(descriptor));
  of(descriptor).is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  Descriptor& to = of(descriptor);
  if (to.is_final) return CUDNN_STATUS_NOT_INITIALIZED;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* begin = static_cast<const char*>(values);
    to.values[name].assign(begin, begin + static_cast<std::size_t>(count) * bytes_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  to.parts[name].clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const Descriptor& part = of(static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
    to.parts[name].push_back(std::make_shared<const Descriptor>(part));
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count, void* values) {
  const Descriptor& from = of(descriptor);
  if (!from.is_final) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const std::vector<Descriptor> parts = parts_asked(from, name);
    *count = static_cast<std::int64_t>(parts.size());
    for (std::int64_t i = 0; i < std::min(wanted, *count); ++i)
      of(static_cast<cudnnBackendDescriptor_t*>(values)[i]) = parts[static_cast<std::size_t>(i)];
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    *count = from.integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX).at(0) == 2 ? 1 : 0;
    if (*count > 0) *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *count = 1;
    *static_cast<std::int64_t*>(values) = workspace_of(*from.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
    return CUDNN_STATUS_SUCCESS;
  }
  const auto found = from.values.find(name);
  if (found == from.values.end()) return CUDNN_STATUS_NOT_SUPPORTED;
  *count = static_cast<std::int64_t>(found->second.size() / bytes_of(type));
  std::memcpy(values, found->second.data(), static_cast<std::size_t>(std::min(wanted, *count)) * bytes_of(type));
  return CUDNN_STATUS_SUCCESS;
}

/// Overwrites the workspace, as a real engine would.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  if (!emulated::is_current(reinterpret_cast<Handle*>(handle)->stream)) return CUDNN_STATUS_EXECUTION_FAILED;
  if (!of(plan).is_final || !of(pack).is_final) return CUDNN_STATUS_NOT_INITIALIZED;
  const Descriptor& configuration = *of(plan).part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor& engine = *configuration.part(CUDNN_ATTR_ENGINECFG_ENGINE);
  Convolution problem;
  const cudnnStatus_t status = read_graph(*engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH), problem);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const Integers names = of(pack).integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const Integers addresses = of(pack).integers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto pointer_of = [&](std::int64_t name) -> void* {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return nullptr;
    const std::int64_t address = addresses.at(static_cast<std::size_t>(found - names.begin()));
    return address % 16 == 0 ? reinterpret_cast<void*>(address) : nullptr;
  };
  std::array<void*, 3> pointers{};
  for (std::size_t i = 0; i < 3; ++i) pointers[i] = pointer_of(problem.names[i]);
  std::array<float*, 2> sums{};
  for (std::size_t i = 0; problem.has_sums && i < 2; ++i)
    sums[i] = static_cast<float*>(pointer_of(problem.sums_names[i]));
  if (std::count(pointers.begin(), pointers.end(), nullptr) > 0) return CUDNN_STATUS_BAD_PARAM;
  if (problem.has_sums && std::count(sums.begin(), sums.end(), nullptr) > 0) return CUDNN_STATUS_BAD_PARAM;
  auto* workspace = of(pack).value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto workspace_bytes = static_cast<std::size_t>(workspace_of(configuration));
  const int order = engine_of(configuration) == 1 ? 1 + static_cast<int>(tile_of(configuration)) : 0;
  emulated::enqueue(reinterpret_cast<Handle*>(handle)->stream, [=] {
    if (workspace_bytes > 0) std::memset(workspace, 0xFF, workspace_bytes);
    compute(problem, order, pointers);
    if (problem.has_sums) sum_outputs(problem, pointers[1], sums);
  });
  return CUDNN_STATUS_SUCCESS;
}
