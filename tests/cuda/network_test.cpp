// Compares replicas on a GPU with host networks in double precision.
#include "engine/cuda/device_facts.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/cuda/networks.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;

constexpr std::uint64_t kStep = 3;

/// Tolerances of difference(), for single layers. Images and parameters are the same on both sides, and exact in every
/// precision (coarse()); sums are in single precision. So the only error is the rounding of tensors stored on a
/// gradient's path: outputs, their gradients, and the gradient itself.
///
/// A number's error is at most the unit roundoff u: 2^-8 for bf16, 2^-11 for fp16 and for products in TF32. A tensor's
/// error in the Euclidean norm is 0.4 u: u / sqrt(3) over the root mean square of a mantissa, 1.5, if mantissas are
/// spread evenly. After t tensors with independent errors it is 0.4 u sqrt(t). For bf16 that is 3e-3 for 4 tensors, as
/// in most layers, and 4.4e-3 for 8, as in the residual. The largest element may have twice that error.
double tolerance_of(Precision precision) {
  if (precision == Precision::fp32) return 1e-5;
  if (precision == Precision::tf32) return 1e-3;
  return 1e-2;
}

struct Expected {
  std::vector<double> gradient, running;
  double loss;
};
Expected expected_of(const Pair& pair, int threads = 2) {
  const auto network = pair.host_network<double>(kStep, threads);
  const std::vector<double> images = pair.host_images<double>();
  const double loss = network->loss_and_gradients(images.data(), pair.labels.data());
  return {as_doubles<double>(network->gradients()), as_doubles<double>(network->running_statistics()), loss};
}

void check_running(const Floats& actual, const std::vector<double>& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::abs(static_cast<double>(actual[i]) - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]))) {
      continue;
    }
    FAIL_CHECK("statistic " << i << ": " << actual[i] << ", expected " << expected[i]);
    return;
  }
}

void check_pass(const Pair& pair, CudaReplica& replica, double tolerance) {
  const Expected expected = expected_of(pair);
  const Floats gradient = pair.gradient(replica, kStep);
  const Difference found = difference(pair.graph, gradient, expected.gradient);
  INFO("worst: " << found.where);
  CHECK(found.worst <= tolerance);
  CHECK(std::abs(replica.loss() - expected.loss) <= tolerance * std::max(1.0, std::abs(expected.loss)));
  check_running(replica.running_statistics(), expected.running, tolerance);
}

/// Returns the host's own error in single precision for this pass.
double host_error_of(const Pair& pair, const Expected& expected) {
  const auto single = pair.host_network<float>(kStep);
  single->loss_and_gradients(pair.images.data(), pair.labels.data());
  return difference(pair.graph, as_doubles<float>(single->gradients()), expected.gradient).worst;
}

template <typename Half>
bool holds(float value) {
  return static_cast<float>(static_cast<Half>(value)) == value;
}

void check_each(const std::vector<Graph>& graphs, Precision precision) {
  for (const Graph& graph : graphs) {
    INFO(graph.name << ", " << device::to_string(precision));
    const Pair pair(graph, 5, precision);
    check_pass(pair, *pair.replica, tolerance_of(precision));
  }
}

}  // namespace

// Otherwise the host's pass would differ from the device's, and the comparison would fail.
TEST_CASE("Images and parameters of a comparison are what every precision holds") {
  int kept = 0;
  for (int exponent = -30; exponent < 10; ++exponent) {
    for (const float noise : host::random_values<float>(1000, 3)) {
      const float exact = std::ldexp(noise, exponent), value = coarse(exact);
      if (!holds<Eigen::half>(value) || !holds<Eigen::bfloat16>(value)) FAIL_CHECK(value << " is rounded");
      const float off = std::abs(value - exact);
      if (off > std::max(std::ldexp(std::abs(exact), -8), std::ldexp(1.0F, -23))) FAIL_CHECK(value << " for " << exact);
      if (value != 0) ++kept;
    }
  }
  CHECK(kept > 30000);  // of 40000; the smallest become zero
}

TEST_CASE("Every layer agrees with the host in single precision") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_each(single_layer_graphs(), Precision::fp32);
}

// A batch norm over five numbers, after three others, magnifies rounding errors, on the host, too.
TEST_CASE("Small networks in single precision differ from the host's by rounding") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const Graph& graph : layer_graphs()) {
    const Pair pair(graph, 5, Precision::fp32);
    const double host_error = host_error_of(pair, expected_of(pair));
    INFO(graph.name << ", the host's single precision: " << host_error);
    check_pass(pair, *pair.replica, std::max(1e-5, 4 * host_error));
  }
}

TEST_CASE("Every layer agrees with the host in lower precisions") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    check_each(single_layer_graphs(), precision);
  }
}

// Rounding flips single ReLUs and maxima. That changes single gradients a lot, and all of them together only a little.
TEST_CASE("Small networks in lower precisions go where the host goes") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    for (const Graph& graph : layer_graphs()) {
      INFO(graph.name << ", " << device::to_string(precision));
      const Pair pair(graph, 5, precision);
      const Expected expected = expected_of(pair);
      CHECK(alignment(pair.gradient(*pair.replica, kStep), expected.gradient) > 0.97);
      CHECK(pair.replica->loss() == Approx(expected.loss).epsilon(0.02));
    }
  }
}

// Among millions of activations, some are closer to zero than the rounding of their sums. Which ReLUs and maxima pass
// them is then chance: the host's single and double precision differ, and a GPU differs from both. In double precision,
// with parameters moved by 2^-24, one such activation changes the gradient of a tensor by 1e-3 (VGG-16) to 0.13
// (Inception v3). The direction of the whole gradient changes by 1 - cos = 3e-4 (ResNet-50); without one by 1e-6. A
// layer that computes something else changes all of its gradient, and the test above holds single layers to 1e-5.
TEST_CASE("Models of the zoo agree with the host as far as single precision goes") {
  LOCKSTEP_NEEDS_A_REAL_GPU();
  for (const char* name : {"lenet_crossbow",
                           "lenet_caffe",
                           "cifar10_quick",
                           "resnet32_crossbow",
                           "resnet32_optA",
                           "vgg16_cifar100",
                           "alexnet_grouped",
                           "alexnet_ungrouped",
                           "alexnet_bn_jizhi",
                           "googlenet_aux",
                           "googlenet_noaux",
                           "vgg16",
                           "vgg19",
                           "inception_v3",
                           "inception_v3_aux",
                           "resnet50",
                           "resnet50_v15",
                           "resnet101",
                           "resnet152",
                           "resnext50",
                           "squeezenet",
                           "mobilenet_v1"}) {
    INFO(name);
    const Pair pair(small_zoo_graph(name), 4, Precision::fp32);
    const Expected expected = expected_of(pair, 8);
    const Floats gradient = pair.gradient(*pair.replica, kStep);
    const Difference found = difference(pair.graph, gradient, expected.gradient);
    INFO("worst: " << found.where << ", " << found.worst);
    CHECK(found.worst <= 0.5);
    CHECK(alignment(gradient, expected.gradient) > 0.998);
    CHECK(pair.replica->loss() == Approx(expected.loss).epsilon(1e-4));
  }
}

TEST_CASE("Models of the zoo run in half precision") {
  LOCKSTEP_NEEDS_A_REAL_GPU();
  for (const char* name : {"lenet_crossbow", "cifar10_quick", "resnet32_crossbow", "resnet50", "googlenet_aux"}) {
    for (Precision precision : {Precision::fp16, Precision::bf16}) {
      INFO(name << ", " << device::to_string(precision));
      const Pair pair(small_zoo_graph(name), 8, precision, Pair::Branches::weak);
      const Expected expected = expected_of(pair, 8);
      const Floats gradient = pair.gradient(*pair.replica, kStep);
      CHECK(pair.replica->loss() == Approx(expected.loss).epsilon(0.05));
      CHECK(alignment(gradient, expected.gradient) > 0.9);
    }
  }
}

TEST_CASE("Replays equal the pass that is enqueued kernel by kernel") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow"}) {
    for (Precision precision : {Precision::fp32, Precision::bf16}) {
      INFO(name);
      const Pair pair(model_for_passes(name), 16, precision);
      const auto plain = pair.make(precision);
      plain->disable_graphs();
      for (std::uint64_t step = 0; step < 4; ++step) {
        CHECK(pair.gradient(*pair.replica, step) == pair.gradient(*plain, step));
        CHECK(pair.replica->loss() == plain->loss());
        CHECK(pair.replica->replayed() == (step > 0));
        CHECK_FALSE(plain->replayed());
      }
      CHECK(pair.replica->running_statistics() == plain->running_statistics());
    }
  }
}

TEST_CASE("A replay takes parameters from where they are") {
  LOCKSTEP_NEEDS_GPUS(1);
  const Pair pair(model_for_passes("lenet_crossbow"), 4, Precision::fp32);
  const Floats expected = pair.gradient(*pair.replica, 1);
  pair.gradient(*pair.replica, 2);
  const DeviceBuffer<float> elsewhere = on_device(pair.parameters, pair.updates);
  LOCKSTEP_CUDA_CHECK(
      cudaMemsetAsync(pair.device_parameters.data(), 0, static_cast<std::size_t>(elsewhere.bytes()), pair.updates));
  CHECK(pair.read(pair.replica->gradient(elsewhere.data(), pair.host_batch(), 1)) == expected);
}

TEST_CASE("Two replicas side by side compute what each computes alone") {
  LOCKSTEP_NEEDS_GPUS(1);
  const Pair pair(model_for_passes("resnet32_crossbow"), 16, Precision::tf32);
  const auto other = pair.make(Precision::tf32);
  Floats alone;
  for (std::uint64_t step = 0; step < 3; ++step) alone = pair.gradient(*pair.replica, step);
  const Stream second_updates;  // each waits only for its own work
  device::ReplicaOptions options;
  options.batch = 16;
  options.precision = Precision::tf32;
  options.seed = Pair::kSeed;
  CudaReplica apart(pair.graph, options, {0, second_updates});
  const float* first = nullptr;
  const float* second = nullptr;
  for (std::uint64_t step = 0; step < 3; ++step) {
    first = other->gradient(pair.device_parameters.data(), pair.host_batch(), step);
    second = apart.gradient(pair.device_parameters.data(), pair.host_batch(), step);
  }
  LOCKSTEP_CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(pair.read(first) == alone);
  CHECK(pair.read(second) == alone);
}

// The heuristics take a second of processor time per replica of ResNet-50.
TEST_CASE("Only the first replica on a kind of GPU asks cuDNN for engines, the others plan what it found") {
  LOCKSTEP_NEEDS_GPUS(1);
  const std::int64_t before = ConvolutionEngines::questions();
  const Pair pair(model_for_passes("resnet32_crossbow"), 11, Precision::tf32);  // a batch that no other test has
  const std::int64_t asked = ConvolutionEngines::questions();
  CHECK(asked > before);
  const auto other = pair.make(Precision::tf32);
  CHECK(ConvolutionEngines::questions() == asked);
  CHECK(pair.gradient(*other, 1) == pair.gradient(*pair.replica, 1));
}

// Emulated engine 1 is recommended but plans no images with an odd number of channels. Engine 0 is the fallback.
// Neither supports groups.
TEST_CASE(
    "An engine that only has to run is tried where none that is recommended runs, and our own kernels after that") {
  LOCKSTEP_NEEDS_AN_EMULATED_GPU();
  const Stream stream;
  const CudnnHandle handle(stream);
  ConvolutionSolvers solvers(handle, stream, 0);
  const DeviceBuffer<float> x(2 * 8 * 8 * 8), y(x.size()), weight(8 * 8 * 3 * 3);
  for (const DeviceBuffer<float>* buffer : {&x, &y, &weight})
    LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer->data(), 0, static_cast<std::size_t>(buffer->bytes()), stream));
  const auto solver_of = [&](int channels, int groups) {
    ConvolutionShape shape{2, 8, 8, channels, 8, 8, 8, window(3, 1, 1)};
    shape.window.groups = groups;
    return solvers.solver({Direction::forward, shape, Precision::fp32, false}, {x.data(), y.data(), weight.data()});
  };
  CHECK(solver_of(8, 1)->choice.recipe->engine == 1);
  CHECK(solver_of(7, 1)->choice.recipe->engine == 0);
  CHECK(solver_of(8, 2)->choice.route == Route::direct);
}

TEST_CASE("A second GPU of the same kind asks cuDNN for no engine and gives the same bits") {
  LOCKSTEP_NEEDS_GPUS(2);
  if (device_kind(1) != device_kind(0)) return;
  const Pair pair(model_for_passes("resnet32_crossbow"), 13, Precision::tf32);  // a batch that no other test has
  const std::int64_t asked = ConvolutionEngines::questions();
  const OnDevice on_second(1);
  const Stream updates;
  device::ReplicaOptions options;
  options.batch = pair.batch;
  options.precision = Precision::tf32;
  options.seed = Pair::kSeed;
  CudaReplica second(pair.graph, options, {1, updates});
  CHECK(ConvolutionEngines::questions() == asked);
  const DeviceBuffer<float> parameters = on_device(pair.parameters, updates);
  const float* gradient = second.gradient(parameters.data(), pair.host_batch(), 1);
  Floats values(pair.parameters.size());
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(values.data(), gradient, values.size() * sizeof(float), cudaMemcpyDeviceToHost, updates));
  updates.synchronise();
  const OnDevice on_first(0);
  CHECK(values == pair.gradient(*pair.replica, 1));
}

TEST_CASE("A batch may change as soon as the call returns") {
  LOCKSTEP_NEEDS_GPUS(1);
  const Pair pair(model_for_passes("lenet_crossbow"), 32, Precision::fp32);
  const Floats expected = pair.gradient(*pair.replica, 0);
  Floats images = pair.images;
  std::vector<std::int32_t> labels = pair.labels;
  for (int pass = 0; pass < 6; ++pass) {
    images = pair.images;
    labels = pair.labels;
    const float* gradient = pair.replica->gradient(pair.device_parameters.data(), {images.data(), labels.data()}, 0);
    std::fill(images.begin(), images.end(), 1e9F);
    std::fill(labels.begin(), labels.end(), 0);
    if (pass % 3 == 2) CHECK(pair.read(gradient) == expected);
  }
}

// No thread waits for the device in between. Parameters and gradients alternate on the updates' stream, batches in the
// two slots of the staging buffer.
TEST_CASE("Passes that are enqueued one behind the other each have their own parameters and batch") {
  LOCKSTEP_NEEDS_GPUS(1);
  constexpr std::size_t kPasses = 7;
  const Pair pair(model_for_passes("lenet_crossbow"), 16, Precision::fp32);
  const auto copy = [&](const DeviceBuffer<float>& from, const DeviceBuffer<float>& to) {
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(to.bytes()),
                                        cudaMemcpyDeviceToDevice, pair.updates));
  };
  std::vector<Floats> images, expected;
  std::vector<DeviceBuffer<float>> parameters, gradients;
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    images.push_back(pair.images);
    std::rotate(images.back().begin(), images.back().begin() + static_cast<std::ptrdiff_t>(97 * pass),
                images.back().end());
    Floats scaled = pair.parameters;
    for (float& value : scaled) value *= 1 - 0.1F * static_cast<float>(pass);
    parameters.push_back(on_device(scaled, pair.updates));
    gradients.emplace_back(pair.device_parameters.size());
    expected.push_back(
        pair.read(pair.replica->gradient(parameters.back().data(), {images.back().data(), pair.labels.data()}, 1)));
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    copy(parameters[pass], pair.device_parameters);
    const float* gradient =
        pair.replica->gradient(pair.device_parameters.data(), {images[pass].data(), pair.labels.data()}, 1);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(gradients[pass].data(), gradient,
                                        static_cast<std::size_t>(gradients[pass].bytes()), cudaMemcpyDeviceToDevice,
                                        pair.updates));
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    INFO("pass " << pass);
    CHECK(pair.read(gradients[pass].data()) == expected[pass]);
  }
}

TEST_CASE("Correct answers are counted in evaluation mode") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const char* name : {"lenet_crossbow", "resnet32_optA"}) {
    INFO(name);
    Pair pair(model_for_passes(name), 40, Precision::fp32);
    const auto network = pair.host_network<float>(0);
    for (int pass = 0; pass < 2; ++pass) {  // so that statistics have been updated before
      network->loss_and_gradients(pair.images.data(), pair.labels.data());
      pair.gradient(*pair.replica, static_cast<std::uint64_t>(pass));
    }
    const double loss = pair.replica->loss();
    for (int i = 0; i < pair.batch; i += 2) {  // half of the labels are those that the network predicts
      network->forward(pair.images.data(), false);
      const auto scores = network->output().segment(i * 10, 10);
      Eigen::Index best = 0;
      scores.maxCoeff(&best);
      pair.labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(best);
    }
    const int expected = network->correct(pair.images.data(), pair.labels.data());
    REQUIRE(expected >= 20);
    for (int pass = 0; pass < 3; ++pass) {  // eager, captured, replayed
      CHECK(pair.replica->correct(pair.device_parameters.data(), pair.host_batch(), 40) == expected);
    }
    CHECK(pair.replica->correct(pair.device_parameters.data(), pair.host_batch(), 1) == 1);
    CHECK(pair.replica->correct(pair.device_parameters.data(), pair.host_batch(), 0) == 0);
    CHECK(pair.replica->loss() == loss);
  }
}

TEST_CASE("Running statistics can be taken over") {
  LOCKSTEP_NEEDS_GPUS(1);
  const Pair pair(model_for_passes("resnet32_crossbow"), 4, Precision::fp32);
  Floats statistics = pair.replica->running_statistics();
  CHECK(statistics[0] == 0);
  CHECK(statistics[16] == 1);  // conv1/bn has 16 channels
  pair.gradient(*pair.replica, 0);
  statistics = pair.replica->running_statistics();
  CHECK(statistics[0] != 0);
  const auto other = pair.make(Precision::fp32);
  other->set_running_statistics(statistics);
  CHECK(other->running_statistics() == statistics);
  statistics.pop_back();
  CHECK_THROWS_AS(other->set_running_statistics(statistics), std::invalid_argument);
}

TEST_CASE("Half precision scales its loss by itself until it is told to") {
  LOCKSTEP_NEEDS_GPUS(1);
  const Pair pair(model_for_passes("lenet_crossbow"), 8, Precision::fp16);
  const Floats expected = pair.gradient(*pair.replica, 0);
  const auto largest = [](const Floats& values) {
    float most = 0;
    for (float value : values) most = std::isfinite(value) ? std::max(most, std::abs(value)) : HUGE_VALF;
    return most;
  };
  REQUIRE(std::isfinite(largest(expected)));
  REQUIRE(largest(expected) > 0);
  pair.replica->set_loss_scale(2048);  // a power of two rounds only very small values
  const Floats scaled = pair.gradient(*pair.replica, 0);
  float off = 0;
  for (std::size_t i = 0; i < scaled.size(); ++i) off = std::max(off, std::abs(scaled[i] - expected[i]));
  CHECK(off <= 2e-3F * largest(expected));
  pair.replica->set_loss_scale(std::ldexp(1.0, 40));
  CHECK_FALSE(std::isfinite(largest(pair.gradient(*pair.replica, 0))));
  pair.replica->set_loss_scale(2048);
  CHECK(pair.gradient(*pair.replica, 0) == scaled);
}

TEST_CASE("Memory is what the device gives") {
  LOCKSTEP_NEEDS_A_REAL_GPU();
  const Pair pair(model::zoo_graph("vgg16_cifar100"), 64, Precision::bf16);
  const std::int64_t parameters = pair.graph.parameter_count();
  std::int64_t values = 0;
  for (const model::Layer& layer : pair.graph.layers) values += layer.out.elements();
  CHECK(pair.replica->memory_bytes() > 8 * parameters);  // packed twice in half, flat once in single
  CHECK(pair.replica->memory_bytes() < 12 * parameters + 2 * 64 * 3 * values + (std::int64_t{300} << 20));
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  LOCKSTEP_CUDA_CHECK(cudaMemGetInfo(&before, &total));
  const auto other = pair.make(Precision::bf16);
  LOCKSTEP_CUDA_CHECK(cudaMemGetInfo(&after, &total));
  CHECK(other->memory_bytes() == pair.replica->memory_bytes());
  CHECK(static_cast<double>(before - after) > 0.9 * static_cast<double>(other->memory_bytes()));
}

TEST_CASE("A replica refuses what it cannot do") {
  LOCKSTEP_NEEDS_GPUS(1);
  Pair pair(model::zoo_graph("lenet_crossbow"), 2, Precision::fp32);
  pair.labels[1] = 10;
  CHECK_THROWS_AS(pair.replica->gradient(pair.device_parameters.data(), pair.host_batch(), 0), std::invalid_argument);
  CHECK_THROWS_AS(pair.replica->correct(pair.device_parameters.data(), pair.host_batch(), 3), std::invalid_argument);
  GraphBuilder net("n", "n", {1, 4, 4});
  net.fc("fc", 0, 2);
  const Graph headless = net.finish();
  CHECK_THROWS_AS(CudaReplica(headless, {}, DeviceStreams{0, pair.updates}), InputError);
}

}  // namespace lockstep::cuda
