#include "sim/plan/layer_groups.hpp"

#include <cctype>

#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr std::size_t kMostGroups = 12;

// Letters and the digits after them: "conv2_1/relu" -> "conv2", "s3b1/1x1a" -> "s3", "5b.b1.0" -> "5b", "fc6" -> "fc6".
std::string stem(const std::string& name) {
  std::size_t end = 0;
  const auto is = [&](auto kind) { return end < name.size() && kind(static_cast<unsigned char>(name[end])); };
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (is(digit)) {
    while (is(digit)) ++end;
    while (is(letter)) ++end;
  } else {
    while (is(letter)) ++end;
    while (is(digit)) ++end;
  }
  return end == 0 ? name : name.substr(0, end);
}

struct LayerTime {
  std::string name;
  double forward_s, backward_s, parameters;
};

std::vector<LayerTime> layer_times(const Scenario& s, const ModelCost& cost) {
  std::vector<LayerTime> times;
  for (std::size_t i = 0; i < s.model.layers.size(); ++i)
    times.push_back({s.model.layers[i].name, cost.layers[i].forward_s, cost.layers[i].backward_s,
                     static_cast<double>(s.model.layers[i].parameter_count())});
  return times;
}

void add(const LayerTime& layer, LayerGroup& group) {
  group.forward_s += layer.forward_s;
  group.backward_s += layer.backward_s;
  group.gradient_bytes += layer.parameters;  // times bytes on the wire later
}

// A layer without time and parameters (input, loss of no cost) joins the group before it.
std::vector<LayerGroup> by_stem(const std::vector<LayerTime>& layers) {
  std::vector<LayerGroup> groups;
  std::string last;
  for (const LayerTime& layer : layers) {
    const bool is_nothing = layer.forward_s + layer.backward_s + layer.parameters <= 0;
    const std::string name = stem(layer.name);
    if (is_nothing && groups.empty()) continue;
    if (!is_nothing && (groups.empty() || name != last)) {
      groups.push_back({name});
      last = name;
    }
    add(layer, groups.back());
    groups.back().layers += !is_nothing;
  }
  return groups;
}

std::vector<LayerGroup> by_shares(const std::vector<LayerGroup>& fine) {
  double total = 0, before = 0;
  for (const LayerGroup& g : fine) total += g.forward_s + g.backward_s;
  std::vector<LayerGroup> groups;
  std::vector<std::string> last;
  std::size_t share = kMostGroups;
  for (const LayerGroup& g : fine) {
    const auto mine = static_cast<std::size_t>(before / total * kMostGroups);
    if (groups.empty() || mine != share) {
      groups.push_back({g.name});
      last.push_back(g.name);
      share = mine;
    }
    last.back() = g.name;
    groups.back().forward_s += g.forward_s;
    groups.back().backward_s += g.backward_s;
    groups.back().gradient_bytes += g.gradient_bytes;
    groups.back().layers += g.layers;
    before += g.forward_s + g.backward_s;
  }
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (last[i] != groups[i].name) groups[i].name += " to " + last[i];
  return groups;
}

}  // namespace

std::vector<LayerGroup> layer_groups(const Scenario& s, int batch_per_gpu, double compute_s,
                                     std::optional<double> update_s) {
  Scenario at_point = s;
  at_point.compute.busy_devices = std::min(s.gpus.front(), s.cluster.gpus_per_node);
  const ModelCost cost = model_cost(at_point, batch_per_gpu);
  std::vector<LayerGroup> groups = by_stem(layer_times(s, cost));
  if (groups.size() > kMostGroups) groups = by_shares(groups);
  const double factor =
      update_s ? (compute_s - *update_s) / (cost.forward_s() + cost.backward_s()) : compute_s / cost.iteration_s();
  const double all_updates_s = update_s.value_or(cost.update_s * factor);
  const double parameters = static_cast<double>(s.model.parameter_count());
  for (LayerGroup& g : groups) {
    g.forward_s *= factor;
    g.backward_s *= factor;
    g.update_s = all_updates_s * g.gradient_bytes / parameters;
    g.gradient_bytes *= bytes_of(s.communication.wire);
  }
  return groups;
}

}  // namespace lockstep::sim::plan
