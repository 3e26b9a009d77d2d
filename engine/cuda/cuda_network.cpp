#include "engine/cuda/cuda_network.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/base/text.hpp"
#include "engine/cuda/cuda_replica.hpp"
#include "engine/cuda/snapshot.hpp"

namespace lockstep::cuda {

using model::Layer;
using model::LayerKind;

namespace {

constexpr float kAuxiliaryWeight = 0.3F;  // all softmax layers except the last: engine/host/network.hpp
constexpr int kLargestAxis = 65535;       // of a launch grid's second and third dimension

Program program_of(const model::Graph& graph, const device::ReplicaOptions& options) {
  if (options.batch < 1 || options.batch > kLargestAxis) {
    throw std::invalid_argument("a CUDA replica needs a batch of 1 to 65535");
  }
  for (const Layer& layer : graph.layers) {
    if (layer.out.height <= kLargestAxis) continue;
    throw InputError("model " + in_quotes(graph.name) + ", layer " + in_quotes(layer.name) +
                     ": the CUDA backend runs images of at most 65535 rows");
  }
  return make_program(graph, options.batch, element_of(options.precision),
                      options.precision != device::Precision::fp32);
}

template <typename T>
void zero(const DeviceBuffer<T>& buffer, cudaStream_t stream) {
  if (buffer.bytes() == 0) return;
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes()), stream));
}

template <typename T>
void copy_to_device(const std::vector<T>& from, const DeviceBuffer<T>& to, cudaStream_t stream) {
  if (from.empty()) return;
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
}

}  // namespace

CudaReplica::CudaReplica(const model::Graph& graph, const device::ReplicaOptions& options, const DeviceStreams& streams)
    : graph_(graph),
      options_(options),
      streams_(streams),
      element_(element_of(options.precision)),
      program_(program_of(graph, options)),
      packing_(make_packing(graph, program_.input_channels)),
      staging_(streams.device, options.batch, graph.input.elements(), graph.input.channels),
      buckets_(gradient_buckets(graph, program_, packing_, streams.parts != nullptr ? options.bucket_bytes : 0)),
      bucket_graphs_(buckets_.size()) {
  cudnn_ = std::make_unique<CudnnHandle>(stream_);
  cublas_ = std::make_unique<CublasHandle>();
  convolutions_ = std::make_unique<ConvolutionSolvers>(*cudnn_, stream_, streams.device, options.is_self_checked);
  allocate();
  const bool scaled = options.precision == device::Precision::fp16;
  start_state(state_.data(), scaled ? kFirstLossScale : 1, scaled, stream_);
  upload_segments();
  connect();
  allocate_working_memory();
  if (streams_.parts != nullptr) {
    streams_.parts->gradient = gradient_.data();
    for (const GradientBucket& bucket : buckets_) streams_.parts->parts.emplace_back(bucket.begin, bucket.count);
  }
  stream_.synchronise();
}

CudaReplica::~CudaReplica() {
  const OnDevice on_device(streams_.device, std::nothrow);
  cudaStreamSynchronize(stream_);
  timed_.reset();
  operations_.clear();
  convolutions_.reset();
  cublas_.reset();
  cudnn_.reset();
}

void CudaReplica::allocate() {
  std::int64_t running = 0;
  for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
    running_offsets_.push_back(running);
    if (graph_.layers[i].kind == LayerKind::batch_norm) running += 2 * std::int64_t{graph_.layers[i].in.channels};
  }
  arena_ = DeviceBuffer<char>(program_.arena_bytes);
  elements_ = DeviceBuffer<char>(packing_.elements * element_bytes(element_));
  element_gradients_ = DeviceBuffer<char>(packing_.elements * element_bytes(element_));
  reals_ = DeviceBuffer<float>(packing_.reals);
  real_gradients_ = DeviceBuffer<float>(packing_.reals);
  gradient_ = DeviceBuffer<float>(graph_.parameter_count());
  running_ = DeviceBuffer<float>(running);
  losses_ = DeviceBuffer<float>(std::int64_t{program_.heads} * options_.batch);
  labels_ = DeviceBuffer<std::int32_t>(options_.batch);
  state_ = DeviceBuffer<PassState>(1);
  for (const DeviceBuffer<char>* buffer : {&arena_, &elements_, &element_gradients_}) {
    zero(*buffer, stream_);  // also sets padded channels, which nothing writes later
  }
  for (const DeviceBuffer<float>* buffer : {&reals_, &real_gradients_, &gradient_, &losses_}) zero(*buffer, stream_);
  zero(labels_, stream_);

  std::vector<float> statistics(static_cast<std::size_t>(running), 0.0F);
  for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
    if (graph_.layers[i].kind != LayerKind::batch_norm) continue;
    const int channels = graph_.layers[i].in.channels;
    std::fill_n(statistics.begin() + running_offsets_[i] + channels, channels, 1.0F);
  }
  copy_to_device(statistics, running_, stream_);
}

void CudaReplica::upload_segments() {
  pack_segments_ = DeviceBuffer<Segment>(static_cast<std::int64_t>(packing_.pack.size()));
  unpack_segments_ = DeviceBuffer<Segment>(static_cast<std::int64_t>(packing_.unpack.size()));
  copy_to_device(packing_.pack, pack_segments_, stream_);
  copy_to_device(packing_.unpack, unpack_segments_, stream_);
}

Tensor CudaReplica::values_of(int layer) const {
  const model::Shape& shape = graph_.layers[static_cast<std::size_t>(layer)].out;
  return {arena_.data() + program_.values[static_cast<std::size_t>(layer)].offset_bytes, options_.batch, shape.height,
          shape.width, layer == 0 ? program_.input_channels : shape.channels};
}

void* CudaReplica::gradient_of(int layer) const {
  const MemorySlot& slot = program_.gradients[static_cast<std::size_t>(layer)];
  return slot.bytes == 0 ? nullptr : arena_.data() + slot.offset_bytes;
}

Connections CudaReplica::connections_of(const Step& step, int head) {
  const auto index = static_cast<std::size_t>(step.layer);
  const Layer& layer = graph_.layers[index];
  Connections c{};
  c.machine = &machine_;
  c.layer = &layer;
  c.index = step.layer;
  c.relu = step.relu;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    c.inputs.push_back({values_of(step.inputs[i]), gradient_of(step.inputs[i]), step.writes[i]});
  }
  if (step.kind == LayerKind::softmax) {
    c.losses = losses_.data() + std::int64_t{head} * options_.batch;
    c.head_weight = index + 1 == graph_.layers.size() ? 1 : kAuxiliaryWeight;
    return c;
  }
  // cuDNN 9.19 has such engines for fp16 only.
  if (step.summed && options_.precision == device::Precision::fp16) c.sums = &sums_[step.output];
  if (const auto found = sums_.find(step.inputs.front()); step.kind == LayerKind::batch_norm && found != sums_.end())
    c.sums = &found->second;
  c.output = values_of(step.output);
  c.gradient = gradient_of(step.output);
  c.running = running_.data() + running_offsets_[index];
  std::size_t vectors = 0;
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    const PackedParameter& place = packing_.parameters[index][i];
    if (layer.parameters[i].role == model::ParameterRole::weight) {
      c.weight = elements_.data() + place.element * element_bytes(element_);
      c.weight_gradient = element_gradients_.data() + place.element * element_bytes(element_);
      continue;
    }
    if (place.element >= 0) c.bias_elements = elements_.data() + place.element * element_bytes(element_);
    c.vectors[vectors] = reals_.data() + place.real;
    c.vector_gradients[vectors++] = real_gradients_.data() + place.real;
  }
  return c;
}

void CudaReplica::connect() {
  machine_.precision = options_.precision;
  machine_.element = element_;
  machine_.batch = options_.batch;
  machine_.seed = options_.seed;
  machine_.stream = stream_;
  machine_.cublas = *cublas_;
  machine_.convolutions = convolutions_.get();
  machine_.state = state_.data();
  machine_.labels = labels_.data();
  int head = 0;
  for (const Step& step : program_.steps) {
    operations_.push_back(make_layer_operation(connections_of(step, head)));
    if (step.kind == LayerKind::softmax) ++head;
  }
}

void CudaReplica::allocate_working_memory() {
  workspace_ = DeviceBuffer<char>(machine_.workspace_bytes);
  scratch_ = DeviceBuffer<char>(machine_.scratch_bytes);
  partials_ = DeviceBuffer<float>(machine_.partial_count);
  machine_.workspace = workspace_.data();
  machine_.scratch = scratch_.data();
  machine_.partials = partials_.data();
}

void CudaReplica::check_labels(const std::int32_t* labels, int count) const {
  for (const Layer& layer : graph_.layers) {
    if (layer.kind != LayerKind::softmax) continue;
    const bool known =
        std::all_of(labels, labels + count, [&](std::int32_t l) { return l >= 0 && l < layer.out.elements(); });
    if (!known) throw std::invalid_argument("a label is none of the classes of " + layer.name);
  }
}

void CudaReplica::bring_in(const float* parameters, const device::HostBatch& batch, int count, std::uint64_t step) {
  Staged staged = staging_.push(batch, count, stream_);
  staged.parameters = parameters;
  staged.step = step;
  started_.record(streams_.updates);
  started_.hold(stream_);
  stage_input(element_, staged, values_of(0), graph_.input.channels, labels_.data(), state_.data(), stream_);
  staging_.done(stream_);
}

void CudaReplica::pack() {
  pack_parameters(element_, {pack_segments_.data(), static_cast<int>(pack_segments_.size()), packing_.pack_blocks},
                  state_.data(), elements_.data(), reals_.data(), stream_);
}

void CudaReplica::training_pass(LayerTimer* timer) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) training_section(b, timer);
}

void CudaReplica::training_section(std::size_t number, LayerTimer* timer) {
  const GradientBucket& bucket = buckets_[number];
  const bool is_last = number + 1 == buckets_.size();
  const std::size_t begin = number == 0 ? operations_.size() : buckets_[number - 1].last_step;
  if (number == 0) {
    pack();
    if (timer != nullptr) timer->start();
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      operations_[i]->forward(true);
      if (timer != nullptr) timer->mark(program_.steps[i].layer, device::LayerPart::forward);
    }
  }
  for (std::size_t i = begin; i-- > (is_last ? 0 : bucket.last_step);) {
    if (program_.steps[i].backward) backward(i, timer);
  }
  if (is_last) sum_losses(losses_.data(), static_cast<int>(losses_.size()), state_.data(), stream_);
  unpack_gradients(element_,
                   {unpack_segments_.data() + bucket.first_segment, bucket.segments, bucket.blocks, bucket.first_block},
                   element_gradients_.data(), real_gradients_.data(), gradient_.data(), state_.data(), stream_);
  if (is_last && element_ == Element::f16)
    settle_loss_scale(gradient_.data(), gradient_.size(), state_.data(), stream_);
}

void CudaReplica::backward(std::size_t step, LayerTimer* timer) {
  if (timer == nullptr) {
    operations_[step]->backward();
    return;
  }
  const Step& timed = program_.steps[step];
  const bool is_product = timed.kind == LayerKind::conv || timed.kind == LayerKind::fc;
  device::LayerPart rest = is_product ? device::LayerPart::backward_filter : device::LayerPart::backward;
  machine_.filter_done = [&] {
    timer->mark(timed.layer, device::LayerPart::backward_filter);
    rest = device::LayerPart::backward_data;
  };
  operations_[step]->backward();
  machine_.filter_done = nullptr;
  timer->mark(timed.layer, rest);
}

void CudaReplica::evaluation_pass() {
  pack();
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (program_.steps[i].evaluated) operations_[i]->forward(false);
  }
}

const float* CudaReplica::gradient(const float* parameters, const device::HostBatch& batch, std::uint64_t step) {
  const OnDevice on_device(streams_.device);
  check_labels(batch.labels, options_.batch);
  bring_in(parameters, batch, options_.batch, step);
  const bool is_first_replay = options_.is_self_checked && bucket_graphs_.front().is_to_capture();
  if (is_first_replay) run_first_replay();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (!is_first_replay) bucket_graphs_[b].run(stream_, [this, b] { training_section(b); });
    if (streams_.parts != nullptr) streams_.parts->parts[b].complete.record(stream_);
  }
  finished_.record(stream_);
  finished_.hold(streams_.updates);
  return gradient_.data();
}

std::vector<device::LayerTime> CudaReplica::time_layers(const float* parameters, const device::HostBatch& batch,
                                                        std::uint64_t step) {
  const OnDevice on_device(streams_.device);
  check_labels(batch.labels, options_.batch);
  bring_in(parameters, batch, options_.batch, step);
  if (!timed_) {
    timed_ = std::make_unique<TimedPass>(stream_);
    const Snapshot before(*this);
    training_pass();  // loads the kernels
    before.restore();
    stream_.synchronise();
  }
  std::vector<device::LayerTime> times = timed_->run([this](LayerTimer& timer) { training_pass(&timer); });
  finished_.record(stream_);
  finished_.hold(streams_.updates);
  return times;
}

double CudaReplica::loss() {
  const OnDevice on_device(streams_.device);
  PassState state{};
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(&state, state_.data(), sizeof(state), cudaMemcpyDeviceToHost, stream_));
  stream_.synchronise();
  return state.loss;
}

int CudaReplica::correct(const float* parameters, const device::HostBatch& batch, int count) {
  if (count < 0 || count > options_.batch) throw std::invalid_argument("correct: more images than a batch has");
  if (count == 0) return 0;
  const OnDevice on_device(streams_.device);
  check_labels(batch.labels, count);
  bring_in(parameters, batch, count, 0);
  evaluation_.run(stream_, [this] { evaluation_pass(); });
  const Tensor scores = values_of(program_.logits);
  count_correct(element_, {scores.data, count, static_cast<int>(scores.pixels()), scores.channels}, labels_.data(),
                state_.data(), stream_);
  PassState state{};
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(&state, state_.data(), sizeof(state), cudaMemcpyDeviceToHost, stream_));
  stream_.synchronise();
  return state.correct;
}

void CudaReplica::set_loss_scale(double scale) {
  if (options_.precision != device::Precision::fp16) return;
  const OnDevice on_device(streams_.device);
  cuda::set_loss_scale(state_.data(), static_cast<float>(scale), stream_);
}

std::vector<float> CudaReplica::running_statistics() {
  const OnDevice on_device(streams_.device);
  std::vector<float> statistics(static_cast<std::size_t>(running_.size()));
  if (statistics.empty()) return statistics;
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(statistics.data(), running_.data(), static_cast<std::size_t>(running_.bytes()),
                                      cudaMemcpyDeviceToHost, stream_));
  stream_.synchronise();
  return statistics;
}

void CudaReplica::set_running_statistics(const std::vector<float>& statistics) {
  if (static_cast<std::int64_t>(statistics.size()) != running_.size()) {
    throw std::invalid_argument("running statistics: " + std::to_string(running_.size()) + " numbers, not " +
                                std::to_string(statistics.size()));
  }
  const OnDevice on_device(streams_.device);
  copy_to_device(statistics, running_, stream_);
}

std::int64_t CudaReplica::memory_bytes() const {
  std::int64_t sum = staging_.memory_bytes();
  for (const DeviceBuffer<char>* buffer : {&arena_, &elements_, &element_gradients_, &workspace_, &scratch_}) {
    sum += buffer->bytes();
  }
  for (const DeviceBuffer<float>* buffer : {&reals_, &real_gradients_, &gradient_, &running_, &losses_, &partials_}) {
    sum += buffer->bytes();
  }
  sum += labels_.bytes() + state_.bytes() + pack_segments_.bytes() + unpack_segments_.bytes();
  for (const auto& [layer, sums] : sums_) sum += sums.memory.bytes();
  for (const LayerOperationPtr& operation : operations_) sum += operation->memory_bytes();
  return sum;
}

std::vector<std::string> CudaReplica::fallbacks() const {
  std::vector<std::string> lines = convolutions_->fallbacks();
  for (const LayerOperationPtr& operation : operations_) {
    const std::string line = operation->slow_path();
    if (!line.empty()) lines.push_back(line);
  }
  for (const PassGraph& graph : bucket_graphs_) {
    if (graph.refusal().empty()) continue;
    lines.push_back("training pass without a CUDA graph: " + graph.refusal());
    break;
  }
  if (!evaluation_.refusal().empty()) lines.push_back("evaluation pass without a CUDA graph: " + evaluation_.refusal());
  return lines;
}

std::string CudaReplica::self_check_text() const {
  return convolutions_->self_check_text();
}

void CudaReplica::disable_graphs() {
  const OnDevice on_device(streams_.device);
  stream_.synchronise();
  for (PassGraph& graph : bucket_graphs_) graph.disable();
  evaluation_.disable();
}

std::unique_ptr<device::Replica> make_cuda_replica(const model::Graph& graph, const device::ReplicaOptions& options,
                                                   const DeviceStreams& streams) {
  const OnDevice on_device(streams.device);
  return std::make_unique<CudaReplica>(graph, options, streams);
}

}  // namespace lockstep::cuda
