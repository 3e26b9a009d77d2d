// Times training steps on the CPU. For LeNet it gives images/s, also as a fraction of two upper bounds. The bounds are
// measured alternately with the steps, so that other load affects both. Each is the time of a step's matrix products
// only, each over the whole batch of a thread:
//   of_gemm   with the products that the network uses (oneDNN if the build has it)
//   of_eigen  with plain Eigen, compiled like this file
// A layer's products are its output, its weight gradient, and its input gradient if that is needed.
//   build/bench_host
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>

#include "engine/host/gemm.hpp"
#include "engine/host/level.hpp"
#include "engine/host/network.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::host;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Product {
  explicit Product(const GemmSize& of)
      : size(of), a(Matrix::Random(of.rows, of.inner)), b(Matrix::Random(of.inner, of.cols)), c(of.rows, of.cols) {}
  GemmSize size;
  Matrix a, b, c;
};

/// Returns the matrix products of one thread for its share of the batch.
std::vector<Product> products_of(const model::Graph& graph, int images) {
  std::vector<Product> products;
  bool parameters_before = false;
  for (const model::Layer& layer : graph.layers) {
    if (layer.macs == 0) continue;
    const std::int64_t rows = layer.out.channels;
    const std::int64_t cols = std::int64_t{layer.out.height} * layer.out.width * images;
    const std::int64_t inner = layer.parameters[0].elements / rows;
    products.emplace_back(GemmSize{rows, cols, inner});
    products.emplace_back(GemmSize{rows, inner, cols});
    if (parameters_before) products.emplace_back(GemmSize{inner, cols, rows});
    parameters_before = true;
  }
  return products;
}

template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void lenet_step(benchmark::State& state) {
  const int batch = static_cast<int>(state.range(0));
  const int threads = static_cast<int>(state.range(1));
  const model::Graph graph = model::zoo_graph("lenet_crossbow");
  Network<float> network(graph, batch, threads);
  network.initialise(1);
  const Vector<float> images = Vector<float>::Random(graph.input.elements() * batch);
  const std::vector<int> labels(batch, 1);
  ThreadPool pool(threads);
  std::vector<std::vector<Product>> products;
  for (int i = 0; i < threads; ++i) products.push_back(products_of(graph, batch / threads));
  double step_s = 0, gemm_s = 0, eigen_s = 0;
  for (auto _ : state) {
    const double step = seconds([&] { network.loss_and_gradients(images.data(), labels.data()); });
    state.SetIterationTime(step);
    step_s += step;
    gemm_s += seconds([&] {
      pool.parallel_for(threads, [&](int i, int) {
        for (Product& p : products[i]) {
          gemm<float>(p.size, {p.a.data(), p.size.inner}, {p.b.data(), p.size.cols}, p.c.data(), p.size.cols, false);
        }
      });
    });
    eigen_s += seconds([&] {
      pool.parallel_for(threads, [&](int i, int) {
        for (Product& p : products[i]) p.c.noalias() = p.a * p.b;
      });
    });
  }
  state.SetLabel(to_string(level_in_use()));
  state.counters["images_per_s"] = static_cast<double>(state.iterations()) * batch / step_s;
  state.counters["of_gemm"] = gemm_s / step_s;
  state.counters["of_eigen"] = eigen_s / step_s;
}
BENCHMARK(lenet_step)
    ->ArgNames({"batch", "threads"})
    ->ArgsProduct({{16, 32, 64}, {1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Runs a step that is built for any x86-64 and without oneDNN, to show the gain of both.
void lenet_step_generic(benchmark::State& state) {
  use_level(Level::any);
  use_onednn(false);
  lenet_step(state);
  use_level(best_level());
  use_onednn(true);
}
BENCHMARK(lenet_step_generic)
    ->ArgNames({"batch", "threads"})
    ->Args({64, 1})
    ->Args({64, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// A training step (forward, loss, gradients of all parameters) of networks that results/host_speed compares with
// PyTorch, and the process's peak memory. Run one configuration per process, because the peak includes earlier ones.
void step(benchmark::State& state, const char* model, int batch) {
  const int threads = static_cast<int>(state.range(0));
  const model::Graph graph = model::zoo_graph(model);
  Network<float> network(graph, batch, threads);
  network.initialise(1);
  const Vector<float> images = Vector<float>::Random(graph.input.elements() * batch);
  const std::vector<int> labels(batch, 1);
  network.loss_and_gradients(images.data(), labels.data());
  for (auto _ : state) network.loss_and_gradients(images.data(), labels.data());
  state.SetLabel(std::string(to_string(level_in_use())) + (uses_onednn() ? " " + onednn_name() : std::string()));
  state.SetItemsProcessed(state.iterations() * batch);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
}
#define LOCKSTEP_STEP(model, batch) \
  BENCHMARK_CAPTURE(step, model##_b##batch, #model, batch)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()
LOCKSTEP_STEP(lenet_crossbow, 16);
LOCKSTEP_STEP(lenet_crossbow, 32);
LOCKSTEP_STEP(lenet_crossbow, 64);
LOCKSTEP_STEP(resnet32_crossbow, 32);
LOCKSTEP_STEP(vgg16_cifar100, 32);
LOCKSTEP_STEP(resnet50, 4);
LOCKSTEP_STEP(resnet50, 8);

}  // namespace

BENCHMARK_MAIN();
