#pragma once
// Small graphs that together contain every layer and every grouping of layers. A replica and host networks compute the
// same pass of each.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/cuda_replica.hpp"
#include "engine/host/network.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::cuda {

using Floats = std::vector<float>;
using model::Graph;
using model::GraphBuilder;
using model::Window;

inline Window window(int kernel, int stride, int pad, bool ceil = false) {
  Window w = host::square(kernel, stride, pad);
  w.ceil = ceil;
  return w;
}

inline Graph with_loss(GraphBuilder& net, int at) {
  net.softmax("loss", net.fc("scores", at, 5));
  return net.finish();
}

/// Returns each graph once with channel counts that fill vectors and once with others.
inline std::vector<Graph> layer_graphs() {
  std::vector<Graph> graphs;
  for (int c : {8, 6}) {
    const std::string tag = std::to_string(c);
    const auto start = [&](const std::string& name) { return GraphBuilder(name + tag, name, {3, 9, 7}); };
    {
      GraphBuilder net = start("convolutions");
      Window odd = window(3, 1, 1);
      odd.kernel_w = 2;
      odd.stride_h = 2;
      odd.pad_bottom = 0;
      int at = net.conv("bias", 0, c, odd, true);
      at = net.relu("relu", net.conv("rectified", at, 2 * c, window(3, 1, 1), true));
      Window groups = window(3, 1, 1);
      groups.groups = 2;
      at = net.relu("relu2", net.conv("grouped", at, c, groups, false));
      graphs.push_back(with_loss(net, net.conv("one", at, c, window(1, 1, 0), false)));
    }
    {
      GraphBuilder net = start("batch_norms");
      int at = net.batch_norm("first", 0);
      at = net.relu("relu", net.batch_norm("bn", net.conv("conv", at, c, window(3, 1, 1), true)));
      at = net.batch_norm("after_relu", at);
      graphs.push_back(with_loss(net, net.relu("relu2", net.batch_norm("vector", net.fc("fc", at, 2 * c)))));
    }
    {
      GraphBuilder net = start("residuals");
      const int stem = net.relu("relu", net.batch_norm("bn", net.conv("stem", 0, c, window(3, 1, 1), false)));
      int at = net.batch_norm("a/bn", net.conv("a/conv", stem, c, window(3, 1, 1), false));
      at = net.relu("a/relu", net.add("a/add", {at, stem}));  // the identity
      const int wide = net.batch_norm("b/bn", net.conv("b/conv", at, 2 * c, window(1, 2, 0), false));
      const int skip = net.batch_norm("b/skip_bn", net.conv("b/skip", at, 2 * c, window(1, 2, 0), false));
      at = net.relu("b/relu", net.add("b/add", {wide, skip}));  // a projection
      at = net.add("c/add", {net.batch_norm("c/bn", at), at});  // a batch norm and its own input
      at = net.add("d/add", {at, net.batch_norm("d/bn", net.conv("d/conv", at, 2 * c, window(1, 1, 0), false))});
      const int other = net.conv("e", at, 2 * c, window(1, 1, 0), false);
      at = net.relu("e/relu", net.add("e/add", {at, other, net.relu("e/third", other)}));
      graphs.push_back(with_loss(net, net.add("f/add", {at, at, at})));
    }
    {
      GraphBuilder net = start("pools");
      int at = net.conv("conv", 0, c, window(1, 1, 0), true);
      const int most = net.max_pool("max", at, window(3, 2, 1));
      const int mean = net.avg_pool("mean", at, window(3, 2, 1));
      at = net.concat("concat", {most, mean, net.relu("relu", mean)});
      at = net.max_pool("ceil", at, window(2, 2, 0, true));
      Window all = window(3, 1, 0);
      all.kernel_w = 2;
      at = net.concat("both", {net.global_avg_pool("global", at), net.max_pool("all", at, all)});
      graphs.push_back(with_loss(net, at));
    }
    {
      GraphBuilder net = start("others");
      int at = net.lrn("lrn", net.conv("conv", 0, c, window(3, 1, 1), true));
      at = net.dropout("drop", net.subsample("sub", at, 2 * c, 2));
      at = net.lrn("lrn2", net.conv("conv2", at, 3, window(1, 1, 0), true));
      at = net.dropout("drop2", net.relu("relu", net.fc("fc", at, 64 + c, false)));
      graphs.push_back(with_loss(net, at));
    }
    {
      GraphBuilder net = start("heads");
      const int shared = net.conv("conv", 0, c, window(3, 1, 0), true);
      net.softmax("side", net.conv("side/scores", shared, 2, window(5, 2, 0), true));  // classes over pixels
      const int rectified = net.relu("relu", shared);
      net.softmax("second", net.fc("second/scores", rectified, 7));
      graphs.push_back(with_loss(net, net.max_pool("pool", shared, window(2, 2, 0))));
    }
  }
  return graphs;
}

/// Puts each kind of layer directly before the loss (after a convolution, if it has no parameters). Values are rounded
/// only once or twice. So lower precisions show their own error, not how much a network amplifies it.
inline std::vector<Graph> single_layer_graphs() {
  std::vector<Graph> graphs;
  const auto add = [&](const std::string& name, int channels, const auto& build) {
    GraphBuilder net(name, name, {channels, 8, 6});
    net.softmax("loss", build(net));
    graphs.push_back(net.finish());
  };
  for (int in : {3, 8}) {
    add("conv", in, [](GraphBuilder& net) { return net.conv("conv", 0, 8, window(3, 1, 1), true); });
    add("conv_relu", in,
        [](GraphBuilder& net) { return net.relu("relu", net.conv("conv", 0, 16, window(3, 2, 1), false)); });
    add("fc", in, [](GraphBuilder& net) { return net.relu("relu", net.fc("fc", 0, 24)); });
    add("bn", in, [](GraphBuilder& net) { return net.relu("relu", net.batch_norm("bn", 0)); });
  }
  const auto behind = [&](const std::string& name, const auto& build) {
    add(name, 8, [&](GraphBuilder& net) { return build(net, net.conv("conv", 0, 8, window(1, 1, 0), false)); });
  };
  behind("max", [](GraphBuilder& net, int at) { return net.max_pool("max", at, window(3, 2, 1)); });
  behind("avg", [](GraphBuilder& net, int at) { return net.avg_pool("avg", at, window(3, 2, 1)); });
  behind("global", [](GraphBuilder& net, int at) { return net.global_avg_pool("global", at); });
  behind("lrn", [](GraphBuilder& net, int at) { return net.lrn("lrn", at); });
  behind("drop", [](GraphBuilder& net, int at) { return net.dropout("drop", at); });
  behind("subsample", [](GraphBuilder& net, int at) { return net.subsample("sub", at, 16, 2); });
  behind("residual", [](GraphBuilder& net, int at) {
    const int other = net.conv("other", 0, 8, window(3, 1, 1), false);
    return net.relu("relu", net.add("add", {net.batch_norm("bn", at), other}));
  });
  behind("concat", [](GraphBuilder& net, int at) {
    return net.concat("concat", {at, net.conv("other", 0, 16, window(3, 1, 1), true)});
  });
  return graphs;
}

/// Returns a model of the zoo for tests of whole passes. On the emulated GPU it is a small one of its kind, with ten
/// classes, and sixteen channels in the first batch norm if it has any.
inline Graph model_for_passes(const std::string& name) {
#ifdef LOCKSTEP_EMULATED_GPU
  GraphBuilder net(name, name, {3, 8, 8});
  int at = 0;
  if (name.find("resnet") != std::string::npos) {
    at = net.relu("relu", net.batch_norm("bn", net.conv("conv", 0, 16, window(3, 1, 1), false)));
    const int inside = net.batch_norm("b/bn", net.conv("b/conv", at, 16, window(1, 1, 0), false));
    at = net.global_avg_pool("pool", net.relu("b/relu", net.add("b/add", {inside, at})));
  } else {
    at = net.max_pool("pool", net.relu("relu", net.conv("conv", 0, 8, window(3, 1, 1), true)), window(2, 2, 0));
    at = net.dropout("drop", net.relu("relu2", net.fc("fc", at, 24)));
  }
  net.softmax("loss", net.fc("scores", at, 10));
  return net.finish();
#else
  return model::zoo_graph(name);
#endif
}

/// Makes a zoo model with the smallest image size that it takes.
inline Graph small_zoo_graph(const std::string& name) {
  const Graph original = model::zoo_graph(name);
  for (int size : {32, 64, 80, 96, 128}) {
    if (size >= original.input.height) break;
    Json json = model::to_json(original);
    json["input"] = {original.input.channels, size, size};
    try {
      const JsonDocument document = JsonDocument::parse(json.dump(), name);
      return model::graph_from_json(document.root());
    } catch (const InputError&) {
    }
  }
  return original;
}

/// The distance of a gradient from the expected one: the maximum over parameter tensors of
///   |actual - expected|_2 / |expected|_2   and   |actual - expected|_max / |expected|_max.
/// A tensor's norms count for at least a hundredth of those of the whole gradient.
struct Difference {
  double worst = 0;
  std::string where;
};
template <typename Values>
Difference difference(const Graph& graph, const Values& actual, const std::vector<double>& expected) {
  const auto larger = [](double a, double b) { return std::max(a, std::abs(b)); };
  double all = 0;
  double all_squares = 0;
  for (double value : expected) {
    all = larger(all, value);
    all_squares += value * value;
  }
  Difference found;
  std::size_t begin = 0;
  for (const model::Layer& layer : graph.layers) {
    for (const model::Parameter& parameter : layer.parameters) {
      double largest = 0.01 * all;
      double error = 0;
      double squares = 0;
      double error_squares = 0;
      for (std::size_t i = begin; i < begin + static_cast<std::size_t>(parameter.elements); ++i) {
        const double off = std::abs(static_cast<double>(actual[i]) - expected[i]);
        error = std::isfinite(off) ? std::max(error, off) : HUGE_VAL;
        largest = larger(largest, expected[i]);
        squares += expected[i] * expected[i];
        error_squares += off * off;
      }
      begin += static_cast<std::size_t>(parameter.elements);
      const double by_norm = std::sqrt(error_squares / std::max(squares, 1e-4 * all_squares));
      const double by_element = error / largest;
      const double off = by_norm > by_element ? by_norm : by_element;  // infinite if an element is NaN
      if (off <= found.worst) continue;
      found = {off, parameter.name};
    }
  }
  return found;
}

/// Returns the cosine of the angle between two gradients.
template <typename Values>
double alignment(const Values& a, const std::vector<double>& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    ab += x * b[i];
    aa += x * x;
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

/// Returns a value that every precision represents exactly. It has 8 significant bits, as bf16, and is a multiple of
/// 2^-22, as fp16 below its normal numbers.
inline float coarse(float value) {
  constexpr int kLeastExponent = -14;
  int exponent = 0;
  std::frexp(value, &exponent);
  const float step = std::ldexp(1.0F, std::max(exponent, kLeastExponent) - 8);
  return step * std::round(value / step);
}

/// Makes the branches of residual blocks small compared with the sums to which they are added: multiplies by 1/8 the
/// gamma of every batch norm that a sum reads, except projections. With gammas of 1 and a small batch, a deep residual
/// network is chaotic. Noise of 2^-11 on its parameters turns ResNet-50's gradient by 60 degrees, 2^-8 by 86, in double
/// precision, too. Its gradients of 70 overflow in fp16. With 1/8 the angles are 6 and 17 degrees.
inline void weaken_residual_branches(const Graph& graph, Floats& parameters) {
  const auto is_branch = [&](int index) {
    const model::Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    if (layer.kind != model::LayerKind::batch_norm || layer.name.find("shortcut") != std::string::npos) return false;
    return std::any_of(graph.layers.begin(), graph.layers.end(), [&](const model::Layer& reader) {
      return reader.kind == model::LayerKind::add &&
             std::find(reader.inputs.begin(), reader.inputs.end(), index) != reader.inputs.end();
    });
  };
  auto at = parameters.begin();
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const bool weak = is_branch(static_cast<int>(i));
    for (const model::Parameter& parameter : graph.layers[i].parameters) {
      const auto end = at + parameter.elements;
      if (weak && parameter.role == model::ParameterRole::bn_gamma)
        std::transform(at, end, at, [](float gamma) { return gamma / 8; });
      at = end;
    }
  }
}

/// Returns values on a device; the copy is complete. A plain cudaMemcpy() may return earlier, and our streams do not
/// wait for the default stream that it uses.
inline DeviceBuffer<float> on_device(const Floats& values, cudaStream_t stream) {
  DeviceBuffer<float> buffer(static_cast<std::int64_t>(values.size()));
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(buffer.data(), values.data(), static_cast<std::size_t>(buffer.bytes()),
                                      cudaMemcpyHostToDevice, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
  return buffer;
}

/// Holds the same parameters, images and labels for a replica and for host networks.
class Pair {
 public:
  enum class Branches { as_strong, weak };
  Pair(Graph of, int batch_size, device::Precision precision, Branches branches = Branches::as_strong)
      : graph(std::move(of)), batch(batch_size), start_(graph, batch) {
    start_.initialise(kSeed);
    const auto noise = host::random_values<float>(graph.parameter_count(), 2);
    for (std::size_t i = 0; i < noise.size(); ++i) {
      parameters.push_back(coarse(start_.parameters()[static_cast<Eigen::Index>(i)] + 0.02F * noise[i]));
    }
    if (branches == Branches::weak) weaken_residual_branches(graph, parameters);
    for (float value : host::random_values<float>(graph.input.elements() * batch, 1)) images.push_back(coarse(value));
    std::int64_t classes = graph.layers.back().out.elements();
    for (const model::Layer& layer : graph.layers) {
      if (layer.kind == model::LayerKind::softmax) classes = std::min(classes, layer.out.elements());
    }
    labels = host::random_labels(batch, classes);
    device_parameters = on_device(parameters, updates);
    replica = make(precision);
  }

  std::unique_ptr<CudaReplica> make(device::Precision precision) const {
    device::ReplicaOptions options;
    options.batch = batch;
    options.precision = precision;
    options.seed = kSeed;
    return std::make_unique<CudaReplica>(graph, options, DeviceStreams{0, updates});
  }
  device::HostBatch host_batch() const { return {images.data(), labels.data()}; }

  /// Reads an array of a replica, on the stream of the updates.
  Floats read(const float* gradient) const {
    Floats values(parameters.size());
    LOCKSTEP_CUDA_CHECK(
        cudaMemcpyAsync(values.data(), gradient, values.size() * sizeof(float), cudaMemcpyDeviceToHost, updates));
    updates.synchronise();
    return values;
  }
  Floats gradient(CudaReplica& of, std::uint64_t step) const {
    return read(of.gradient(device_parameters.data(), host_batch(), step));
  }

  template <typename Scalar>
  std::unique_ptr<host::Network<Scalar>> host_network(std::uint64_t step, int threads = 2) const {
    auto network = std::make_unique<host::Network<Scalar>>(graph, batch, threads);
    network->start(kSeed);
    network->set_step(step);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      network->parameters()[static_cast<Eigen::Index>(i)] = static_cast<Scalar>(parameters[i]);
    }
    return network;
  }
  template <typename Scalar>
  std::vector<Scalar> host_images() const {
    return std::vector<Scalar>(images.begin(), images.end());
  }

  static constexpr std::uint64_t kSeed = 7;
  Graph graph;
  int batch;
  Floats parameters, images;
  std::vector<std::int32_t> labels;
  OnDevice on_first{0};
  Stream updates;
  DeviceBuffer<float> device_parameters;
  std::unique_ptr<CudaReplica> replica;

 private:
  host::Network<float> start_;
};

template <typename Scalar>
std::vector<double> as_doubles(const Eigen::Ref<host::Vector<Scalar>>& values) {
  std::vector<double> result;
  for (Eigen::Index i = 0; i < values.size(); ++i) result.push_back(static_cast<double>(values[i]));
  return result;
}

}  // namespace lockstep::cuda
