#include "engine/host/network.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"
#include "engine/model/memory_plan.hpp"

namespace lockstep::host {

using model::Layer;
using model::LayerKind;
using model::ParameterRole;

template <typename Scalar>
Network<Scalar>::Network(const model::Graph& graph, int batch, int threads, ArenaPool* pool)
    : graph_(graph),
      batch_(batch),
      pool_(threads),
      workspace_(threads),
      arenas_(pool != nullptr ? *pool : own_arenas_) {
  if (batch < 1) throw std::invalid_argument("a network needs a batch of at least 1");
  check_heads();
  lay_out_parameters();
  find_needed_gradients();
  plan_activations();
  connect();
  if (pool == nullptr) take_memory();
}

template <typename Scalar>
Network<Scalar>::~Network() {
  if (memory_ != nullptr) arenas_.give_back(memory_);
}

template <typename Scalar>
void Network<Scalar>::take_memory() {
  if (&arenas_ == &own_arenas_ && memory_ != nullptr) return;
  memory_ = static_cast<Scalar*>(arenas_.take(static_cast<std::size_t>(pass_bytes())));
  if (memory_ == placed_) return;
  for (const OperationPtr<Scalar>& operation : operations_) {
    if (operation) operation->place(memory_);
  }
  workspace_.place(memory_ + aligned_elements<Scalar>(activations_));
  placed_ = memory_;
}

template <typename Scalar>
void Network<Scalar>::give_memory_back() {
  if (&arenas_ == &own_arenas_) return;
  arenas_.give_back(memory_);
  memory_ = nullptr;
}

template <typename Scalar>
void Network<Scalar>::check_heads() const {
  bool head = false;
  for (const Layer& layer : graph_.layers) {
    head = head || layer.kind == LayerKind::softmax;
    for (int index : layer.inputs) {
      if (graph_.layers[index].kind != LayerKind::softmax) continue;
      throw InputError("model " + in_quotes(graph_.name) + ", layer " + in_quotes(layer.name) +
                       ": reads the softmax layer " + in_quotes(graph_.layers[index].name));
    }
  }
  if (head && graph_.layers.back().kind != LayerKind::softmax) {
    throw InputError("model " + in_quotes(graph_.name) + ": its last layer is no softmax layer, others are");
  }
}

template <typename Scalar>
void Network<Scalar>::lay_out_parameters() {
  std::int64_t parameters = 0;
  std::int64_t running = 0;
  for (const Layer& layer : graph_.layers) {
    offsets_.push_back(parameters);
    running_offsets_.push_back(running);
    parameters += layer.parameter_count();
    if (layer.kind == LayerKind::batch_norm) running += 2 * std::int64_t{layer.in.channels};
  }
  parameters_.setZero(parameters);
  gradients_.setZero(parameters);
  running_.setZero(running);
}

template <typename Scalar>
void Network<Scalar>::find_needed_gradients() {
  for (const Layer& layer : graph_.layers) {
    const bool before =
        std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int i) { return needs_gradient_[i]; });
    needs_gradient_.push_back(before || !layer.parameters.empty());
  }
}

template <typename Scalar>
void Network<Scalar>::plan_activations() {
  const model::MemoryPlan plan = model::offline_plan(graph_);
  activations_ = plan.arena_elements * batch_;
  places_.resize(graph_.layers.size());
  for (const model::Buffer& buffer : plan.buffers) {
    Place& place = places_[buffer.layer];
    (buffer.is_gradient ? place.gradient : place.values) = buffer.offset * batch_;
  }
  const Layer& last = graph_.layers.back();
  output_layer_ = last.kind == LayerKind::softmax ? last.inputs[0] : static_cast<int>(graph_.layers.size()) - 1;
}

template <typename Scalar>
Wiring<Scalar> Network<Scalar>::wiring_of(int index, std::vector<bool>& gradient_written) {
  const Layer& layer = graph_.layers[index];
  Wiring<Scalar> wiring{};
  wiring.layer = &layer;
  wiring.index = index;
  wiring.batch = batch_;
  for (int from : layer.inputs) {
    wiring.inputs.push_back({places_[from], nullptr, nullptr, gradient_written[from], graph_.layers[from].out});
    gradient_written[from] = true;
  }
  wiring.place = places_[index];
  for (int i = 0; i < static_cast<int>(layer.parameters.size()); ++i) {
    wiring.parameters[i] = parameters_.data() + offset(index, i);
    wiring.parameter_gradients[i] = gradients_.data() + offset(index, i);
  }
  wiring.running = running_.data() + running_offsets_[index];
  const bool main_head = index + 1 == static_cast<int>(graph_.layers.size());
  wiring.head_weight = static_cast<Scalar>(main_head ? 1.0 : kAuxiliaryWeight);
  wiring.workspace = &workspace_;
  wiring.pool = &pool_;
  return wiring;
}

// Goes from last to first layer, as the backward pass does: the first reader to run backward overwrites a gradient.
template <typename Scalar>
void Network<Scalar>::connect() {
  std::vector<bool> gradient_written(graph_.layers.size(), false);
  operations_.resize(graph_.layers.size());
  for (int i = static_cast<int>(graph_.layers.size()) - 1; i > 0; --i) {
    operations_[i] = make_operation(wiring_of(i, gradient_written));
    if (graph_.layers[i].kind == LayerKind::softmax) {
      heads_.insert(heads_.begin(), static_cast<Softmax<Scalar>*>(operations_[i].get()));
    }
  }
}

template <typename Scalar>
std::int64_t Network<Scalar>::inner_offset(int layer, int parameter) const {
  std::int64_t sum = 0;
  for (int i = 0; i < parameter; ++i) sum += graph_.layers[layer].parameters[i].elements;
  return sum;
}

template <typename Scalar>
bool Network<Scalar>::feeds_relu(int layer) const {
  for (int i = layer + 1; i < static_cast<int>(graph_.layers.size()); ++i) {
    const Layer& reader = graph_.layers[i];
    if (std::find(reader.inputs.begin(), reader.inputs.end(), layer) == reader.inputs.end()) continue;
    const bool stops =
        reader.kind == LayerKind::conv || reader.kind == LayerKind::fc || reader.kind == LayerKind::softmax;
    if (reader.kind == LayerKind::relu || (!stops && feeds_relu(i))) return true;
  }
  return false;
}

template <typename Scalar>
void Network<Scalar>::initialise_tensor(int layer, int parameter, std::uint64_t seed) {
  const Layer& of = graph_.layers[layer];
  const model::Parameter& tensor = of.parameters[parameter];
  Scalar* values = parameters_.data() + offset(layer, parameter);
  if (tensor.role != ParameterRole::weight) {
    std::fill_n(values, tensor.elements, tensor.role == ParameterRole::bn_gamma ? Scalar{1} : Scalar{0});
    return;
  }
  const double fan_in = static_cast<double>(tensor.elements) / of.out.channels;
  const double deviation = std::sqrt((feeds_relu(layer) ? 2 : 1) / fan_in);
  constexpr std::int64_t kBlock = 1 << 14;
  const int blocks = static_cast<int>((tensor.elements + kBlock - 1) / kBlock);
  pool_.parallel_for(blocks, [&](int block, int) {
    const std::int64_t end = std::min(tensor.elements, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) {
      values[i] = static_cast<Scalar>(deviation * random_normal(seed, static_cast<std::uint64_t>(layer), i));
    }
  });
}

template <typename Scalar>
void Network<Scalar>::initialise(std::uint64_t seed) {
  start(seed);
  for (int layer = 0; layer < static_cast<int>(graph_.layers.size()); ++layer) {
    const int tensors = static_cast<int>(graph_.layers[layer].parameters.size());
    for (int i = 0; i < tensors; ++i) initialise_tensor(layer, i, seed);
  }
}

template <typename Scalar>
void Network<Scalar>::start(std::uint64_t seed) {
  seed_ = seed;
  step_ = 0;
  for (int layer = 0; layer < static_cast<int>(graph_.layers.size()); ++layer) {
    const Layer& of = graph_.layers[layer];
    if (of.kind != LayerKind::batch_norm) continue;
    Scalar* running = running_.data() + running_offsets_[layer];
    std::fill_n(running, of.in.channels, Scalar{0});
    std::fill_n(running + of.in.channels, of.in.channels, Scalar{1});
  }
}

template <typename Scalar>
void Network<Scalar>::bring_in(const Scalar* images) {
  if (memory_ == nullptr) throw std::logic_error("model " + graph_.name + ": a pass without memory");
  std::copy_n(images, graph_.layers[0].out.elements() * batch_, memory_ + places_[0].values);
}

template <typename Scalar>
void Network<Scalar>::forward(const Scalar* images, bool training) {
  bring_in(images);
  const Step step{training, seed_, step_, nullptr};
  for (const OperationPtr<Scalar>& operation : operations_) {
    if (operation) operation->forward(step);
  }
  if (training) ++step_;
}

template <typename Scalar>
Eigen::Map<const Vector<Scalar>> Network<Scalar>::output() const {
  return {memory_ + places_[output_layer_].values, graph_.layers[output_layer_].out.elements() * batch_};
}

template <typename Scalar>
void Network<Scalar>::check_labels(const int* labels) const {
  if (heads_.empty()) throw std::logic_error("model " + graph_.name + " has no softmax layer, so no loss");
  for (const Layer& layer : graph_.layers) {
    if (layer.kind != LayerKind::softmax) continue;
    const bool known = std::all_of(labels, labels + batch_, [&](int l) { return l >= 0 && l < layer.out.elements(); });
    if (!known) throw std::invalid_argument("a label is none of the classes of " + layer.name);
  }
}

template <typename Scalar>
Scalar Network<Scalar>::loss(const int* labels) const {
  check_labels(labels);
  double sum = 0;
  for (const Softmax<Scalar>* head : heads_) sum += head->loss(labels);
  return static_cast<Scalar>(sum);
}

template <typename Scalar>
int Network<Scalar>::correct(const Scalar* images, const int* labels) {
  check_labels(labels);
  forward(images, false);
  const std::int64_t classes = graph_.layers[output_layer_].out.elements();
  int count = 0;
  for (int image = 0; image < batch_; ++image) {
    const Scalar* scores = memory_ + places_[output_layer_].values + image * classes;
    if (std::max_element(scores, scores + classes) - scores == labels[image]) ++count;
  }
  return count;
}

template <typename Scalar>
std::int64_t Network<Scalar>::pass_bytes() const {
  const std::int64_t elements = aligned_elements<Scalar>(activations_) + workspace_.elements();
  return elements * static_cast<std::int64_t>(sizeof(Scalar));
}

template <typename Scalar>
std::int64_t Network<Scalar>::memory_bytes() const {
  const std::int64_t gradients = gradients_.size() * static_cast<std::int64_t>(sizeof(Scalar));
  return gradients + (&arenas_ == &own_arenas_ ? pass_bytes() : 0);
}

template class Network<float>;
template class Network<double>;

}  // namespace lockstep::host
