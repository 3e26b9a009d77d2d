// A sharded optimizer trains the same model as S-SGD, and keeps less of it.
#include "engine/sync/sharded.hpp"

#include <map>
#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

constexpr std::int64_t kShardedSize = 13;

Layout uneven_layout() {
  return make_layout({{0, 5, true}, {5, 1, false}, {6, 4, true}, {10, 3, false}});
}

/// The numbers that are kept, by name.
class Sizes final : public StateVisitor {
 public:
  void vector(const std::string& name, DeviceVector& value) override { of[name] = value.size(); }
  void integer(const std::string&, std::int64_t&) override {}
  void real(const std::string&, double&) override {}
  std::map<std::string, std::int64_t> of;
};

}  // namespace

TEST_CASE("Parts are all of a vector, one after another, and no two differ by more than one") {
  for (const std::int64_t n : {1, 5, 12, 13, 1000003})
    for (const int all : {1, 2, 3, 7, 12}) {
      std::int64_t end = 0;
      for (int k = 0; k < all; ++k) {
        const Part part = part_of(n, k, all);
        CHECK(part.begin == end);
        CHECK(part.count >= n / all);
        CHECK(part.count <= n / all + 1);
        end += part.count;
      }
      CHECK(end == n);
    }
}

TEST_CASE("The layout of a part has the tensors that it cuts, and which are weights") {
  const Layout layout = layout_of_part(uneven_layout(), {4, 4});  // 4 | 5 | 6, 7
  REQUIRE(layout.segments.size() == 3);
  CHECK(layout.count == 4);
  CHECK((layout.segments[0].count == 1 && layout.segments[0].is_weight));
  CHECK((layout.segments[1].count == 1 && !layout.segments[1].is_weight));
  CHECK((layout.segments[2].count == 2 && layout.segments[2].is_weight));
}

TEST_CASE("A sharded optimizer trains the bits of S-SGD, by every rule, with a share of the state each") {
  for (const UpdateRule rule : {UpdateRule::momentum, UpdateRule::nesterov, UpdateRule::adam, UpdateRule::adamw})
    for (const int k : {1, 2, 3, 5, 13}) {
      INFO(name_of(rule) << ", " << k << " replicas");
      HostVectorOps ops;
      UpdateOptions options;
      options.rule = rule;
      options.weight_decay = 0.01;
      const std::vector<float> initial(kShardedSize, 3);
      SSgd whole(ops, uneven_layout(), initial, k, options);
      Sharded sharded(ops, uneven_layout(), initial, k, 0, options);
      Quadratic a(kShardedSize, 1, 1, 0.5), b(kShardedSize, 1, 1, 0.5);
      for (int t = 0; t < 30; ++t) {
        whole.step(0.05, a.gradient());
        sharded.step(0.05, b.gradient());
      }
      const std::vector<float> expected = whole.parameters(0).to_host();
      CHECK(expected != initial);
      for (int j = 0; j < k; ++j) CHECK(sharded.parameters(j).to_host() == expected);

      Sizes sizes;
      sharded.visit_state(sizes);
      std::int64_t kept = 0;
      for (const auto& [name, size] : sizes.of)
        if (name.rfind("parameters", 0) != 0) kept += size;
      CHECK(kept == kShardedSize * (is_adam(rule) ? 2 : 1));  // of all replicas together: as much as one without shards
      for (int j = 0; j < k; ++j) CHECK(sharded.part(j).count <= (kShardedSize + k - 1) / k);
    }
}

TEST_CASE("A sharded optimizer refuses what makes no sense") {
  HostVectorOps ops;
  CHECK_THROWS_WITH(Sharded(ops, plain_layout(1), {1}, 0, 0), "sharded: at least one replica");
  CHECK_THROWS_WITH(Sharded(ops, plain_layout(1), {1}, 1, 1), "sharded: no such process");
  CHECK_THROWS_WITH(Sharded(ops, plain_layout(2), {1, 1}, 3, 0), "sharded: more replicas than parameters");
  CHECK_THROWS_WITH(Sharded(ops, plain_layout(2), {1}, 1, 0), "sharded: initial model of the wrong size");
  UpdateOptions options;
  options.lars = LarsOptions{};
  CHECK_THROWS_WITH(Sharded(ops, plain_layout(1), {1}, 1, 0, options),
                    "sharded: LARS needs the norms of whole tensors");
}

}  // namespace lockstep::sync
