// Places the layers of a model on the stages of a pipeline.
#include "sim/split/stages.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::vector<int> counts(const std::vector<ModelPart>& parts) {
  std::vector<int> counts;
  for (const ModelPart& part : parts) counts.push_back(part.blocks);
  return counts;
}

void check_covers(const std::vector<ModelPart>& parts, int blocks) {
  int next = 0;
  for (const ModelPart& part : parts) {
    REQUIRE(part.first_block == next);
    REQUIRE(part.blocks >= 0);
    next += part.blocks;
  }
  REQUIRE(next == blocks);
  REQUIRE((parts.front().has_embedding && parts.back().has_loss));
  const auto embeddings = std::count_if(parts.begin(), parts.end(), [](const ModelPart& p) { return p.has_embedding; });
  const auto losses = std::count_if(parts.begin(), parts.end(), [](const ModelPart& p) { return p.has_loss; });
  REQUIRE((embeddings == 1 && losses == 1));
}

double costliest(const std::vector<ModelPart>& parts, const BlockCosts& costs) {
  double most = 0;
  for (const ModelPart& part : parts) most = std::max(most, cost_of(part, costs));
  return most;
}

// Finds the least maximum by trying every partition of the items from `from` on.
double least_by_trying(const std::vector<double>& items, std::size_t from, int parts) {
  double sum = 0;
  for (std::size_t i = from; i < items.size(); ++i) sum += items[i];
  if (parts == 1) return sum;
  double least = sum, first = 0;
  for (std::size_t i = from; i + 1 < items.size(); ++i) {
    first += items[i];
    least = std::min(least, std::max(first, least_by_trying(items, i + 1, parts - 1)));
  }
  return least;
}

model::Graph chain(const std::vector<std::string>& names) {
  model::GraphBuilder net("chain", "Chain", {4, 1, 1});
  int at = 0;
  for (const std::string& name : names) at = net.fc(name, at, 4);
  return net.finish();
}

}  // namespace

TEST_CASE("blocks of a graph by their layers' names") {
  const ModelBlocks model = blocks_of(
      chain({"words", "h.0.query", "h.0.output", "h.0/mlp", "h.1.query", "drop", "h.1.output", "norm", "head"}));
  REQUIRE(model.blocks.size() == 2);
  CHECK(model.blocks[0].name == "h.0");
  // The graph's input is layer 0.
  CHECK(model.embedding.last_layer == 1);
  CHECK(model.blocks[0].first_layer == 2);
  CHECK(model.blocks[0].last_layer == 4);
  CHECK(model.blocks[1].last_layer == 7);
  CHECK(model.loss.first_layer == 8);
  CHECK(model.loss.last_layer == 9);
  CHECK_THROWS_WITH(blocks_of(chain({"l1/a", "l2/a", "l1/b"})), Contains("\"l1\" stand in two places"));
  CHECK_THROWS_WITH(blocks_of(chain({"a", "b"})), Contains("no blocks to deal out"));
}

TEST_CASE("BERT-large of the zoo has 24 blocks, alike but for nothing") {
  const model::Graph graph = model::zoo_graph("bert_large");
  const ModelBlocks model = blocks_of(graph);
  REQUIRE(model.blocks.size() == 24);
  const int layers = model.blocks[0].last_layer - model.blocks[0].first_layer;
  for (const Block& block : model.blocks) CHECK(block.last_layer - block.first_layer == layers);
}

TEST_CASE("even stages, and chunks in turn over the stages") {
  CHECK(counts(partition(12, 4, 1)) == std::vector<int>{3, 3, 3, 3});
  const std::vector<ModelPart> chunks = partition(8, 2, 2);
  // Narayanan et al. 2021, section 2.2: device 1 has layers 1, 2, 5, 6.
  CHECK(chunks[0] == ModelPart{0, 2, true, false});
  CHECK(chunks[1] == ModelPart{2, 2, false, false});
  CHECK(chunks[2] == ModelPart{4, 2, false, false});
  CHECK(chunks[3] == ModelPart{6, 2, false, true});
  CHECK_THROWS_WITH(partition(10, 4, 1), Contains("10 blocks do not divide into 4 parts") && Contains("8 or 12"));
  CHECK_THROWS_WITH(partition(3, 4, 1), Contains("multiples of 4"));
}

TEST_CASE("uneven stages as Megatron-LM's options have them") {
  PartitionRule rule;
  rule.first_stage_blocks = 2;
  CHECK(counts(partition(11, 4, 1, rule)) == std::vector<int>{2, 3, 3, 3});
  rule.last_stage_blocks = 1;
  CHECK(counts(partition(11, 4, 1, rule)) == std::vector<int>{2, 4, 4, 1});
  CHECK(counts(partition(3, 2, 1, rule)) == std::vector<int>{2, 1});
  CHECK_THROWS_WITH(partition(4, 2, 1, rule), Contains("hold 3 of 4 blocks"));
  // Llama 3 405B: 126 layers on 16 stages, embedding and loss in the place of one each.
  PartitionRule counted;
  counted.counts_embedding = counted.counts_loss = true;
  const std::vector<ModelPart> llama = partition(126, 16, 1, counted);
  check_covers(llama, 126);
  CHECK(llama.front().blocks == 7);
  CHECK(llama[1].blocks == 8);
  CHECK(llama.back().blocks == 7);
  // With chunks: only the first and the last one are shorter.
  CHECK(counts(partition(6, 2, 2, counted)) == std::vector<int>{1, 2, 2, 1});
  PartitionRule alone;
  alone.embedding_stands_alone = true;
  CHECK(counts(partition(12, 4, 1, alone)) == std::vector<int>{0, 4, 4, 4});
  alone.counts_embedding = true;
  CHECK_THROWS_WITH(partition(12, 4, 1, alone), Contains("stands alone"));
  rule.counts_loss = true;
  CHECK_THROWS_WITH(partition(11, 4, 1, rule), Contains("allowed: one of the two"));
}

TEST_CASE("partitions by cost: as good as the best of all, none empty") {
  for (int trial = 0; trial < 200; ++trial) {
    const auto draw = [&](std::uint64_t which) { return random_uniform(5, which, static_cast<std::uint64_t>(trial)); };
    const int blocks = 1 + static_cast<int>(draw(1) * 9);
    const int parts = 1 + static_cast<int>(draw(2) * std::min(5, blocks + 1));
    BlockCosts costs{3 * draw(3), {}, 3 * draw(4)};
    for (int i = 0; i < blocks; ++i) costs.blocks.push_back(draw(10 + static_cast<std::uint64_t>(i)));
    std::vector<double> items{costs.embedding};
    items.insert(items.end(), costs.blocks.begin(), costs.blocks.end());
    items.push_back(costs.loss);
    const std::vector<ModelPart> found = balanced_partition(costs, parts, 1);
    check_covers(found, blocks);
    for (const ModelPart& part : found) REQUIRE((part.blocks > 0 || part.has_embedding || part.has_loss));
    REQUIRE(costliest(found, costs) == Approx(least_by_trying(items, 0, parts)));
  }
}

TEST_CASE("partitions by cost, by hand") {
  // DeepSpeed's "type:transformer|embedding" of BLOOM: 70 blocks and two embeddings on 12 stages.
  const BlockCosts bloom{1, std::vector<double>(70, 1.0), 1};
  CHECK(counts(balanced_partition(bloom, 12, 1)) == std::vector<int>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5});
  // The loss costs as much as three blocks.
  const BlockCosts loss{0, std::vector<double>(9, 1.0), 3};
  CHECK(counts(balanced_partition(loss, 3, 1)) == std::vector<int>{4, 4, 1});
  CHECK_THROWS_WITH(balanced_partition({1, {1, 1}, 1}, 5, 1), Contains("fewer than 5 parts"));
  check_covers(balanced_partition(bloom, 6, 3), 70);
}

TEST_CASE("partitions by cumulative cost: a part ends with the block that exceeds its share, by nanotron's rule") {
  // A loss of two blocks: shares of 3.25, 6.5 ... 22.75 are exceeded by blocks 4, 7, 10, 14, 17, 20 and 23.
  const BlockCosts llama{0, std::vector<double>(24, 1.0), 2};
  CHECK(counts(cumulative_partition(llama, 8)) == std::vector<int>{4, 3, 3, 4, 3, 3, 3, 1});
  CHECK(counts(cumulative_partition(llama, 1)) == std::vector<int>{24});
  // Without the loss, even shares are reached but not exceeded, so that parts end one block later.
  CHECK(counts(cumulative_partition({0, std::vector<double>(8, 1.0), 0}, 4)) == std::vector<int>{3, 2, 2, 1});
  for (int trial = 0; trial < 100; ++trial) {
    const auto draw = [&](std::uint64_t which) { return random_uniform(6, which, static_cast<std::uint64_t>(trial)); };
    BlockCosts costs{0, {}, 3 * draw(1)};
    const int blocks = 1 + static_cast<int>(draw(2) * 40), parts = 1 + static_cast<int>(draw(3) * 8);
    for (int i = 0; i < blocks; ++i) costs.blocks.push_back(draw(10 + static_cast<std::uint64_t>(i)));
    const std::vector<ModelPart> found = cumulative_partition(costs, parts);
    check_covers(found, blocks);
    const double total = std::accumulate(costs.blocks.begin(), costs.blocks.end(), costs.loss);
    for (int part = 0; part + 1 < parts; ++part) {
      const ModelPart& one = found[to_index(part)];
      const int end = one.first_block + one.blocks;
      const double so_far = std::accumulate(costs.blocks.begin(), costs.blocks.begin() + end, 0.0);
      if (end < blocks) CHECK(so_far > total * (part + 1) / parts);
      if (one.blocks > 1) CHECK(so_far - costs.blocks[to_index(end - 1)] <= total * (part + 1) / parts * (1 + 1e-12));
    }
  }
}
