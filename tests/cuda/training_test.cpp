// Algorithms over replicas, as train runs them. Work that runs in parallel with the learners' passes must not change
// the models.
#include <utility>

#include "engine/cuda/cuda_backend.hpp"
#include "engine/sync/ea_sgd.hpp"
#include "engine/sync/sma.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"

namespace lockstep::cuda {
namespace {

constexpr int kBatch = 3;
constexpr int kFewSteps = 8;
constexpr int kPerGpu = 2;

model::Graph small_graph() {
  model::GraphBuilder net("small", "small", {2, 6, 5});
  model::Window window;
  window.kernel_h = window.kernel_w = 3;
  const int at = net.relu("relu", net.conv("conv", 0, 8, window, true));
  net.softmax("loss", net.fc("scores", at, 4));
  return net.finish();
}

struct Learner {
  std::unique_ptr<device::Replica> replica;
  Floats images;
  std::vector<std::int32_t> labels;
};

std::vector<Learner> learners_of(device::Backend& backend, const model::Graph& graph) {
  std::vector<Learner> learners;
  const int all = kPerGpu * backend.devices();
  for (int j = 0; j < all; ++j) {
    device::ReplicaOptions options;
    options.batch = kBatch;
    options.device = j / kPerGpu;
    options.learners = all;
    learners.push_back({backend.make_replica(graph, options),
                        random_floats(kBatch * graph.input.elements(), 50 + static_cast<std::uint64_t>(j)),
                        {j % 4, (j + 1) % 4, (j + 2) % 4}});
  }
  return learners;
}

/// Returns the average model after kFewSteps, and the numbers of correct images in evaluations.
template <typename Sync>
std::pair<Floats, std::vector<int>> train(device::Backend& backend, const model::Graph& graph,
                                          std::vector<Learner>& learners, Sync& sync,
                                          const std::function<const sync::DeviceVector&()>& average) {
  device::ReplicaOptions options;
  options.batch = kBatch;
  const std::unique_ptr<device::Replica> judge = backend.make_replica(graph, options);
  Floats averages;
  std::vector<int> correct;
  for (int t = 0; t < kFewSteps; ++t) {
    sync.step(0.05, [&](int j, const float* parameters, std::int64_t step) {
      Learner& learner = learners[static_cast<std::size_t>(j)];
      return learner.replica->gradient(parameters, {learner.images.data(), learner.labels.data()},
                                       static_cast<std::uint64_t>(step));
    });
    // Usually only the next step waits for the average.
    const Learner& first = learners.front();
    if (t % 3 == 1)
      correct.push_back(judge->correct(average().data(), {first.images.data(), first.labels.data()}, kBatch));
    if (t % 3 != 2) continue;
    const Floats now = average().to_host();
    averages.insert(averages.end(), now.begin(), now.end());
  }
  return {averages, correct};
}

std::pair<Floats, std::vector<int>> train_sma(device::Backend& backend, sync::Averaging averaging) {
  const model::Graph graph = small_graph();
  std::vector<Learner> learners = learners_of(backend, graph);
  sync::SmaOptions options;
  options.gpus = backend.devices();
  options.learners_per_gpu = kPerGpu;
  options.averaging = averaging;
  sync::Sma sma(backend.ops(), device::layout_of(graph), device::initial_parameters(graph, 1), options);
  return train(backend, graph, learners, sma, [&]() -> const sync::DeviceVector& { return sma.average(); });
}

std::pair<Floats, std::vector<int>> train_ea_sgd(device::Backend& backend) {
  const model::Graph graph = small_graph();
  std::vector<Learner> learners = learners_of(backend, graph);
  sync::EaSgdOptions options;
  options.gpus = backend.devices();
  options.workers = kPerGpu * backend.devices();
  options.tau = 2;
  sync::EaSgd ea_sgd(backend.ops(), device::layout_of(graph), device::initial_parameters(graph, 1), options);
  return train(backend, graph, learners, ea_sgd, [&]() -> const sync::DeviceVector& { return ea_sgd.center(); });
}

/// Trains on `gpus` GPUs three times, with bit-identical results, and on as many host devices, equal to rounding.
void check_training(int gpus, const std::function<std::pair<Floats, std::vector<int>>(device::Backend&)>& train_on) {
  const auto host = device::make_host_backend(gpus, 1);
  const auto expected = train_on(*host);
  const auto backend = make_cuda_backend(gpus);
  const auto first = train_on(*backend);
  CHECK(difference(first.first, expected.first, 1e-4) == "");
  CHECK(first.second == expected.second);
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto again = train_on(*backend);
    CHECK(difference(again.first, first.first, 0) == "");
    CHECK(again.second == first.second);
  }
}

}  // namespace

TEST_CASE("Learners on a GPU train with SMA as on the host, the same every time") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_training(1, [](device::Backend& backend) { return train_sma(backend, sync::Averaging::kOneAverage); });
}

TEST_CASE("Learners on two GPUs train with SMA and EA-SGD as on the host, the same every time") {
  LOCKSTEP_NEEDS_GPUS(2);
  for (const auto averaging : {sync::Averaging::kOneAverage, sync::Averaging::kReferencePerGpu})
    check_training(2, [&](device::Backend& backend) { return train_sma(backend, averaging); });
  check_training(2, train_ea_sgd);
}

}  // namespace lockstep::cuda
