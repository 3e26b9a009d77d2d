// Batch norm's statistics from sums that a convolution's engine computes.
#include "engine/cuda/output_sums.hpp"

#include <limits>

#include "engine/cuda/convolution.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/networks.hpp"
#include "tests/cuda_emulated/knobs.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;
using emulated::With;

constexpr std::int64_t kRows = 700;
constexpr int kChannels = 40;  // a block of 32, and a remainder
constexpr float kEpsilon = 1e-5F;
constexpr std::int64_t kSecond_ns = 1'000'000'000;

template <typename T>
DeviceBuffer<T> on_device(const std::vector<T>& values, cudaStream_t stream) {
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(values.size()));
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(buffer.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
  return buffer;
}

struct Moments {
  Floats mean, inverse, running;
};

/// Returns values whose mean is `deviations` deviations from 0; all are equal if `is_flat`.
Floats values_about(double deviations, bool is_flat) {
  Floats values = random_floats(kRows * kChannels, 5);
  for (float& value : values) value = static_cast<float>((is_flat ? 0 : double{value}) * 0.5 + deviations * 0.5);
  return values;
}

/// Computes the moments by definition, in double precision.
Moments expected_of(const Floats& x) {
  Moments result;
  for (int c = 0; c < kChannels; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t r = 0; r < kRows; ++r) sum += double{x[static_cast<std::size_t>(r * kChannels + c)]};
    const double mean = sum / kRows;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const double off = double{x[static_cast<std::size_t>(r * kChannels + c)]} - mean;
      squares += off * off;
    }
    result.mean.push_back(static_cast<float>(mean));
    result.inverse.push_back(static_cast<float>(1 / std::sqrt(squares / kRows + double{kEpsilon})));
    result.running.push_back(static_cast<float>(0.1 * mean));
  }
  for (int c = 0; c < kChannels; ++c) {
    const double deviation = 1 / double{result.inverse[static_cast<std::size_t>(c)]};
    const double unbiased = (deviation * deviation - double{kEpsilon}) * kRows / (kRows - 1);
    result.running.push_back(static_cast<float>(0.9 + 0.1 * unbiased));
  }
  return result;
}

/// Returns the kernel's result from sums about 0 in float, row by row.
Moments found_of(const Floats& x, float sums_of_first = 0) {
  Floats sums(static_cast<std::size_t>(sums_floats(kChannels)), -1.0F);
  const auto offset = static_cast<std::size_t>(squares_offset(kChannels));
  for (std::size_t c = 0; c < kChannels; ++c) {
    float sum = c == 0 ? sums_of_first : 0, squares = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float value = x[static_cast<std::size_t>(r * kChannels) + c];
      sum += value;
      squares += value * value;
    }
    sums[c] = sum;
    sums[offset + c] = squares;
  }
  const OnDevice first(0);
  const Stream stream;
  const DeviceBuffer<float> values = on_device(x, stream), given = on_device(sums, stream);
  const DeviceBuffer<float> mean(kChannels), inverse(kChannels);
  Floats start(2 * kChannels, 0.0F);
  std::fill(start.begin() + kChannels, start.end(), 1.0F);
  const DeviceBuffer<float> running = on_device(start, stream);
  const BatchNormData data{kRows, kChannels, nullptr, nullptr, mean.data(), inverse.data(), running.data(), nullptr};
  batch_norm_statistics_from_sums(Element::f32, data, values.data(), given.data(), given.data() + offset, stream);
  const auto read = [&](const DeviceBuffer<float>& from) {
    Floats result(static_cast<std::size_t>(from.size()));
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(result.data(), from.data(), static_cast<std::size_t>(from.bytes()),
                                        cudaMemcpyDeviceToHost, stream));
    stream.synchronise();
    return result;
  };
  return {read(mean), read(inverse), read(running)};
}

void check_moments(const Moments& found, const Moments& expected, double tolerance) {
  CHECK(difference(found.mean, expected.mean, tolerance) == "");
  Floats ratios;
  for (std::size_t c = 0; c < kChannels; ++c) ratios.push_back(found.inverse[c] / expected.inverse[c]);
  CHECK(difference(ratios, Floats(kChannels, 1.0F), tolerance) == "");
  CHECK(difference(found.running, expected.running, tolerance) == "");
}

/// A convolution in fp16 whose outputs a batch norm reads. Every test uses a shape of its own, because a process
/// remembers its findings by shape.
struct Summed {
  explicit Summed(int outputs)
      : problem{Direction::forward, {2, 6, 6, 8, 6, 6, outputs, window(1, 1, 0)}, Precision::fp16, false},
        x(2 * 36 * 8),
        y(2 * 36 * outputs),
        weight(8 * outputs),
        sums(sums_floats(outputs)) {
    memory = {x.data(), y.data(), weight.data(), sums.data()};
    apart = solvers.solver(problem, memory);
  }
  std::shared_ptr<const Solver> summing() { return solvers.summing(problem, memory, *apart); }

  OnDevice on_first{0};
  Stream stream;
  CudnnHandle handle{stream};
  ConvolutionSolvers solvers{handle, stream, 0};
  ConvolutionProblem problem;
  DeviceBuffer<std::uint16_t> x, y, weight;
  DeviceBuffer<float> sums;
  ConvolutionMemory memory{};
  std::shared_ptr<const Solver> apart;
};

std::size_t count_of(const std::vector<std::string>& kernels, const std::string& name) {
  return static_cast<std::size_t>(std::count_if(kernels.begin(), kernels.end(),
                                                [&](const std::string& kernel) { return kernel.rfind(name, 0) == 0; }));
}

}  // namespace

TEST_CASE("Statistics from given sums are those of the values, as far as their condition lets them be") {
  // 700 floats are added one by one. Each sum has an error of at most 700 / 2 * 2^-24 of its terms, 2e-5.
  for (const double deviations : {0.0, 1.0, 7.0}) {
    INFO(deviations << " deviations from 0");
    const Floats x = values_about(deviations, false);
    check_moments(found_of(x), expected_of(x), 2e-5 * (2 + 3 * deviations * deviations));
  }
}

// There, sums about 0 in float lose all of the variance. The result would have an error as large as itself, or be
// negative.
TEST_CASE("Channels far from 0, flat ones and sums that are no numbers are summed again") {
  for (const double deviations : {20.0, 3000.0}) {
    INFO(deviations << " deviations from 0");
    const Floats x = values_about(deviations, false);
    check_moments(found_of(x), expected_of(x), 1e-6);
  }
  const Floats flat = values_about(3, true);
  check_moments(found_of(flat), expected_of(flat), 1e-6);
  const Floats x = values_about(1, false);
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Moments found = found_of(x, odd);
    const Moments expected = expected_of(x);
    CHECK(found.mean[0] == Approx(expected.mean[0]).epsilon(1e-6));
    CHECK(found.inverse[0] == Approx(expected.inverse[0]).epsilon(1e-6));
  }
}

TEST_CASE("An engine that sums its outputs is used where the sums take longer apart") {
  const With<std::int64_t> slow(emulated::channel_sums_ns, kSecond_ns);
  Summed convolution(16);
  const auto solver = convolution.summing();
  REQUIRE(solver != nullptr);
  CHECK(solver == convolution.summing());
  CHECK(solver->plan->sums_channels == 16);
  CHECK_THAT(convolution.solvers.self_check_text(), Contains("1 convolutions sum their outputs for a batch norm"));
  // Another replica's solvers use the same result without timing again.
  ConvolutionSolvers others(convolution.handle, convolution.stream, 0);
  CHECK(others.summing(convolution.problem, convolution.memory, *convolution.apart) != nullptr);
}

TEST_CASE("An engine that sums its outputs is not used where it takes longer, is wrong, or is not there") {
  {
    const With<std::int64_t> slow(emulated::summing_engine_ns, kSecond_ns);
    Summed convolution(24);
    CHECK(convolution.summing() == nullptr);
    CHECK(convolution.solvers.fallbacks().empty());
  }
  const With<std::int64_t> slow(emulated::channel_sums_ns, kSecond_ns);
  {
    const With<bool> wrong(emulated::forgets_rows, true);
    Summed convolution(32);
    CHECK(convolution.summing() == nullptr);
    REQUIRE(convolution.solvers.fallbacks().size() == 1);
    CHECK_THAT(
        convolution.solvers.fallbacks()[0],
        Contains("with sums of its outputs: engine 0 computes something else") && Contains("its sums give a mean"));
  }
  const With<bool> none(emulated::has_summing_engine, false);
  Summed convolution(40);
  CHECK(convolution.summing() == nullptr);
  CHECK(convolution.summing() == nullptr);  // also when it is called again
}

TEST_CASE("A training pass in fp16 takes batch norm's statistics from the convolutions, an evaluation does not") {
  const With<std::int64_t> slow(emulated::channel_sums_ns, kSecond_ns);
  const Pair pair(model_for_passes("resnet32_crossbow"), 7, Precision::fp16, Pair::Branches::weak);  // no other test's
  CudaReplica& replica = *pair.replica;
  replica.disable_graphs();
  pair.gradient(replica, 1);
  Floats found;
  {
    const emulated::Journal journal;
    found = pair.gradient(replica, 1);
    CHECK(count_of(journal.done(), "finish_given_sums") == 2);
    CHECK(count_of(journal.done(), "channel_sums") == 3);  // backwards, of two batch norms and a bias; forwards: none
  }
  const auto exact = pair.host_network<double>(1);
  const std::vector<double> images = pair.host_images<double>();
  const double loss = exact->loss_and_gradients(images.data(), pair.labels.data());
  CHECK(std::abs(replica.loss() - loss) < 0.01);
  std::vector<double> expected(pair.parameters.size());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = exact->gradients()[static_cast<Eigen::Index>(i)];
  CHECK(alignment(found, expected) > 0.999);
  const std::vector<float> running = replica.running_statistics();
  const emulated::Journal journal;
  replica.correct(pair.device_parameters.data(), pair.host_batch(), 7);
  CHECK(count_of(journal.done(), "finish_given_sums") == 0);
  CHECK(replica.running_statistics() == running);
}

}  // namespace lockstep::cuda
