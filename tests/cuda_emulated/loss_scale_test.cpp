// Half precision, whose overflows the devices detect themselves.
#include "engine/sync/loss_scale.hpp"
#include "engine/cuda/cuda_backend.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/train/learners.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda_emulated/knobs.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;

constexpr int kScaledBatch = 4;

model::Graph small_graph() {
  model::GraphBuilder net("small", "small", {2, 6, 5});
  model::Window window;
  window.kernel_h = window.kernel_w = 3;
  const int at = net.relu("relu", net.conv("conv", 0, 8, window, true));
  net.softmax("loss", net.fc("scores", at, 4));
  return net.finish();
}

data::Batch batch_of(const model::Graph& graph, std::uint64_t number) {
  data::Batch batch;
  batch.images = random_floats(kScaledBatch * graph.input.elements(), 90 + number);
  batch.labels = {0, 1, 2, 3};
  return batch;
}

}  // namespace

TEST_CASE("Updates are left out on the devices where gradients are not finite, and nothing waits for them") {
  for (const bool has_lars : {false, true}) {
    CudaVectorOps ops({0, 1});
    const sync::Layout layout = sync::make_layout({{0, 700, true}, {700, 303, false}});
    sync::UpdateOptions options{0.9, 1e-4, std::nullopt};
    if (has_lars) options.lars = sync::LarsOptions{0.001, 0};
    sync::SSgd sync(ops, layout, random_floats(1003, 1), 2, options);
    sync::DeviceVector g0(ops, 1003, 0), g1(ops, 1003, 1);
    Floats values = random_floats(1003, 2);
    ops.upload(1003, values.data(), g0.data());
    std::vector<std::shared_ptr<sync::Verdict>> verdicts;
    const auto step = [&](float odd) {
      values[517] = odd;
      ops.upload(1003, values.data(), g1.data());
      const std::uint64_t before = emulated::stream_synchronisations + emulated::device_synchronisations;
      sync.step(0.1, {[&](int j, const float*, std::int64_t) { return j == 0 ? g0.data() : g1.data(); },
                      {},
                      [&](std::shared_ptr<sync::Verdict> verdict) { verdicts.push_back(verdict); }});
      if (verdicts.size() > 1)  // the first step makes tables and buffers
        CHECK(emulated::stream_synchronisations + emulated::device_synchronisations == before);
    };
    step(1.0F);
    const Floats first = sync.parameters(0).to_host();
    CHECK(first != random_floats(1003, 1));
    step(HUGE_VALF);
    step(std::nanf(""));
    CHECK(sync.parameters(0).to_host() == first);
    CHECK(sync.parameters(1).to_host() == first);
    step(1.0F);
    CHECK(sync.parameters(0).to_host() != first);
    CHECK(sync.parameters(0).to_host() == sync.parameters(1).to_host());
    std::vector<bool> made;
    for (const auto& verdict : verdicts) made.push_back(verdict->was_made());
    CHECK(made == std::vector<bool>{true, false, false, true});
    // Updates of other models are not held back.
    ops.momentum_update(layout, {0.1, 0.9, 0}, g1.data(), g0.data(), g0.data());
  }
}

// A scale of 2^24 overflows at first. Each overflow halves it once, although the next pass started with the old scale.
TEST_CASE("train finds the loss scale on a GPU without waiting for each step") {
  train::Request request;
  request.device = "cuda";
  request.precision = "fp16";
  request.gpus = 2;
  request.batch = kScaledBatch;
  const train::Settings settings = train::resolve(request);
  const auto backend = make_cuda_backend(2);
  const model::Graph graph = small_graph();
  sync::Processes processes;
  const sync::Layout layout = device::layout_of(graph);
  const Floats initial = device::initial_parameters(graph, 1);
  const auto trainable = train::make_trainable(settings, processes, backend->ops(), layout, initial, 100);
  train::Learners learners(*backend, graph, settings, *trainable, processes);
  const auto step = [&](std::uint64_t number, float factor) {
    std::vector<data::Batch> batches;
    for (const std::uint64_t of : {number, number + 1}) batches.push_back(batch_of(graph, of));
    for (float& pixel : batches[1].images) pixel *= factor;
    CHECK(learners.step(*trainable, 0.05, batches));
  };
  const double before = learners.loss_scale();
  step(0, 1);
  const Floats good = trainable->model().to_host();
  CHECK(good != initial);
  // Images of 60000 exceed half precision in the gradients on one of the two GPUs.
  step(1, 6e4F);
  CHECK(learners.dropped() == 0);  // not known yet
  step(2, 6e4F);
  CHECK(learners.dropped() == 1);
  CHECK(learners.loss_scale() == before / 2);
  CHECK(trainable->model().to_host() == good);
  step(3, 1);
  CHECK(learners.dropped() == 2);
  CHECK(learners.loss_scale() == before / 2);  // the second pass used the old scale
  step(4, 1);
  CHECK(learners.loss_scale() == before / 2);
  CHECK(trainable->model().to_host() != good);
}

}  // namespace lockstep::cuda
