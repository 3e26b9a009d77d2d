// Data that GPUs exchange, and its order, on emulated devices.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "calib/probe/probes.hpp"
#include "engine/cuda/cuda_backend.hpp"
#include "engine/cuda/kernels.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda_emulated/knobs.hpp"

namespace lockstep::cuda {
namespace {

using device::Collective;
using device::Precision;

constexpr int kBatch = 3;

model::Graph graph_of_buckets() {
  model::GraphBuilder net("buckets", "buckets", {2, 6, 5});
  model::Window window;
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = 1;
  int at = net.relu("relu", net.batch_norm("norm", net.conv("conv", 0, 8, window, false)));
  at = net.relu("relu2", net.conv("conv2", at, 8, window, true));
  net.softmax("loss", net.fc("scores", at, 4));
  return net.finish();
}

/// Trains by S-SGD on two GPUs.
class Training {
 public:
  Training(std::int64_t bucket_bytes, Precision wire) : backend_(make_cuda_backend(2)), graph_(graph_of_buckets()) {
    backend_->set_gradient_wire(wire);
    sync_ = std::make_unique<sync::SSgd>(backend_->ops(), device::layout_of(graph_),
                                         device::initial_parameters(graph_, 1), 2);
    for (int j = 0; j < 2; ++j) {
      device::ReplicaOptions options;
      options.batch = kBatch;
      options.device = j;
      options.learners = 2;
      options.bucket_bytes = bucket_bytes;
      replicas_.push_back(backend_->make_replica(graph_, options));
      images_.push_back(random_floats(kBatch * graph_.input.elements(), 70 + static_cast<std::uint64_t>(j)));
    }
  }
  void step() {
    const std::vector<std::int32_t> labels{0, 1, 3};
    sync_->step(0.05, [&](int j, const float* parameters, std::int64_t step) {
      const auto own = static_cast<std::size_t>(j);
      return replicas_[own]->gradient(parameters, {images_[own].data(), labels.data()},
                                      static_cast<std::uint64_t>(step));
    });
  }
  Floats model(int replica) const { return sync_->parameters(replica).to_host(); }
  std::int64_t parameters() const { return graph_.parameter_count(); }

 private:
  std::unique_ptr<device::Backend> backend_;
  model::Graph graph_;
  std::unique_ptr<sync::SSgd> sync_;
  std::vector<std::unique_ptr<device::Replica>> replicas_;
  std::vector<Floats> images_;
};

Floats trained(std::int64_t bucket_bytes, Precision wire, int steps = 6) {
  Training training(bucket_bytes, wire);
  for (int i = 0; i < steps; ++i) training.step();
  CHECK(training.model(0) == training.model(1));
  return training.model(0);
}

std::size_t count(const std::vector<std::string>& done, const std::string& what) {
  return static_cast<std::size_t>(std::count(done.begin(), done.end(), what));
}

}  // namespace

// ---- collectives ----

TEST_CASE("Collectives of half precision send half the bytes and add in that precision") {
  const auto backend = make_cuda_backend(2);
  for (const Precision element : {Precision::fp16, Precision::bf16, Precision::fp32}) {
    REQUIRE(backend->has_exchange(element));
    const std::int64_t n = 64, bytes = n * device::element_bytes(element);
    sync::DeviceVector a(backend->ops(), n, 0), b(backend->ops(), n, 1);
    const std::uint64_t before = emulated::collective_bytes;
    backend->exchange(Collective::all_reduce, element, n, {a.data(), b.data()}, {a.data(), b.data()});
    backend->synchronise();
    CHECK(emulated::collective_bytes - before == static_cast<std::uint64_t>(bytes));
  }
  // 3 and 4 in the bits of bfloat16, two to a float: 0x4040 and 0x4080; their sum is 7, 0x40E0.
  const auto bits = [](std::uint32_t word) {
    float x = 0;
    std::memcpy(&x, &word, sizeof x);
    return x;
  };
  const Floats threes(8, bits(0x40404040U)), fours(8, bits(0x40804080U)), sevens(8, bits(0x40E040E0U));
  sync::DeviceVector a(backend->ops(), 8, 0), b(backend->ops(), 8, 1), c(backend->ops(), 8, 0), d(backend->ops(), 8, 1);
  backend->ops().upload(8, threes.data(), a.data());
  backend->ops().upload(8, fours.data(), b.data());
  backend->exchange(Collective::all_reduce, Precision::bf16, 16, {a.data(), b.data()}, {c.data(), d.data()});
  CHECK(c.to_host() == sevens);
  CHECK(d.to_host() == sevens);
  backend->exchange(Collective::all_to_all, Precision::bf16, 16, {a.data(), b.data()}, {c.data(), d.data()});
  Floats mixed(8, bits(0x40404040U));
  std::fill(mixed.begin() + 4, mixed.end(), bits(0x40804080U));
  CHECK(c.to_host() == mixed);
}

TEST_CASE("calibrate measures what adds in three precisions, and what only moves bytes in one") {
  const auto backend = make_cuda_backend(2);
  std::map<std::string, std::set<std::string>> precisions;
  for (const calib::Probe& probe : calib::collective_probes(*backend, 1 << 16, 1)) {
    if (probe.key["bytes"] != 1 << 16) continue;
    precisions[probe.key["operation"]].insert(probe.key.value("precision", "fp32"));
    CHECK(probe.prepare().timed.run() > 0);
  }
  const std::set<std::string> one{"fp32"}, three{"bf16", "fp16", "fp32"};
  CHECK(precisions == std::map<std::string, std::set<std::string>>{{"all-gather", one},
                                                                   {"all-reduce", three},
                                                                   {"all-to-all", one},
                                                                   {"average", one},
                                                                   {"broadcast", one},
                                                                   {"reduce", three},
                                                                   {"reduce-scatter", three}});
}

// ---- gradients ----

TEST_CASE("Gradients averaged bucket by bucket train the same model to the last bit") {
  const Floats whole = trained(0, Precision::fp32);
  for (const std::int64_t bytes : {1, 400, 2000, 1 << 20}) {
    INFO("buckets of " << bytes << " bytes");
    CHECK(trained(bytes, Precision::fp32) == whole);
  }
}

// The emulator picks a random stream among those that can continue. So in some steps, the first sum runs before the
// last bucket is unpacked.
TEST_CASE("The first bucket is averaged while back-propagation goes on") {
  const auto is_ever_early = [](std::int64_t bucket_bytes) {
    Training training(bucket_bytes, Precision::fp32);
    for (int i = 0; i < 3; ++i) training.step();
    bool is_early = false;
    for (int i = 0; i < 20; ++i) {
      training.model(0);  // waits for the previous step
      training.model(1);
      const emulated::Journal journal;
      training.step();
      training.model(0);
      training.model(1);
      const auto& done = journal.done();
      const auto first_sum = std::find(done.begin(), done.end(), "nccl");
      const auto last_unpack = std::find(done.rbegin(), done.rend(), "unpack<T>").base();
      CHECK(first_sum != done.end());
      CHECK(count(done, "nccl") * 2 == count(done, "unpack<T>"));  // as many sums as each of two replicas has buckets
      is_early = is_early || first_sum < last_unpack;
    }
    return is_early;
  };
  CHECK(is_ever_early(1));
  CHECK_FALSE(is_ever_early(0));
}

TEST_CASE("Gradients in half precision on the wire are half the bytes, and the means of rounded shares") {
  for (const Precision wire : {Precision::fp16, Precision::bf16}) {
    CudaVectorOps ops({0, 1});
    ops.set_wire(wire);
    const std::int64_t n = 1003;
    const std::vector<Floats> inputs{random_floats(n, 1), random_floats(n, 2)};
    sync::DeviceVector x0(ops, n, 0), x1(ops, n, 1), mean0(ops, n, 0), mean1(ops, n, 1);
    ops.upload(n, inputs[0].data(), x0.data());
    ops.upload(n, inputs[1].data(), x1.data());
    const std::uint64_t before = emulated::collective_bytes;
    ops.average_all(n, {x0.data(), x1.data()}, {mean0.data(), mean1.data()});
    const Floats mean = mean0.to_host();
    CHECK(mean == mean1.to_host());
    CHECK(x0.to_host() == inputs[0]);
    CHECK(emulated::collective_bytes - before == static_cast<std::uint64_t>(2 * n));
    // Half a unit in the last place of each share and of the sum: 2^-12 for fp16's numbers, 2^-9 for bf16's.
    const double unit = wire == Precision::fp16 ? std::ldexp(1.0, -12) : std::ldexp(1.0, -9);
    std::size_t outside = 0, rounded = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double a = 0.5 * double{inputs[0][i]}, b = 0.5 * double{inputs[1][i]};
      const double allowed = 2 * unit * (std::abs(a) + std::abs(b) + std::abs(a + b)) + 1e-7;
      if (std::abs(double{mean[i]} - (a + b)) > allowed) ++outside;
      if (double{mean[i]} != double{static_cast<float>(a + b)}) ++rounded;
    }
    CHECK(outside == 0);
    CHECK(rounded > mean.size() / 2);
  }
}

TEST_CASE("Training with half precision on the wire stays near that with floats, in buckets as well") {
  const Floats exact = trained(0, Precision::fp32);
  for (const Precision wire : {Precision::bf16, Precision::fp16}) {
    const Floats whole = trained(0, wire);
    CHECK(difference(whole, exact, 5e-3) == "");
    CHECK(difference(whole, exact, 1e-7) != "");
    CHECK(trained(400, wire) == whole);
  }
}

// ---- sums per channel ----

TEST_CASE("Sums over rows take as many blocks as the GPU holds at once") {
  const std::int64_t rows = 1 << 14;
  const int channels = 32;
  const DeviceBuffer<float> x(rows * channels), running(2 * channels), statistics(2 * channels);
  const OnDevice on_device(0);
  const Stream stream;
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(x.data(), 0, static_cast<std::size_t>(x.bytes()), stream));
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(running.data(), 0, static_cast<std::size_t>(running.bytes()), stream));
  for (const int processors : {1, 6}) {
    for (const int resident : {1, 3}) {
      const emulated::With<int> of_gpu(emulated::multiprocessors, processors);
      const emulated::With<int> of_one(emulated::resident_blocks, resident);
      const DeviceBuffer<float> partials(partial_floats(Element::f32, rows, channels));
      const BatchNormData data{rows,           channels,          nullptr,
                               nullptr,        statistics.data(), statistics.data() + channels,
                               running.data(), partials.data()};
      batch_norm_statistics(Element::f32, data, x.data(), true, stream);
      stream.synchronise();
      CHECK(emulated::last_blocks("channel_sums") == static_cast<std::uint64_t>(processors * resident));
    }
  }
}

}  // namespace lockstep::cuda
