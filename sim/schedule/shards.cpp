#include "sim/schedule/shards.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {
namespace {

std::string module_of(const std::string& layer) {
  return layer.substr(0, layer.find_first_of("./"));
}

// For each layer, true if the last layer depends on it.
std::vector<bool> leads_to_the_end(const model::Graph& graph) {
  std::vector<bool> leads(graph.layers.size(), false);
  if (!leads.empty()) leads.back() = true;
  for (std::size_t l = graph.layers.size(); l-- > 0;)
    if (leads[l])
      for (int input : graph.layers[l].inputs) leads[to_index(input)] = true;
  return leads;
}

}  // namespace

std::vector<Shard> equal_shards(const model::Graph& graph, const ModelCost& cost, int bytes_per_element, int servers) {
  const std::int64_t total = graph.parameter_count();
  std::vector<Shard> shards(to_index(servers));
  for (int j = 0; j < servers; ++j) {
    shards[to_index(j)].server = j;
    shards[to_index(j)].bytes = (total + servers - 1) / servers * bytes_per_element;
  }
  std::int64_t elements = 0;  // elements of the layers so far
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    elements += graph.layers[l].parameter_count();
    // The shard that holds the last parameter so far. Layers before the first parameter belong to the first shard.
    const std::int64_t last = std::max<std::int64_t>(elements - 1, 0);
    Shard& shard = shards[to_index(std::min(servers - 1, static_cast<int>(((last + 1) * servers - 1) / total)))];
    if (shard.name.empty()) shard.name = graph.layers[l].name;
    shard.forward_s += cost.layers[l].forward_s;
    shard.backward_s += cost.layers[l].backward_s;
  }
  return shards;
}

std::vector<Shard> module_shards(const model::Graph& graph, const ModelCost& cost, int bytes_per_element, int servers) {
  const std::vector<bool> leads = leads_to_the_end(graph);
  std::vector<Shard> shards;
  Shard ahead;  // work without parameters before the next module
  std::string open;
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    const model::Layer& layer = graph.layers[l];
    const std::string module = module_of(layer.name);
    const bool continues = !shards.empty() && module == open;
    if (!continues && layer.parameter_count() == 0) {
      ahead.forward_s += cost.layers[l].forward_s;
      ahead.backward_s += cost.layers[l].backward_s;
      continue;
    }
    if (!continues) {
      shards.push_back(ahead);
      shards.back().name = open = module;
      shards.back().is_side_branch = true;
      ahead = {};
    }
    if (leads[l]) shards.back().is_side_branch = false;
    shards.back().bytes += layer.parameter_count() * bytes_per_element;
    shards.back().forward_s += cost.layers[l].forward_s;
    shards.back().backward_s += cost.layers[l].backward_s;
  }
  shards.back().forward_s += ahead.forward_s;
  shards.back().backward_s += ahead.backward_s;

  std::vector<std::int64_t> held(to_index(servers), 0);
  for (Shard& shard : shards) {
    shard.server = static_cast<int>(std::min_element(held.begin(), held.end()) - held.begin());
    held[to_index(shard.server)] += shard.bytes;
  }
  return shards;
}

}  // namespace lockstep::sim::schedule
