// Compares every vector operation on one GPU with the host's, on random data: sizes around the kernels' strides,
// buffers that are not aligned for 16-byte accesses, layouts whose segments begin anywhere.
#include <stdexcept>

#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"

namespace lockstep::cuda {
namespace {

#ifdef LOCKSTEP_EMULATED_GPU
constexpr std::int64_t kLarge = 20003;
const std::vector<std::int64_t> kSizes = {1, 2, 3, 4, 5, 7, 1023, 1024, 8191, 8192, 8193};
#else
constexpr std::int64_t kLarge = 4000003;
const std::vector<std::int64_t> kSizes = {1, 2, 3, 4, 5, 7, 1023, 1024, 8191, 8192, 8193, 100003, 5000001};
#endif

sync::Layout layout_of_counts(const std::vector<std::int64_t>& counts) {
  std::vector<sync::Segment> segments;
  std::int64_t begin = 0;
  for (const std::int64_t count : counts) {
    segments.push_back({begin, count, segments.size() % 3 != 1});
    begin += count;
  }
  return sync::make_layout(segments);
}

/// Lists layouts with one element, many tiny tensors, tensors around a chunk's size, a network's mixture, and one huge
/// tensor.
std::vector<sync::Layout> layouts() {
  std::vector<std::int64_t> tiny(300, 1);
  for (std::size_t i = 0; i < tiny.size(); ++i) tiny[i] = 1 + static_cast<std::int64_t>(i % 7);
  return {layout_of_counts({1}), layout_of_counts(tiny), layout_of_counts({8191, 8192, 8193, 1, 16384, 3}),
          layout_of_counts({800, 32, 51200, 64, kLarge, 1024, 10240, 10}), layout_of_counts({kLarge})};
}

/// Runs `work` on n elements of `count` arrays, once aligned and once from each array's second element on.
void check_sizes(std::size_t count,
                 const std::function<void(sync::VectorOps&, std::int64_t, std::vector<float*>)>& work) {
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  for (const std::int64_t n : kSizes) {
    for (const std::int64_t shift : {0, 1}) {
      INFO(n << " elements, shifted by " << shift);
      const std::vector<Floats> arrays = random_arrays(count, n + shift);
      const Work shifted = [&](sync::VectorOps& ops, std::vector<float*> x) {
        for (float*& pointer : x) pointer += shift;
        work(ops, n, x);
      };
      check_same(outcome(gpu, arrays, shifted), outcome(host, arrays, shifted), kSameBits);
    }
  }
}

void check_layouts(std::size_t count, double tolerance,
                   const std::function<void(sync::VectorOps&, const sync::Layout&, std::vector<float*>)>& work) {
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  for (const sync::Layout& layout : layouts()) {
    INFO(layout.segments.size() << " segments, " << layout.count << " elements");
    const std::vector<Floats> arrays = random_arrays(count, layout.count);
    const Work on_layout = [&](sync::VectorOps& ops, const std::vector<float*>& x) { work(ops, layout, x); };
    check_same(outcome(gpu, arrays, on_layout), outcome(host, arrays, on_layout), tolerance);
  }
}

}  // namespace

TEST_CASE("New buffers are zero, and what is uploaded comes back") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  for (const std::int64_t n : kSizes) {
    { const sync::DeviceVector dirty(gpu, n), more(gpu, n); }
    sync::DeviceVector x(gpu, n);
    CHECK(difference(x.to_host(), Floats(static_cast<std::size_t>(n)), 0) == "");
    const Floats values = random_floats(n, 1);
    gpu.upload(n, values.data(), x.data());
    CHECK(difference(x.to_host(), values, 0) == "");
  }
  CHECK_THROWS_AS(gpu.allocate(0, 0), std::invalid_argument);
  CHECK_THROWS_AS(gpu.allocate(1, -1), std::invalid_argument);
}

TEST_CASE("An allocation that does not fit says how much there was, and leaves nothing behind") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  try {
    gpu.allocate(std::int64_t{1} << 42, 0);
    FAIL("16 TiB were there");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("16777216 MiB asked for on GPU 0") != std::string::npos);
  }
  sync::DeviceVector x(gpu, 8);
  gpu.scale(8, 2, x.data());
  CHECK(x.to_host() == Floats(8));
}

TEST_CASE("Zero, copy, scale and axpy on a GPU are the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_sizes(4, [](sync::VectorOps& ops, std::int64_t n, const std::vector<float*>& x) {
    ops.copy(n, x[0], x[1]);
    ops.scale(n, 1.7, x[0]);
    ops.axpy(n, -0.3, x[1], x[2]);
    ops.zero(n, x[3]);
  });
}

TEST_CASE("The elastic pull on a GPU is the host's, also when the sum is the centre itself") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_sizes(4, [](sync::VectorOps& ops, std::int64_t n, const std::vector<float*>& x) {
    ops.elastic_pull(n, 0.37, x[0], x[1], x[2]);
    ops.elastic_pull(n, 0.21, x[0], x[3], x[0]);
  });
}

TEST_CASE("The average model's update on a GPU is the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_sizes(3, [](sync::VectorOps& ops, std::int64_t n, const std::vector<float*>& x) {
    for (int t = 0; t < 3; ++t) ops.average_model_update(n, 0.9, x[0], x[1], x[2]);
  });
}

TEST_CASE("Nesterov's and Adam's updates on a GPU are the host's, in fours and one by one") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_layouts(3, kSameBits, [](sync::VectorOps& ops, const sync::Layout& layout, const std::vector<float*>& x) {
    for (int t = 0; t < 3; ++t) ops.nesterov_update(layout, {0.1, 0.9, 0.01}, x[0], x[1], x[2]);
  });
  for (const bool is_decoupled : {false, true}) {
    check_layouts(4, kSameBits, [&](sync::VectorOps& ops, const sync::Layout& layout, const std::vector<float*>& x) {
      ops.zero(layout.count, x[2]);  // a mean of squares is not negative
      for (std::int64_t t = 1; t < 4; ++t)
        ops.adam_update(layout, {0.01, 0.1, 0.9, 0.999, 1e-8, is_decoupled, t}, x[0], x[1], x[2], x[3]);
    });
  }
}

TEST_CASE("Averages and sums of 1, 2, 16, 17 and 40 buffers on a GPU are the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  for (const std::size_t count : {1, 2, 16, 17, 40}) {
    for (const std::int64_t n : {1, 5, 8193, 100003}) {
      INFO(count << " buffers of " << n);
      const std::vector<Floats> arrays = random_arrays(count + 1, n);
      const Work work = [n](sync::VectorOps& ops, const std::vector<float*>& x) {
        ops.average(n, std::vector<const float*>(x.begin() + 1, x.end()), x[0]);
        ops.sum_all(n, std::vector<float*>(x.begin() + 1, x.end()));
      };
      check_same(outcome(gpu, arrays, work), outcome(host, arrays, work), kSameBits);
    }
  }
}

// Both accumulate in double, in different orders: n roundings of 1e-16 each, relative to the sum of absolute values.
TEST_CASE("Dot products and norms on a GPU are the host's to double precision, and the same every time") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  for (const std::int64_t n : kSizes) {
    const Floats x = random_floats(n, 1), y = random_floats(n, 2);
    sync::DeviceVector gpu_x(gpu, n), gpu_y(gpu, n);
    gpu.upload(n, x.data(), gpu_x.data());
    gpu.upload(n, y.data(), gpu_y.data());
    const double most = 1e-12 * std::sqrt(host.dot(n, x.data(), x.data()) * host.dot(n, y.data(), y.data()));
    const double product = gpu.dot(n, gpu_x.data(), gpu_y.data());
    CHECK(std::abs(product - host.dot(n, x.data(), y.data())) <= most);
    CHECK(gpu.dot(n, gpu_x.data(), gpu_y.data()) == product);
    CHECK(gpu.dot(n, gpu_x.data(), gpu_x.data()) == Approx(host.dot(n, x.data(), x.data())).epsilon(1e-12));
  }
  for (const sync::Layout& layout : layouts()) {
    const Floats x = random_floats(layout.count, 4);
    sync::DeviceVector gpu_x(gpu, layout.count);
    gpu.upload(layout.count, x.data(), gpu_x.data());
    const std::vector<double> norms = gpu.norms(layout, gpu_x.data());
    const std::vector<double> expected = host.norms(layout, x.data());
    REQUIRE(norms.size() == expected.size());
    for (std::size_t s = 0; s < norms.size(); ++s) CHECK(norms[s] == Approx(expected[s]).epsilon(1e-12));
    CHECK(gpu.norms(layout, gpu_x.data()) == norms);
  }
}

TEST_CASE("Gradient descent, momentum and SMA corrections on a GPU are the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_layouts(5, kSameBits, [](sync::VectorOps& ops, const sync::Layout& layout, const std::vector<float*>& x) {
    for (int t = 0; t < 2; ++t) {
      ops.sgd_update(layout, 0.1, 0.01, x[0], x[1]);
      ops.momentum_update(layout, {0.05, 0.9, 0.02}, x[0], x[2], x[1]);
      ops.corrected_update(layout, 0.1, 0.01, 0.25, x[0], x[3], x[1], x[4]);
    }
  });
}

// The trust ratio comes from sums in another order and may round to the next float: 6e-8 of a step.
TEST_CASE("LARS on a GPU is the host's") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_layouts(3, 5e-7, [](sync::VectorOps& ops, const sync::Layout& layout, const std::vector<float*>& x) {
    for (int t = 0; t < 3; ++t) ops.lars_update(layout, {3.0, 0.9, 0.01}, {0.02, 1e-9}, x[0], x[1], x[2]);
  });
}

TEST_CASE("LARS on a GPU takes a ratio of 1 where a norm is 0") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  const sync::Layout layout = layout_of_counts({9000, 5, 700});
  std::vector<Floats> arrays = random_arrays(3, layout.count);
  std::fill(arrays[2].begin(), arrays[2].begin() + 9000, 0.0F);  // weights of segment 0
  std::fill(arrays[0].begin() + 9005, arrays[0].end(), 0.0F);    // gradient of segment 2
  const Work work = [&](sync::VectorOps& ops, const std::vector<float*>& x) {
    ops.lars_update(layout, {0.1, 0.9, 0.01}, {}, x[0], x[1], x[2]);
  };
  check_same(outcome(gpu, arrays, work), outcome(host, arrays, work), 0);
}

TEST_CASE("Layouts with the same sizes but other decay are kept apart") {
  LOCKSTEP_NEEDS_GPUS(1);
  CudaVectorOps gpu({0});
  sync::HostVectorOps host;
  const std::vector<Floats> arrays = random_arrays(2, 100);
  for (const bool is_weight : {true, false, true}) {
    const sync::Layout layout = sync::make_layout({{0, 60, is_weight}, {60, 40, !is_weight}});
    const Work work = [&](sync::VectorOps& ops, const std::vector<float*>& x) {
      ops.sgd_update(layout, 0.5, 0.25, x[0], x[1]);
    };
    check_same(outcome(gpu, arrays, work), outcome(host, arrays, work), kSameBits);
  }
}

}  // namespace lockstep::cuda
