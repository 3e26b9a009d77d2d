// Buffers on several devices: two devices of one GPU, and separate GPUs if there are two.
#include "engine/cuda/communicator.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::int64_t kCount = 300007;

/// Runs every operation with its arrays distributed over two devices.
void check_strewn(CudaVectorOps& gpu, double tolerance_of_sums) {
  sync::HostVectorOps host;
  const std::vector<Floats> arrays = random_arrays(6, kCount);
  const sync::Layout layout = sync::make_layout({{0, 100000, true}, {100000, 7, false}, {100007, 200000, true}});
  const Work updates = [&](sync::VectorOps& ops, const std::vector<float*>& x) {
    ops.copy(kCount, x[0], x[1]);
    ops.axpy(kCount, 0.5, x[2], x[1]);
    ops.average(kCount, {x[0], x[1], x[2], x[3], x[4]}, x[5]);
    ops.momentum_update(layout, {0.1, 0.9, 0.01}, x[0], x[1], x[2]);
    ops.corrected_update(layout, 0.1, 0.01, 0.3, x[0], x[1], x[3], x[4]);
    ops.elastic_pull(kCount, 0.2, x[5], x[3], x[5]);
    ops.average_model_update(kCount, 0.9, x[4], x[0], x[1]);
    ops.copy(kCount, x[3], x[2]);
    ops.scale(kCount, 3, x[3]);
  };
  for (const std::vector<int>& devices : {std::vector<int>{0, 1, 0, 1, 0, 1}, {1, 0, 0, 1, 1, 0}, {1, 1, 0, 0, 0, 1}}) {
    check_same(outcome(gpu, arrays, updates, devices), outcome(host, arrays, updates), kSameBits);
    const Work sums = [](sync::VectorOps& ops, const std::vector<float*>& x) {
      ops.sum_all(kCount, {x[0], x[1], x[2], x[3], x[4]});
      ops.sum_all(kCount, {x[5]});
    };
    check_same(outcome(gpu, arrays, sums, devices), outcome(host, arrays, sums), tolerance_of_sums);
  }
}

/// Checks the mean of inputs on these devices, on each of them. NCCL multiplies every input by 1/m in single precision
/// and adds: at most m + 1 roundings of 2^-24 each, of numbers no larger than the largest input.
void check_average(CudaVectorOps& gpu, const std::vector<int>& devices) {
  const std::size_t m = devices.size();
  const double rounding = std::ldexp(static_cast<double>(m + 1), -24);
  sync::HostVectorOps host;
  std::vector<Floats> arrays = random_arrays(m, kCount);
  const std::vector<Floats> inputs = arrays;
  arrays.resize(2 * m, Floats(static_cast<std::size_t>(kCount), 7.0F));  // existing values of outputs must not count
  std::vector<int> places = devices;
  places.insert(places.end(), devices.begin(), devices.end());
  const Work work = [m](sync::VectorOps& ops, const std::vector<float*>& x) {
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(m);
    ops.average_all(kCount, std::vector<const float*>(x.begin(), middle), std::vector<float*>(middle, x.end()));
  };
  const std::vector<Floats> found = outcome(gpu, arrays, work, places);
  std::size_t outside = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kCount); ++i) {
    double least = HUGE_VAL, most = -HUGE_VAL, largest = 0;
    for (const Floats& input : inputs) {
      least = std::min(least, double{input[i]});
      most = std::max(most, double{input[i]});
      largest = std::max(largest, std::abs(double{input[i]}));
    }
    const double mean = found[m][i], allowed = rounding * largest;
    if (!(mean >= least - allowed && mean <= most + allowed)) ++outside;
  }
  CHECK(outside == 0);
  for (std::size_t j = 0; j < m; ++j) {
    CHECK(found[j] == inputs[j]);
    CHECK(found[m + j] == found[m]);
  }
  const std::vector<Floats> expected = outcome(host, arrays, work);
  double largest = 0;
  for (const Floats& input : inputs)
    for (const float value : input) largest = std::max(largest, std::abs(double{value}));
  CHECK(difference(found[m], expected[m], rounding * largest) == "");
}

}  // namespace

TEST_CASE("The mean of buffers lies between the least and the greatest and is the same on all devices, as the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const std::vector<int>& gpus : {std::vector<int>{0}, {0, 0}, {0, 0, 0}, {0, 1}}) {
    if (gpus.back() == 1 && !has_gpus(2)) return;
    CudaVectorOps gpu(gpus);
    for (const std::vector<int>& devices : {std::vector<int>{0}, {0, 1}, {1, 0}, {0, 1, 0}, {1, 1}, {0, 1, 0, 1}}) {
      INFO(gpus.size() << " devices to GPU " << gpus.back() << ", " << devices.size() << " inputs");
      std::vector<int> there = devices;
      for (int& device : there) device %= gpu.devices();
      check_average(gpu, there);
    }
  }
}

TEST_CASE("The mean of a single buffer in its own place is that buffer, and as many outputs as inputs are asked for") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  const Floats values = random_floats(100, 1);
  sync::DeviceVector x(gpu, 100), y(gpu, 100);
  gpu.upload(100, values.data(), x.data());
  gpu.average_all(100, {x.data()}, {x.data()});
  CHECK(x.to_host() == values);
  CHECK_THROWS_AS(gpu.average_all(100, {x.data(), y.data()}, {y.data()}), std::invalid_argument);
  CHECK_THROWS_AS(gpu.average_all(100, {}, {}), std::invalid_argument);
}

/// One of two processes, both of which are this one, so that they need not agree on anything.
class OneOfTwo final : public sync::Processes {
 public:
  explicit OneOfTwo(int rank) : rank_(rank) {}
  int count() const override { return 2; }
  int rank() const override { return rank_; }

 private:
  int rank_;
};

// Both make their NCCL calls in one group, as two processes wait for each other.
TEST_CASE("The mean of buffers of two processes is over both, and the sum too") {
  LOCKSTEP_NEEDS_AN_EMULATED_GPU();  // a real NCCL tells the processes apart
  OneOfTwo first_of_two(0), second_of_two(1);
  CudaVectorOps first({0}, &first_of_two), second({1}, &second_of_two);
  const std::vector<Floats> inputs = random_arrays(2, kCount);
  sync::DeviceVector x0(first, kCount), x1(second, kCount), mean0(first, kCount), mean1(second, kCount);
  first.upload(kCount, inputs[0].data(), x0.data());
  second.upload(kCount, inputs[1].data(), x1.data());
  REQUIRE(ncclGroupStart() == ncclSuccess);
  first.average_all(kCount, {x0.data()}, {mean0.data()});
  second.average_all(kCount, {x1.data()}, {mean1.data()});
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  Floats mean, sum;
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    mean.push_back(0.5F * inputs[0][i] + 0.5F * inputs[1][i]);
    sum.push_back(inputs[0][i] + inputs[1][i]);
  }
  CHECK(mean0.to_host() == mean);
  CHECK(mean1.to_host() == mean);
  CHECK(x0.to_host() == inputs[0]);
  CHECK(x1.to_host() == inputs[1]);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  first.sum_all(kCount, {x0.data()});
  second.sum_all(kCount, {x1.data()});
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(x0.to_host() == sum);
  CHECK(x1.to_host() == sum);
}

TEST_CASE("Parts of the mean of two processes' buffers are each its own, and go to both") {
  LOCKSTEP_NEEDS_AN_EMULATED_GPU();
  OneOfTwo first_of_two(0), second_of_two(1);
  CudaVectorOps first({0}, &first_of_two), second({1}, &second_of_two);
  const std::int64_t n = 101, longer = 51;  // of two parts, the first has one element more
  const std::vector<Floats> inputs = random_arrays(2, n);
  sync::DeviceVector x0(first, n), x1(second, n), part0(first, longer), part1(second, n - longer);
  first.upload(n, inputs[0].data(), x0.data());
  second.upload(n, inputs[1].data(), x1.data());
  REQUIRE(ncclGroupStart() == ncclSuccess);
  first.average_parts(n, {x0.data()}, {part0.data()});
  second.average_parts(n, {x1.data()}, {part1.data()});
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  const Floats a = part0.to_host(), b = part1.to_host();
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    const float mean = 0.5F * inputs[0][i] + 0.5F * inputs[1][i];
    CHECK((i < a.size() ? a[i] : b[i - a.size()]) == mean);
  }
  REQUIRE(ncclGroupStart() == ncclSuccess);
  first.gather_parts(n, {x0.data()});
  second.gather_parts(n, {x1.data()});
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  Floats gathered(inputs[0].begin(), inputs[0].begin() + longer);
  gathered.insert(gathered.end(), inputs[1].begin() + longer, inputs[1].end());
  CHECK(x0.to_host() == gathered);
  CHECK(x1.to_host() == gathered);
}

// The sequence of every S-SGD step. Replicas' gradients are averaged while no host thread waits for the devices.
TEST_CASE("The mean over two GPUs comes after what its inputs are made of and before what overwrites them") {
  LOCKSTEP_NEEDS_GPUS(2);
  CudaVectorOps gpu({0, 1});
  const std::int64_t n = 1000;
  const auto all = [&](float value) { return Floats(static_cast<std::size_t>(n), value); };
  sync::DeviceVector g0(gpu, n, 0), g1(gpu, n, 1), mean0(gpu, n, 0), mean1(gpu, n, 1), seen0(gpu, n, 0),
      seen1(gpu, n, 1), one0(gpu, n, 0), one1(gpu, n, 1);
  for (sync::DeviceVector* one : {&one0, &one1}) gpu.upload(n, all(1).data(), one->data());
  for (int round = 1; round <= 10; ++round) {
    gpu.axpy(n, 1, one0.data(), g0.data());
    gpu.axpy(n, 3, one1.data(), g1.data());
    gpu.average_all(n, {g0.data(), g1.data()}, {mean0.data(), mean1.data()});
    gpu.axpy(n, 1, mean0.data(), seen0.data());
    gpu.axpy(n, 1, mean1.data(), seen1.data());
  }
  // The sum over r = 1..10 of (r + 3 r) / 2.
  for (const sync::DeviceVector* seen : {&seen0, &seen1}) CHECK(seen->to_host() == all(110));
}

TEST_CASE("Operations bring the arrays of two devices of one GPU together") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0, 0});
  check_strewn(gpu, kSameBits);
}

TEST_CASE("Operations bring the arrays of two GPUs together") {
  LOCKSTEP_NEEDS_GPUS(2);
  CudaVectorOps gpu({0, 1});
  check_strewn(gpu, 1e-5);
}

// A long queue on device 1 must finish before device 0 reads its result, and device 1 must not overwrite that before
// device 0 has read it. x is incremented 50 times, read, then cleared.
TEST_CASE("Devices wait for each other") {
  LOCKSTEP_NEEDS_A_REAL_GPU();
  CudaVectorOps gpu({0, 0});
  const std::int64_t n = 1 << 24;
  sync::DeviceVector x(gpu, n, 1), ones(gpu, n, 1), seen(gpu, n, 0);
  const Floats one(static_cast<std::size_t>(n), 1.0F);
  gpu.upload(n, one.data(), ones.data());
  for (int round = 0; round < 5; ++round) {
    for (int t = 0; t < 50; ++t) gpu.axpy(n, 1, ones.data(), x.data());
    gpu.copy(n, x.data(), seen.data());
    gpu.zero(n, x.data());
    CHECK(difference(seen.to_host(), Floats(static_cast<std::size_t>(n), 50.0F), 0) == "");
  }
}

// Work on a replica's stream runs after the device's earlier operations and before its later ones.
TEST_CASE("A gate keeps a replica's stream between the operations around it") {
  LOCKSTEP_NEEDS_A_REAL_GPU();
  CudaVectorOps gpu({0});
  const std::int64_t n = 1 << 24;
  sync::DeviceVector x(gpu, n), y(gpu, n), ones(gpu, n);
  const Floats one(static_cast<std::size_t>(n), 1.0F);
  gpu.upload(n, one.data(), ones.data());
  ReplicaGate gate(0);
  for (int round = 1; round <= 5; ++round) {
    for (int t = 0; t < 50; ++t) gpu.axpy(n, 1, ones.data(), x.data());
    gpu.open(gate);
    const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(y.data(), x.data(), bytes, cudaMemcpyDeviceToDevice, gate.stream));
    gpu.close(gate);
    gpu.zero(n, x.data());
    CHECK(difference(y.to_host(), Floats(static_cast<std::size_t>(n), 50.0F), 0) == "");
  }
  gpu.forget(gate);
}

// NCCL refuses the second GPU's call because it uses the first one's stream. The next sum must not join the group of
// the first call.
TEST_CASE("A sum of two GPUs that fails leaves the next one as it should be") {
  LOCKSTEP_NEEDS_AN_EMULATED_GPU();  // a real NCCL may take such an error for a lost GPU
  sync::Processes alone;
  Communicator communicator({0, 1}, alone);
  CudaVectorOps gpu({0, 1});
  const std::int64_t n = 1000;
  sync::DeviceVector x0(gpu, n, 0), x1(gpu, n, 1);
  const Floats one(static_cast<std::size_t>(n), 1.0F);
  for (sync::DeviceVector* x : {&x0, &x1}) gpu.upload(n, one.data(), x->data());
  std::vector<std::unique_ptr<Stream>> streams;
  for (const int d : {0, 1}) {
    const OnDevice on_device(d);
    streams.push_back(std::make_unique<Stream>());
  }
  CHECK_THROWS_AS(
      communicator.all_reduce(n, device::Precision::fp32, {x0.data(), x1.data()}, {*streams[0], *streams[0]}),
      std::runtime_error);
  communicator.all_reduce(n, device::Precision::fp32, {x0.data(), x1.data()}, {*streams[0], *streams[1]});
  for (const std::unique_ptr<Stream>& stream : streams) stream->synchronise();
  for (sync::DeviceVector* x : {&x0, &x1})
    CHECK(difference(x->to_host(), Floats(static_cast<std::size_t>(n), 2.0F), 0) == "");
}

// A sum over both devices increments z on each, in parallel with a gradient that reads w. All later work must wait: a
// replica that evaluates z, another sum, the host.
TEST_CASE("What goes on beside gradients is done before anything else of two devices of one GPU") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0, 0});
  const std::int64_t n = 1000;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
  const auto all = [&](float value) { return Floats(static_cast<std::size_t>(n), value); };
  sync::DeviceVector z0(gpu, n, 0), z1(gpu, n, 1), sum0(gpu, n, 0), sum1(gpu, n, 1), w(gpu, n, 0), seen_w(gpu, n, 0),
      seen_z(gpu, n, 0);
  ReplicaGate gradient(0), evaluation(0);
  int rounds_beside = 0;
  for (int round = 1; round <= 20; ++round) {
    const auto number = static_cast<float>(round);
    for (sync::DeviceVector* sum : {&sum0, &sum1}) gpu.upload(n, all(1).data(), sum->data());
    gpu.upload(n, all(number).data(), w.data());
    gpu.beside_gradients([&] {
      gpu.sum_all(n, {sum0.data(), sum1.data()});
      gpu.axpy(n, 1, sum0.data(), z0.data());
      gpu.axpy(n, 1, sum1.data(), z1.data());
    });
    gpu.open(gradient, CudaVectorOps::After::all_but_beside);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(seen_w.data(), w.data(), bytes, cudaMemcpyDeviceToDevice, gradient.stream));
    gpu.close(gradient);
    gradient.stream.synchronise();
    Floats early(static_cast<std::size_t>(n));
    const Stream apart;
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(early.data(), z0.data(), bytes, cudaMemcpyDeviceToHost, apart));
    apart.synchronise();
    if (early != all(2 * number)) ++rounds_beside;
    if (round % 2 == 0) {
      gpu.open(evaluation);
      LOCKSTEP_CUDA_CHECK(
          cudaMemcpyAsync(seen_z.data(), z0.data(), bytes, cudaMemcpyDeviceToDevice, evaluation.stream));
      gpu.close(evaluation);
      CHECK(seen_z.to_host() == all(2 * number));
    }
    CHECK(z0.to_host() == all(2 * number));
    CHECK(seen_w.to_host() == all(number));
    CHECK(z1.to_host() == all(2 * number));
    CHECK(sum1.to_host() == all(2));
  }
#ifdef LOCKSTEP_EMULATED_GPU
  CHECK(rounds_beside > 0);  // on the emulated GPU order is random; on a real GPU small work may have ended by then
#else
  static_cast<void>(rounds_beside);
#endif
  CHECK_THROWS_AS(gpu.beside_gradients([&] { gpu.beside_gradients([] {}); }), std::invalid_argument);
  for (const ReplicaGate* gate : {&gradient, &evaluation}) gpu.forget(*gate);
}

}  // namespace lockstep::cuda
