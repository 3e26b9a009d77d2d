#include "engine/cuda/cudnn_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

namespace lockstep::cuda {
namespace {

constexpr std::int64_t kX = 1;  // ids of the tensors
constexpr std::int64_t kY = 2;
constexpr std::int64_t kWeight = 3;
constexpr std::int64_t kSums = 4;
constexpr std::int64_t kSquares = 5;

std::atomic<std::int64_t> asked_heuristics{0};

cudnnDataType_t cudnn_type(device::Precision precision) {
  if (precision == device::Precision::fp16) return CUDNN_DATA_HALF;
  if (precision == device::Precision::bf16) return CUDNN_DATA_BFLOAT16;
  return CUDNN_DATA_FLOAT;
}

/// Dimensions are in cuDNN's order N, C, H, W; in memory channels are last.
CudnnDescriptor tensor(std::int64_t name, cudnnDataType_t type, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  descriptor.set_integers(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w});
  descriptor.set_integers(CUDNN_ATTR_TENSOR_STRIDES, {h * w * c, 1, w * c, c});
  descriptor.set_integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {name});
  descriptor.set_integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  descriptor.finalise();
  return descriptor;
}

/// Sums in float in every precision. cuDNN infers the number of groups from the channels of images and weights.
CudnnDescriptor convolution(const model::Window& w) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  descriptor.set_integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  descriptor.set_integers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  descriptor.set_integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {w.stride_h, w.stride_w});
  descriptor.set_integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {w.pad_top, w.pad_left});
  descriptor.set_integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {w.pad_bottom, w.pad_right});
  descriptor.finalise();
  return descriptor;
}

/// Sums y and its squares per channel.
CudnnDescriptor statistics(const CudnnDescriptor& y, const CudnnDescriptor& sums, const CudnnDescriptor& squares) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  descriptor.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
  descriptor.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  descriptor.set_descriptor(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y);
  descriptor.set_descriptor(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sums);
  descriptor.set_descriptor(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares);
  return descriptor;
}

/// cuDNN's names of the same attributes in the three kinds of operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, y, weight;
};

OperationNames names_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W};
    case Direction::data_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W};
    case Direction::filter_gradient:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};
}

std::vector<cudnnBackendNumericalNote_t> unwanted_notes(device::Precision precision) {
  std::vector<cudnnBackendNumericalNote_t> notes{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
                                                 CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                                                 CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
  if (precision == device::Precision::fp32) {
    notes.insert(notes.end(),
                 {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
                  CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13});
  }
  return notes;
}

/// True if no numerical note of the engine is unwanted in this precision; false if cuDNN does not report its notes.
bool is_wanted(const CudnnDescriptor& configuration, device::Precision precision) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t into = engine.get();
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &count, &into) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  if (cudnnBackendGetAttribute(into, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  const auto end = notes.begin() + std::min<std::int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const std::vector<cudnnBackendNumericalNote_t> unwanted = unwanted_notes(precision);
  return std::find_first_of(notes.begin(), end, unwanted.begin(), unwanted.end()) == end;
}

}  // namespace

CudnnHandle::CudnnHandle(cudaStream_t stream) {
  LOCKSTEP_CUDNN_CHECK(cudnnCreate(&handle_));
  LOCKSTEP_CUDNN_CHECK(cudnnSetStream(handle_, stream));
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  LOCKSTEP_CUDNN_CHECK(cudnnBackendCreateDescriptor(type, &descriptor_));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  LOCKSTEP_CUDNN_CHECK(cudnnBackendSetAttribute(descriptor_, name, type, count, values));
}

void CudnnDescriptor::set_integers(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set_descriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  cudnnBackendDescriptor_t descriptor = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void CudnnDescriptor::finalise() {
  LOCKSTEP_CUDNN_CHECK(cudnnBackendFinalize(descriptor_));
}

cudnnStatus_t CudnnDescriptor::try_finalise() {
  return cudnnBackendFinalize(descriptor_);
}

std::string cudnn_error(cudnnStatus_t status) {
  std::array<char, 1024> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  std::string text = cudnnGetErrorString(status);
  if (detail[0] != '\0') text += std::string(" (") + detail.data() + ")";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

CudnnDescriptor described_gpu(const std::string& json) {
#if CUDNN_VERSION >= 91100
  CudnnDescriptor descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(json.size() + 1),
                 json.c_str());
  descriptor.finalise();
  return descriptor;
#else
  static_cast<void>(json);
  fail("cuDNN", "before 9.11 there are no engines for a GPU that is only described");
#endif
}

std::string describe(const ConvolutionProblem& problem) {
  const ConvolutionShape& s = problem.shape;
  const model::Window& w = s.window;
  const auto by = [](int a, int b) { return std::to_string(a) + "x" + std::to_string(b); };
  std::string text = problem.direction == Direction::forward         ? "forward convolution"
                     : problem.direction == Direction::data_gradient ? "data gradient of a convolution"
                                                                     : "filter gradient of a convolution";
  text += ", " + device::to_string(problem.precision) + ", " + std::to_string(s.images) + " x " +
          std::to_string(s.in_channels) + "x" + by(s.in_height, s.in_width) + " -> " + std::to_string(s.out_channels) +
          "x" + by(s.out_height, s.out_width) + ", kernel " + by(w.kernel_h, w.kernel_w) + ", stride " +
          by(w.stride_h, w.stride_w) + ", padding top " + std::to_string(w.pad_top) + " bottom " +
          std::to_string(w.pad_bottom) + " left " + std::to_string(w.pad_left) + " right " +
          std::to_string(w.pad_right);
  if (w.groups != 1) text += ", " + std::to_string(w.groups) + " groups";
  if (problem.accumulate) text += ", added to what is there";
  if (problem.has_sums) text += ", with sums of its outputs";
  return text;
}

ConvolutionEngines::ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem)
    : target_(target) {
  if (!make_graph(problem)) return;
  propose("mode A", CUDNN_HEUR_MODE_A, problem);
  recommended_ = configurations_.size();
  propose("fallback", CUDNN_HEUR_MODE_FALLBACK, problem);
}

ConvolutionEngines::ConvolutionEngines(const ConvolutionTarget& target, const ConvolutionProblem& problem,
                                       const EngineRecipe& recipe)
    : target_(target) {
  if (!make_graph(problem)) return;
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set_descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph_);
  engine.set_integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {recipe.engine});
#if CUDNN_VERSION >= 91100
  if (target_.described != nullptr) engine.set_descriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, *target_.described);
#endif
  if (is_refused("the engine is", engine.try_finalise())) return;
  CudnnDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  parts_.push_back(std::move(engine));
  std::vector<cudnnBackendDescriptor_t> choices;
  for (const auto& [type, value] : recipe.knobs) {
    CudnnDescriptor choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    choice.set_integers(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, {value});
    choice.finalise();
    choices.push_back(choice.get());
    parts_.push_back(std::move(choice));
  }
  if (!choices.empty()) {
    configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      static_cast<std::int64_t>(choices.size()), choices.data());
  }
  if (is_refused("the engine's settings are", configuration.try_finalise())) return;
  configurations_.push_back(std::move(configuration));
  recommended_ = 1;
}

std::int64_t ConvolutionEngines::questions() {
  return asked_heuristics;
}

bool ConvolutionEngines::make_graph(const ConvolutionProblem& problem) {
  const ConvolutionShape& s = problem.shape;
  const model::Window& w = s.window;
  sums_channels_ = problem.has_sums ? s.out_channels : 0;
  const cudnnDataType_t type = cudnn_type(problem.precision);
  parts_.push_back(tensor(kX, type, s.images, s.in_channels, s.in_height, s.in_width));
  parts_.push_back(tensor(kY, type, s.images, s.out_channels, s.out_height, s.out_width));
  parts_.push_back(tensor(kWeight, type, s.out_channels, s.in_channels / w.groups, w.kernel_h, w.kernel_w));
  parts_.push_back(convolution(w));

  const OperationNames names = names_of(problem.direction);
  CudnnDescriptor operation(names.type);
  const float alpha = 1;
  const float beta = problem.accumulate ? 1 : 0;
  operation.set_descriptor(names.x, parts_[0]);
  operation.set_descriptor(names.y, parts_[1]);
  operation.set_descriptor(names.weight, parts_[2]);
  operation.set_descriptor(names.convolution, parts_[3]);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &beta);
  if (is_refused("the operation is", operation.try_finalise())) return false;
  std::vector<cudnnBackendDescriptor_t> operations{operation.get()};
  if (problem.has_sums) {
    CudnnDescriptor sums = tensor(kSums, CUDNN_DATA_FLOAT, 1, s.out_channels, 1, 1);
    CudnnDescriptor squares = tensor(kSquares, CUDNN_DATA_FLOAT, 1, s.out_channels, 1, 1);
    CudnnDescriptor summing = statistics(parts_[1], sums, squares);
    if (is_refused("the sums are", summing.try_finalise())) return false;
    operations.push_back(summing.get());
    for (CudnnDescriptor* part : {&sums, &squares, &summing}) parts_.push_back(std::move(*part));
  }
  parts_.push_back(std::move(operation));

  graph_ = std::make_unique<CudnnDescriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target_.handle != nullptr) graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<std::int64_t>(operations.size()), operations.data());
  return !is_refused("the graph is", graph_->try_finalise());
}

bool ConvolutionEngines::is_refused(const std::string& what, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) remark(what + " refused: " + cudnn_error(status));
  return status != CUDNN_STATUS_SUCCESS;
}

void ConvolutionEngines::remark(const std::string& text) {
  remarks_ += (remarks_.empty() ? "" : "; ") + text;
}

void ConvolutionEngines::propose(const char* name, cudnnBackendHeurMode_t mode, const ConvolutionProblem& problem) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
#if CUDNN_VERSION >= 91100
  if (target_.described != nullptr) heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target_.described);
#endif
  ++asked_heuristics;
  cudnnStatus_t status = heuristics.try_finalise();
  std::int64_t count = 0;
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                      &count, nullptr);
  }
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> into;
  for (std::int64_t i = 0; i < count; ++i) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    into.push_back(found.back().get());
  }
  std::int64_t filled = 0;  // may be less than `count`
  if (status == CUDNN_STATUS_SUCCESS && count > 0) {
    status = cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                      count, &filled, into.data());
  }
  if (status != CUDNN_STATUS_SUCCESS) return remark(std::string(name) + ": " + cudnn_error(status));
  filled = std::min(filled, count);
  std::int64_t left_out = 0;
  for (std::int64_t i = 0; i < filled; ++i) {
    CudnnDescriptor& configuration = found[static_cast<std::size_t>(i)];
    if (is_wanted(configuration, problem.precision))
      configurations_.push_back(std::move(configuration));
    else
      ++left_out;
  }
  remark(std::string(name) + ": " + std::to_string(filled) + " engines, " + std::to_string(left_out) + " left out");
}

std::unique_ptr<ConvolutionEngines::Plan> ConvolutionEngines::plan(std::size_t index, std::string& why) const {
  CudnnDescriptor descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target_.handle != nullptr)
    descriptor.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle);
#if CUDNN_VERSION >= 91100
  if (target_.described != nullptr) descriptor.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target_.described);
#endif
  descriptor.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations_.at(index));
  cudnnStatus_t status = descriptor.try_finalise();
  std::int64_t size_bytes = 0;
  std::int64_t count = 0;
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnnBackendGetAttribute(descriptor.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                      &count, &size_bytes);
  }
  if (status == CUDNN_STATUS_SUCCESS)
    return std::make_unique<Plan>(Plan{std::move(descriptor), size_bytes, sums_channels_});
  why = cudnn_error(status);
  forget_cuda_error();
  return nullptr;
}

std::optional<std::int64_t> ConvolutionEngines::engine(std::size_t index) const {
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t into = engine.get();
  std::int64_t count = 0;
  std::int64_t number = 0;
  const bool is_told =
      cudnnBackendGetAttribute(configurations_.at(index).get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &into) == CUDNN_STATUS_SUCCESS &&
      cudnnBackendGetAttribute(into, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number) ==
          CUDNN_STATUS_SUCCESS;
  return is_told ? std::optional(number) : std::nullopt;
}

std::vector<std::size_t> ConvolutionEngines::in_turns(std::size_t begin, std::size_t end, int most) const {
  std::vector<std::size_t> first, rest;
  std::map<std::int64_t, int> settings;
  for (std::size_t i = begin; i < end; ++i) {
    const std::optional<std::int64_t> number = engine(i);
    (!number || settings[*number]++ < most ? first : rest).push_back(i);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::optional<EngineRecipe> ConvolutionEngines::recipe(std::size_t index) const {
  const cudnnBackendDescriptor_t configuration = configurations_.at(index).get();
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::vector<CudnnDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> into;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    into.push_back(choices.back().get());
  }
  const auto tells = [](cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::int64_t most, std::int64_t& count, void* values) {
    return cudnnBackendGetAttribute(of, name, type, most, &count, values) == CUDNN_STATUS_SUCCESS;
  };
  EngineRecipe recipe;
  std::int64_t count = 0;
  cudnnBackendDescriptor_t into_engine = engine.get();
  if (!tells(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, count, &into_engine) ||
      !tells(into_engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, count, &recipe.engine) ||
      !tells(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS,
             count, into.data())) {
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const cudnnBackendDescriptor_t choice = into[static_cast<std::size_t>(i)];
    cudnnBackendKnobType_t type{};
    std::int64_t value = 0;
    std::int64_t one = 0;
    if (!tells(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, one, &type) ||
        !tells(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, one, &value)) {
      return std::nullopt;
    }
    recipe.knobs.emplace_back(type, value);
  }
  return recipe;
}

cudnnStatus_t execute(cudnnHandle_t handle, const ConvolutionEngines::Plan& plan, const ConvolutionMemory& memory,
                      void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  std::vector<std::int64_t> names{kX, kY, kWeight};
  std::vector<void*> pointers{memory.x, memory.y, memory.weight};
  if (plan.sums_channels > 0) {
    names.insert(names.end(), {kSums, kSquares});
    pointers.insert(pointers.end(), {memory.sums, memory.sums + squares_offset(plan.sums_channels)});
  }
  pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
           pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalise();
  return cudnnBackendExecute(handle, plan.descriptor.get(), pack.get());
}

}  // namespace lockstep::cuda
