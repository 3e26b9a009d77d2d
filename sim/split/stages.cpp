#include "sim/split/stages.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "engine/base/index.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim::split {
namespace {

// Returns the name of the layer's block; empty if no component of the layer's name ends in a digit.
std::string block_name(const std::string& layer) {
  for (std::size_t end = 0; end < layer.size();) {
    end = std::min(layer.find_first_of("/.", end), layer.size());
    if (end > 0 && std::isdigit(static_cast<unsigned char>(layer[end - 1]))) return layer.substr(0, end);
    ++end;
  }
  return "";
}

[[noreturn]] void refuse(const std::string& what, const std::string& allowed) {
  throw InputError("/parallel/pipeline: " + what + "; allowed: " + allowed);
}

// Returns the units per part. Throws InputError if they do not divide evenly.
int even_share(int units, int parts, const std::string& what) {
  if (units >= 0 && units % parts == 0 && units > 0) return units / parts;
  const int fewer = units > 0 ? units / parts * parts : 0;
  refuse(what + " do not divide into " + std::to_string(parts) + " parts",
         "multiples of " + std::to_string(parts) +
             (fewer > 0 ? ", such as " + std::to_string(fewer) + " or " + std::to_string(fewer + parts) : "") +
             ", an uneven first or last stage, or the partition by cost");
}

// Returns the first item of each of `parts` parts. A part takes items while its cost is at most `most`. No part is
// empty.
std::vector<int> filled(const std::vector<double>& costs, int parts, double most) {
  const int items = static_cast<int>(costs.size());
  std::vector<int> begins{0};
  double sum = 0;
  for (int i = 0; i < items; ++i) {
    const int parts_to_begin = parts - static_cast<int>(begins.size());
    if (i > begins.back() && (sum + costs[to_index(i)] > most || items - i == parts_to_begin)) {
      begins.push_back(i);
      sum = 0;
    }
    sum += costs[to_index(i)];
  }
  return begins;
}

// Returns the least possible maximum of the parts' costs. In round k, least[i] is it for the first i items in k parts.
double least_maximum(const std::vector<double>& costs, int parts) {
  const std::size_t n = costs.size();
  const bool is_alike = std::all_of(costs.begin(), costs.end(), [&](double cost) { return cost == costs.front(); });
  if (is_alike) return costs.front() * std::ceil(static_cast<double>(n) / parts);
  std::vector<double> sums(n + 1, 0), least(n + 1, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + costs[i];
  least[0] = 0;
  for (int k = 0; k < parts; ++k) {
    std::vector<double> next = least;
    for (std::size_t i = 0; i <= n; ++i)
      for (std::size_t j = 0; j < i; ++j) next[i] = std::min(next[i], std::max(least[j], sums[i] - sums[j]));
    least = next;
  }
  return least[n];
}

}  // namespace

ModelBlocks blocks_of(const model::Graph& graph) {
  ModelBlocks model;
  std::set<std::string> seen;
  const int layers = static_cast<int>(graph.layers.size());
  int last_of_blocks = -1;
  for (int i = 0; i < layers; ++i) {
    const std::string name = block_name(graph.layers[to_index(i)].name);
    if (name.empty()) continue;
    if (model.blocks.empty() || model.blocks.back().name != name) {
      if (!seen.insert(name).second)
        throw InputError("model " + in_quotes(graph.name) + ": layers of block " + in_quotes(name) +
                         " stand in two places; allowed: blocks of consecutive layers");
      if (!model.blocks.empty()) model.blocks.back().last_layer = i - 1;
      model.blocks.push_back({name, i, i});
    }
    last_of_blocks = i;
  }
  if (model.blocks.empty())
    throw InputError("model " + in_quotes(graph.name) +
                     ": no blocks to deal out to a pipeline's stages; allowed: layers named by block, \"l1/query\"");
  model.blocks.back().last_layer = last_of_blocks;
  model.embedding = {"embedding", 0, model.blocks.front().first_layer - 1};
  model.loss = {"loss", last_of_blocks + 1, layers - 1};
  return model;
}

std::vector<ModelPart> partition(int blocks, int stages, int chunks, const PartitionRule& rule) {
  const bool is_uneven = rule.first_stage_blocks > 0 || rule.last_stage_blocks > 0;
  const int alone = rule.embedding_stands_alone ? 1 : 0;
  if (is_uneven && (rule.counts_embedding || rule.counts_loss || alone > 0))
    refuse("blocks of the first or last stage beside a place for embedding or loss", "one of the two");
  if (alone > 0 && (chunks > 1 || stages < 2 || rule.counts_embedding))
    refuse("an embedding that stands alone", "with two stages or more, one chunk each, not counted as a block");
  if (is_uneven && (stages == 1 || rule.first_stage_blocks % chunks != 0 || rule.last_stage_blocks % chunks != 0))
    refuse("an uneven first or last stage", "with two stages or more, in multiples of the chunks");

  const int fixed_stages = (rule.first_stage_blocks > 0 ? 1 : 0) + (rule.last_stage_blocks > 0 ? 1 : 0) + alone;
  const int units = blocks - rule.first_stage_blocks - rule.last_stage_blocks + (rule.counts_embedding ? 1 : 0) +
                    (rule.counts_loss ? 1 : 0);
  const int even_parts = (stages - fixed_stages) * chunks;
  if (even_parts == 0 && units != 0)
    refuse("first and last stage hold " + std::to_string(blocks - units) + " of " + std::to_string(blocks) + " blocks",
           "all of them");
  const int share = even_parts == 0 ? 0 : even_share(units, even_parts, std::to_string(units) + " blocks");

  std::vector<ModelPart> parts(to_index(stages * chunks));
  int next = 0;
  for (int part = 0; part < stages * chunks; ++part) {
    const int stage = part % stages;
    int count = share;
    if (stage == 0 && rule.first_stage_blocks > 0) count = rule.first_stage_blocks / chunks;
    if (stage == stages - 1 && rule.last_stage_blocks > 0) count = rule.last_stage_blocks / chunks;
    if (part == 0 && (alone > 0 || rule.counts_embedding)) count = alone > 0 ? 0 : share - 1;
    if (part == stages * chunks - 1 && rule.counts_loss) count -= 1;
    parts[to_index(part)] = {next, count, part == 0, part == stages * chunks - 1};
    next += count;
  }
  return parts;
}

std::vector<ModelPart> balanced_partition(const BlockCosts& costs, int stages, int chunks) {
  const int count = stages * chunks, blocks = static_cast<int>(costs.blocks.size());
  std::vector<double> items{costs.embedding};
  items.insert(items.end(), costs.blocks.begin(), costs.blocks.end());
  items.push_back(costs.loss);
  if (static_cast<int>(items.size()) < count)
    refuse(
        std::to_string(blocks) + " blocks, an embedding and a loss are fewer than " + std::to_string(count) + " parts",
        "at most " + std::to_string(items.size()) + " parts");
  // least_maximum() sums in another order, so the last bit may differ.
  const double most = least_maximum(items, count) * (1 + 1e-12);
  std::vector<int> begins = filled(items, count, most);
  begins.push_back(static_cast<int>(items.size()));
  std::vector<ModelPart> parts;
  for (int part = 0; part < count; ++part) {
    // Item i + 1 is block i.
    const int first = std::max(begins[to_index(part)] - 1, 0), end = std::min(begins[to_index(part + 1)] - 1, blocks);
    parts.push_back({first, end - first, part == 0, part == count - 1});
  }
  return parts;
}

std::vector<ModelPart> cumulative_partition(const BlockCosts& costs, int parts) {
  const double total = std::accumulate(costs.blocks.begin(), costs.blocks.end(), costs.embedding + costs.loss);
  std::vector<ModelPart> all(to_index(parts));
  all.front().has_embedding = all.back().has_loss = true;
  double so_far = costs.embedding;
  int part = 0;
  for (int block = 0; block < static_cast<int>(costs.blocks.size()); ++block) {
    ++all[to_index(part)].blocks;
    so_far += costs.blocks[to_index(block)];
    if (so_far <= total * (part + 1) / parts || part + 1 == parts) continue;
    all[to_index(++part)].first_block = block + 1;
  }
  for (++part; part < parts; ++part) all[to_index(part)].first_block = static_cast<int>(costs.blocks.size());
  return all;
}

double cost_of(const ModelPart& part, const BlockCosts& costs) {
  double cost = (part.has_embedding ? costs.embedding : 0) + (part.has_loss ? costs.loss : 0);
  for (int i = 0; i < part.blocks; ++i) cost += costs.blocks[to_index(part.first_block + i)];
  return cost;
}

}  // namespace lockstep::sim::split
