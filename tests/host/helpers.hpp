#pragma once
// Random inputs and central finite differences for networks in double.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/host/level.hpp"
#include "engine/host/network.hpp"

namespace lockstep::host {

template <typename Scalar>
std::vector<Scalar> random_values(std::int64_t count, std::uint64_t stream) {
  std::vector<Scalar> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<Scalar>(random_normal(99, stream, i)));
  return values;
}

inline std::vector<int> random_labels(int batch, std::int64_t classes) {
  std::vector<int> labels;
  for (int i = 0; i < batch; ++i) labels.push_back(static_cast<int>(random_bits(98, 0, i) % classes));
  return labels;
}

/// Makes a window with the same kernel, stride and padding on both axes.
inline model::Window square(int kernel, int stride = 1, int pad = 0) {
  model::Window w;
  w.kernel_h = w.kernel_w = kernel;
  w.stride_h = w.stride_w = stride;
  w.pad_top = w.pad_bottom = w.pad_left = w.pad_right = pad;
  return w;
}

/// Returns the levels that this machine supports.
inline std::vector<Level> levels_here() {
  std::vector<Level> levels{Level::any};
  for (const Level level : {Level::v3, Level::v4})
    if (level <= best_level()) levels.push_back(level);
  return levels;
}

/// Selects oneDNN or not, and a level, during its lifetime.
class Build {
 public:
  explicit Build(Level level, bool onednn = false) {
    use_level(level);
    use_onednn(onednn);
  }
  ~Build() {
    use_level(best_level());
    use_onednn(true);
  }
  Build(const Build&) = delete;
  Build& operator=(const Build&) = delete;
};

/// Holds a network with random images and labels.
template <typename Scalar>
struct Subject {
  Subject(const model::Graph& graph, int batch, int threads = 1)
      : network(graph, batch, threads),
        images(random_values<Scalar>(graph.input.elements() * batch, 1)),
        labels(random_labels(batch, graph.layers.back().out.elements())) {
    network.initialise(7);
  }
  Scalar loss() {
    network.set_step(3);
    network.forward(images.data(), true);
    return network.loss(labels.data());
  }
  Scalar loss_and_gradients() {
    network.set_step(3);
    return network.loss_and_gradients(images.data(), labels.data());
  }
  /// Returns (loss(x + h v) - loss(x - h v)) / 2 h.
  Scalar slope(const Vector<Scalar>& v, Scalar h) {
    const Vector<Scalar> start = network.parameters();
    network.parameters() = start + h * v;
    const Scalar above = loss();
    network.parameters() = start - h * v;
    const Scalar below = loss();
    network.parameters() = start;
    return (above - below) / (2 * h);
  }

  Network<Scalar> network;
  std::vector<Scalar> images;
  std::vector<int> labels;
};

/// Returns |gradient - finite differences| / |finite differences| over all parameters of a small graph, in training
/// mode.
inline double gradient_error(const model::Graph& graph, int batch) {
  Subject<double> subject(graph, batch, 2);
  const Vector<double> noise = Eigen::Map<const Vector<double>>(
      random_values<double>(graph.parameter_count(), 2).data(), graph.parameter_count());
  subject.network.parameters() += 0.1 * noise;  // so that biases, gamma and beta have no special values
  subject.loss_and_gradients();
  const Vector<double> gradients = subject.network.gradients();
  Vector<double> differences(gradients.size());
  for (Eigen::Index i = 0; i < differences.size(); ++i) {
    differences[i] = subject.slope(Vector<double>::Unit(differences.size(), i), 1e-5);
  }
  return (gradients - differences).norm() / differences.norm();
}

}  // namespace lockstep::host
