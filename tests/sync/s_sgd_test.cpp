#include "engine/sync/s_sgd.hpp"

#include <cmath>
#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

constexpr std::int64_t kSize = 13;
constexpr int kBatch = 4;

/// Returns the mean gradient of samples [first, first + count): each is a quadratic around 1 with noise of its own.
void batch_gradient(const float* w, std::int64_t first, int count, std::vector<float>& g) {
  g.assign(kSize, 0);
  for (std::int64_t i = 0; i < kSize; ++i) {
    double sum = 0;
    for (int s = 0; s < count; ++s) {
      const auto sample = static_cast<std::uint64_t>(first + s);
      sum += (w[i] - 1) + 0.5 * random_normal(3, sample, static_cast<std::uint64_t>(i));
    }
    g[static_cast<std::size_t>(i)] = static_cast<float>(sum / count);
  }
}

}  // namespace

// The mean of k means over B samples each is the mean over k B samples.
TEST_CASE("S-SGD on k replicas is one replica at k times the batch, to rounding, replicas are identical") {
  for (const int k : {2, 3, 8}) {
    HostVectorOps ops;
    const Layout layout = make_layout({{0, 10, true}, {10, 3, false}});
    const UpdateOptions options{0.9, 1e-3, {}};
    SSgd parallel(ops, layout, std::vector<float>(kSize, 3), k, options);
    SSgd single(ops, layout, std::vector<float>(kSize, 3), 1, options);
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(k));
    std::vector<float> buffer;
    for (int t = 0; t < 60; ++t) {
      parallel.step(0.05, [&](int j, const float* w, std::int64_t step) {
        std::vector<float>& g = buffers[static_cast<std::size_t>(j)];
        batch_gradient(w, (step * k + j) * kBatch, kBatch, g);
        return static_cast<const float*>(g.data());
      });
      single.step(0.05, [&](int, const float* w, std::int64_t step) {
        batch_gradient(w, step * k * kBatch, k * kBatch, buffer);
        return static_cast<const float*>(buffer.data());
      });
    }
    const std::vector<float> expected = single.parameters(0).to_host();
    const std::vector<float> result = parallel.parameters(0).to_host();
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(result[i] == Approx(expected[i]).epsilon(1e-5));
    for (int j = 1; j < k; ++j) CHECK(parallel.parameters(j).to_host() == result);
  }
}

// Average gradients 2 and 0; v = -0.5 * 2 = -1, w = 0; then v = 0.5 * -1 = -0.5, w = -0.5.
TEST_CASE("Two S-SGD steps by hand") {
  HostVectorOps ops;
  SSgd s_sgd(ops, plain_layout(1), {1}, 2, {0.5, 0, {}});
  const std::vector<std::vector<float>> table{{1, 3}, {-2, 2}};
  s_sgd.step(0.5, from_table(table));
  CHECK(s_sgd.parameters(1).to_host() == std::vector<float>{0});
  s_sgd.step(0.5, from_table(table));
  CHECK(s_sgd.parameters(0).to_host() == std::vector<float>{-0.5F});
}

TEST_CASE("S-SGD whose gradients are judged leaves out what is not finite, and says so") {
  HostVectorOps ops;
  SSgd sync(ops, plain_layout(3), {1, 2, 3}, 2, {0.5, 0, {}});
  std::vector<std::vector<float>> gradients{{1, 1, 1}, {3, 3, 3}};
  std::vector<bool> made;
  const auto step = [&] {
    sync.step(0.1, {[&](int j, const float*, std::int64_t) { return gradients[static_cast<std::size_t>(j)].data(); },
                    {},
                    [&](const std::shared_ptr<Verdict>& verdict) { made.push_back(verdict->was_made()); }});
  };
  step();
  const std::vector<float> first = sync.parameters(0).to_host();
  CHECK(first[0] == 0.8F);
  gradients[1][2] = INFINITY;
  step();
  CHECK(sync.parameters(0).to_host() == first);
  gradients[1][2] = 3;
  step();
  CHECK(std::abs(sync.parameters(1).to_host()[0] - 0.5F) < 1e-6F);  // momentum as after the first: -0.1 - 0.2
  CHECK(made == std::vector<bool>{true, false, true});
  CHECK(sync.iteration() == 3);
}

TEST_CASE("S-SGD refuses what makes no sense") {
  HostVectorOps ops;
  CHECK_THROWS_WITH(SSgd(ops, plain_layout(1), {1}, 0), "S-SGD: at least one replica");
  CHECK_THROWS_WITH(SSgd(ops, plain_layout(2), {1}, 1), "S-SGD: initial model of the wrong size");
  CHECK_THROWS_WITH(SSgd(ops, plain_layout(1), {1}, 1, {1, 0, {}}), "update: momentum must be in [0, 1)");
}

}  // namespace lockstep::sync
