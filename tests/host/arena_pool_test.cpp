// Networks that share memory give the same bits as others, with no more arenas than concurrent passes.
#include "engine/host/arena_pool.hpp"

#include <cstring>
#include <limits>

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::host {
namespace {

std::vector<float> as_vector(const Eigen::Ref<Vector<float>>& values) {
  return {values.data(), values.data() + values.size()};
}

/// Overwrites the pool's free memory.
void spoil(ArenaPool& pool, std::size_t bytes) {
  void* arena = pool.take(bytes);
  std::fill_n(static_cast<float*>(arena), bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  pool.give_back(arena);
}

}  // namespace

// 100 and 50 make two arenas. Returned, 40 takes the smaller one, 90 the other, and 60 replaces the free one of 50.
TEST_CASE("Arenas by hand") {
  ArenaPool pool;
  void* const large = pool.take(100);
  void* const small = pool.take(50);
  CHECK(reinterpret_cast<std::uintptr_t>(large) % 64 == 0);
  CHECK(pool.arenas() == 2);
  CHECK(pool.bytes() == 150);
  pool.give_back(small);
  pool.give_back(large);
  CHECK(pool.take(40) == small);
  CHECK(pool.take(90) == large);
  pool.give_back(small);
  void* const grown = pool.take(60);
  CHECK(pool.arenas() == 2);
  CHECK(pool.bytes() == 160);
  pool.give_back(large);
  pool.give_back(grown);
  void* const a = pool.take(60);
  CHECK(a == grown);
  void* const b = pool.take(60);
  CHECK(b == large);
  pool.give_back(a);
  pool.give_back(b);
}

TEST_CASE("Of equal arenas the one given back last is taken first") {
  ArenaPool pool;
  void* const first = pool.take(64);
  void* const second = pool.take(64);
  pool.give_back(first);
  pool.give_back(second);
  CHECK(pool.take(64) == second);
  pool.give_back(second);
}

TEST_CASE("Networks that take turns in spoilt memory compute what they compute in their own") {
  ArenaPool pool;
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "cifar10_quick"}) {
    INFO(name);
    const model::Graph graph = model::zoo_graph(name);
    Subject<float> own(graph, 4, 2);
    Network<float> one(graph, 4, 2, &pool), other(graph, 3, 1, &pool);
    one.initialise(7);
    other.initialise(8);
    for (int pass = 0; pass < 3; ++pass) {
      own.loss_and_gradients();
      {
        const PassMemory<float> memory(other);
        other.loss_and_gradients(own.images.data(), own.labels.data());
      }
      spoil(pool, static_cast<std::size_t>(one.pass_bytes()));
      one.set_step(3);
      const PassMemory<float> memory(one);
      const float loss = one.loss_and_gradients(own.images.data(), own.labels.data());
      CHECK(loss == own.network.loss(own.labels.data()));
      CHECK(as_vector(one.gradients()) == as_vector(own.network.gradients()));
      CHECK(as_vector(one.running_statistics()) == as_vector(own.network.running_statistics()));
    }
    CHECK(pool.arenas() == 1);
  }
}

TEST_CASE("A pass without memory is refused") {
  ArenaPool pool;
  Network<float> network(model::zoo_graph("lenet"), 1, 1, &pool);
  const std::vector<float> images(28 * 28);
  CHECK_THROWS_AS(network.forward(images.data(), false), std::logic_error);
}

}  // namespace lockstep::host
