// Ranks and groups, compared with Megatron-LM's documented example and by counting.
#include "sim/split/ranks.hpp"

#include <set>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

using D = ParallelDimension;

int one_of(int trial, int draw, std::initializer_list<int> values) {
  const double u = random_uniform(3, static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(trial));
  return *(values.begin() + static_cast<int>(u * static_cast<double>(values.size())));
}

ParallelSpec random_spec(int trial) {
  ParallelSpec spec;
  spec.tensor = one_of(trial, 1, {1, 2, 3, 4, 8});
  spec.context = one_of(trial, 2, {1, 2, 4});
  spec.pipeline = one_of(trial, 3, {1, 2, 3, 5});
  spec.expert = one_of(trial, 4, {1, 2, 4});
  spec.data = spec.expert * one_of(trial, 5, {1, 2, 3});
  for (int i = 0; i < 4; ++i)
    std::swap(spec.order[static_cast<std::size_t>(i)],
              spec.order[static_cast<std::size_t>(one_of(trial, 6 + i, {0, 1, 2, 3, 4}))]);
  return spec;
}

ParallelSpec megatron(int tensor, int data, int pipeline) {
  ParallelSpec spec;
  spec.tensor = tensor;
  spec.data = data;
  spec.pipeline = pipeline;
  return spec;
}

}  // namespace

TEST_CASE("coordinates and ranks are inverse for every order, and groups of a dimension are a partition") {
  for (int trial = 0; trial < 200; ++trial) {
    const ParallelSpec spec = random_spec(trial);
    const RankOrder order(spec);
    REQUIRE(order.ranks() == spec.gpus_of_replica() * spec.data);
    for (int rank = 0; rank < order.ranks(); ++rank) REQUIRE(order.rank(order.coordinates(rank)) == rank);
    for (const Dimensions& dimensions : {Dimensions{D::tensor}, Dimensions{D::pipeline}, kGradientDimensions}) {
      std::multiset<int> members;
      int size = 1;
      for (D dimension : dimensions) size *= order.size(dimension);
      for (const RankGroup& group : order.groups(dimensions)) {
        REQUIRE(static_cast<int>(group.size()) == size);
        members.insert(group.begin(), group.end());
        for (int rank : group) REQUIRE(order.group(rank, dimensions) == group);
      }
      REQUIRE(static_cast<int>(members.size()) == order.ranks());
      REQUIRE(std::set<int>(members.begin(), members.end()).size() == members.size());
    }
  }
}

TEST_CASE("the example of Megatron-LM's rank generator: tensor 2, data 3, pipeline 4") {
  const std::vector<RankGroup> groups = RankOrder(megatron(2, 3, 4)).groups({D::data});
  REQUIRE(groups.size() == 8);
  CHECK(groups[0] == RankGroup{0, 2, 4});
  CHECK(groups[1] == RankGroup{1, 3, 5});
  CHECK(groups[7] == RankGroup{19, 21, 23});
}

TEST_CASE("the example of Megatron-LM's documentation: 16 GPUs, tensor 2, pipeline 4") {
  const RankOrder order(megatron(2, 2, 4));
  CHECK(order.groups({D::data})[0] == RankGroup{0, 2});
  CHECK(order.groups({D::tensor})[7] == RankGroup{14, 15});
  CHECK(order.groups({D::pipeline})[1] == RankGroup{1, 5, 9, 13});
}

TEST_CASE("experts lie within data: dense gradients go to more ranks than an expert's") {
  ParallelSpec spec = megatron(2, 4, 1);
  spec.expert = 2;
  spec.context = 2;
  const RankOrder order(spec);
  CHECK(order.group(0, {D::expert}) == RankGroup{0, 4});
  CHECK(order.group(0, kExpertGradientDimensions) == RankGroup{0, 2, 8, 10});
  CHECK(order.group(0, kGradientDimensions) == RankGroup{0, 2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("tensor ranks that hold whole experts are ranks of their group, and no copies of each other") {
  ParallelSpec spec = megatron(2, 4, 1);
  spec.expert = 4;
  spec.expert_tensor = 1;
  const RankOrder order(spec);
  CHECK(order.group(0, expert_dimensions(spec)) == RankGroup{0, 1, 2, 3});
  CHECK(order.group(1, kExpertGradientDimensions) == RankGroup{1, 5});
  CHECK(order.group(1, kGradientDimensions) == RankGroup{1, 3, 5, 7});
  spec.expert_tensor = 2;  // the same as without it
  CHECK(RankOrder(spec).group(0, expert_dimensions(spec)) == RankGroup{0, 2, 4, 6});
  CHECK(RankOrder(spec).group(0, kExpertGradientDimensions) == RankGroup{0});
}

TEST_CASE("tensor groups lie in nodes of 4, 8 and 72 GPUs exactly where their size divides the node's") {
  for (int per_node : {4, 8, 72}) {
    for (int tensor : {1, 2, 3, 4, 8, 9, 16}) {
      const RankOrder order(megatron(tensor, 72, 2));
      bool all_within = true;
      for (const RankGroup& group : order.groups({D::tensor}))
        all_within = all_within && placement(group, per_node).is_within_node();
      INFO("tensor " << tensor << ", nodes of " << per_node);
      CHECK(all_within == (per_node % tensor == 0));
    }
  }
}

TEST_CASE("nodes of a group, by hand: 8 GPUs a node, tensor 4, data 4, pipeline 2") {
  const RankOrder order(megatron(4, 4, 2));
  const GroupPlacement data = placement(order.group(0, {D::data}), 8);
  CHECK(data.nodes == 2);
  CHECK(data.most_on_a_node == 2);
  CHECK(data.fewest_on_a_node == 2);
  CHECK(placement(order.group(0, {D::pipeline}), 8).nodes == 2);
  // On nodes of 72 all 32 ranks are on one.
  CHECK(placement(order.group(0, {D::data, D::pipeline}), 72).is_within_node());
  // Groups of 3 over nodes of 4: 0 1 2 | 3, 4 5 | ...
  const GroupPlacement uneven = placement({3, 4, 5}, 4);
  CHECK(uneven.nodes == 2);
  CHECK(uneven.most_on_a_node == 2);
  CHECK(uneven.fewest_on_a_node == 1);
}

TEST_CASE(
    "groups that share a NIC: with tensor 4 on nodes of 8, each NIC of 8 carries one data group, one NIC all four") {
  const std::vector<RankGroup> groups = RankOrder(megatron(4, 4, 1)).groups({D::data});
  const std::vector<std::vector<int>> rails = groups_of_nics(groups, 8, 8);
  REQUIRE(rails.size() == 16);
  for (int nic = 0; nic < 16; ++nic) CHECK(rails[static_cast<std::size_t>(nic)] == std::vector<int>{nic % 4});
  const std::vector<std::vector<int>> shared = groups_of_nics(groups, 8, 1);
  REQUIRE(shared.size() == 2);
  CHECK(shared[0] == std::vector<int>{0, 1, 2, 3});
  // Four NICs: GPUs 0 and 1 share the first.
  CHECK(groups_of_nics(groups, 8, 4)[0] == std::vector<int>{0, 1});
  // Groups within a node need none.
  for (const std::vector<int>& nic : groups_of_nics(RankOrder(megatron(4, 4, 1)).groups({D::tensor}), 8, 8))
    CHECK(nic.empty());
}

TEST_CASE("nodes of 4 and of 72: four data groups on each NIC's way, and none on any") {
  const std::vector<RankGroup> groups = RankOrder(megatron(4, 18, 1)).groups({D::data});
  REQUIRE(groups.size() == 4);
  for (const std::vector<int>& nic : groups_of_nics(groups, 4, 1)) CHECK(nic.size() == 4);
  for (const std::vector<int>& nic : groups_of_nics(groups, 4, 4)) CHECK(nic.size() == 1);
  REQUIRE(groups_of_nics(groups, 72, 72).size() == 72);
  for (const std::vector<int>& nic : groups_of_nics(groups, 72, 72)) CHECK(nic.empty());
}
