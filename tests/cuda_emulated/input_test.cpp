// Images that a GPU receives as bytes.
#include <deque>

#include "engine/data/dataset.hpp"
#include "engine/train/batch_reader.hpp"
#include "engine/train/pipeline.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/networks.hpp"
#include "tests/cuda_emulated/knobs.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;

constexpr int kInputBatch = 5;

data::Dataset random_bytes(const data::ImageShape& shape, std::int64_t count) {
  std::vector<std::uint8_t> images, labels;
  for (std::int64_t i = 0; i < count * shape.elements(); ++i)
    images.push_back(static_cast<std::uint8_t>(random_bits(4, 0, static_cast<std::uint64_t>(i))));
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(i % 4));
  data::Normalisation normalisation;
  for (int c = 0; c < shape.channels; ++c) {
    normalisation.mean.push_back(0.4F + 0.05F * static_cast<float>(c));
    normalisation.deviation.push_back(0.3F - 0.04F * static_cast<float>(c));
  }
  return data::Dataset("bytes", shape, 4, images, labels, normalisation);
}

model::Graph small_graph(const data::ImageShape& shape) {
  model::GraphBuilder net("small", "small", {shape.channels, shape.height, shape.width});
  const int at = net.relu("relu", net.conv("conv", 0, 8, window(3, 1, 1), true));
  net.softmax("loss", net.fc("scores", at, 4));
  return net.finish();
}

}  // namespace

TEST_CASE("A gradient of images as bytes is that of the floats that the host makes of them, augmented as well") {
  for (const data::ImageShape& shape : {data::ImageShape{1, 9, 7}, {3, 6, 8}}) {
    const data::Dataset source = random_bytes(shape, 23);
    const data::BatchOrder order(source.count(), 3);
    const model::Graph graph = small_graph(shape);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      for (const bool is_augmented : {false, true}) {
        INFO(shape.channels << " channels, " << to_string(precision) << (is_augmented ? ", augmented" : ""));
        const auto backend = make_cuda_backend(1);
        REQUIRE(train::usual_pixels(*backend, source) == data::Pixels::bytes);
        std::optional<data::AugmentationRange> range;
        if (is_augmented) range.emplace();
        train::BatchReader floats(source, order, kInputBatch, range, 7, 1);
        train::BatchReader bytes(source, order, kInputBatch, range, 7, 2, data::Pixels::bytes);
        device::ReplicaOptions options;
        options.batch = kInputBatch;
        options.precision = precision;
        const auto replica = backend->make_replica(graph, options);
        const auto other = backend->make_replica(graph, options);
        sync::DeviceVector parameters(backend->ops(), graph.parameter_count());
        const Floats initial = device::initial_parameters(graph, 1);
        backend->ops().upload(graph.parameter_count(), initial.data(), parameters.data());
        std::vector<data::Batch> as_floats(1), as_bytes(1);
        const auto gradient_of = [&](device::Replica& of, const data::Batch& batch, std::uint64_t step) {
          const train::BatchForDevice taken(batch);
          const float* gradient = of.gradient(parameters.data(), taken.get(), step);
          Floats result(static_cast<std::size_t>(graph.parameter_count()));
          backend->ops().download(graph.parameter_count(), gradient, result.data());
          return result;
        };
        for (std::uint64_t step = 0; step < 4; ++step) {
          floats.read(static_cast<std::int64_t>(step) * kInputBatch, as_floats);
          bytes.read(static_cast<std::int64_t>(step) * kInputBatch, as_bytes);
          REQUIRE(as_bytes[0].images.empty());
          REQUIRE(as_bytes[0].transforms.size() == (is_augmented ? kInputBatch : 0));
          const Floats expected = gradient_of(*replica, as_floats[0], step);
          // Floats and bytes may alternate.
          const Floats found = gradient_of(*other, step == 2 ? as_floats[0] : as_bytes[0], step);
          if (is_augmented)
            CHECK(difference(found, expected, precision == Precision::fp32 ? 1e-5 : 1e-2) == "");
          else
            CHECK(found == expected);
        }
      }
    }
  }
}

namespace {

/// A replica, its parameters, and its gradients of batches.
struct Trained {
  Trained(device::Backend& of, const model::Graph& graph)
      : backend(of), count(graph.parameter_count()), parameters(of.ops(), count) {
    device::ReplicaOptions options;
    options.batch = kInputBatch;
    replica = of.make_replica(graph, options);
    const Floats initial = device::initial_parameters(graph, 1);
    of.ops().upload(count, initial.data(), parameters.data());
  }

  /// Only enqueues the pass.
  const float* gradient(const data::Batch& batch, std::uint64_t step) {
    const train::BatchForDevice taken(batch);
    const float* result = replica->gradient(parameters.data(), taken.get(), step);
    taken.taken_by(*replica);
    return result;
  }
  Floats downloaded(const float* gradient) {
    Floats result(static_cast<std::size_t>(count));
    backend.ops().download(count, gradient, result.data());
    return result;
  }

  device::Backend& backend;
  std::int64_t count;
  sync::DeviceVector parameters;
  std::unique_ptr<device::Replica> replica;
};

}  // namespace

// The emulated copy engine is slow. If a batch is overwritten too early, the gradient shows it.
TEST_CASE("Images in pinned memory are read from where the threads wrote them, and written over when they have been") {
  const data::ImageShape shape{3, 16, 12};
  const data::Dataset source = random_bytes(shape, 23);
  const data::BatchOrder order(source.count(), 3);
  const model::Graph graph = small_graph(shape);
  const auto backend = make_cuda_backend(1);
  Trained one(*backend, graph), other(*backend, graph);
  constexpr std::uint64_t kSteps = 40;
  std::vector<Floats> wanted;
  train::BatchReader ordinary(source, order, kInputBatch, std::nullopt, 7, 1, data::Pixels::bytes);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    std::vector<data::Batch> batch(1);
    ordinary.read(static_cast<std::int64_t>(step) * kInputBatch, batch);
    wanted.push_back(one.downloaded(one.gradient(batch[0], step)));
    CHECK_FALSE(batch[0].bytes.is_allocated());
    CHECK_FALSE(batch[0].until_read);
  }

  const std::size_t before = emulated::pinned_bytes();
  train::InputPipeline pipeline(source, order, kInputBatch, std::nullopt, 7, 3, data::Pixels::bytes,
                                train::pinned_memory_of(*backend));
  pipeline.start(0, 1);
  std::deque<sync::DeviceVector> found;  // no thread waits for the device until all is enqueued
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const data::Batch& batch = pipeline.take()[0];
    REQUIRE(batch.bytes.is_allocated());
    const float* gradient = other.gradient(batch, step);
    REQUIRE(batch.until_read);
    found.emplace_back(backend->ops(), graph.parameter_count());
    backend->ops().copy(graph.parameter_count(), gradient, found.back().data());
  }
  for (std::uint64_t step = 0; step < kSteps; ++step) CHECK(found[step].to_host() == wanted[step]);
  // Two batches without their labels: the replica has no host memory of its own for images.
  CHECK(emulated::pinned_bytes() - before == 2 * kInputBatch * static_cast<std::size_t>(shape.elements()));
}

TEST_CASE("A wait for pinned images outlives the replica that reads them") {
  const data::ImageShape shape{1, 9, 7};
  const data::Dataset source = random_bytes(shape, 23);
  const data::BatchOrder order(source.count(), 3);
  const auto backend = make_cuda_backend(1);
  train::BatchReader reader(source, order, kInputBatch, std::nullopt, 7, 1, data::Pixels::bytes,
                            train::pinned_memory_of(*backend));
  std::vector<data::Batch> batches(1);
  reader.read(0, batches);
  {
    Trained gone(*backend, small_graph(shape));
    gone.gradient(batches[0], 0);
  }
  REQUIRE(batches[0].until_read);
  reader.read(kInputBatch, batches);
  CHECK_FALSE(batches[0].until_read);
}

}  // namespace lockstep::cuda
