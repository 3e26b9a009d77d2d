#include "sim/plan/layer_groups.hpp"

#include <algorithm>
#include <cctype>

#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr std::size_t kMostGroups = 12;

// Returns the leading letters and the digits after them: "conv2_1/relu" -> "conv2", "s3b1/1x1a" -> "s3", "5b.b1.0" ->
// "5b", "fc6" -> "fc6".
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
  group.gradient_bytes += layer.parameters;  // converted to bytes on the wire later
}

// A layer without time and parameters (input, or loss without cost) joins the group before it.
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

// Returns the number in "l12", a transformer's layer; 0: another name.
int transformer_layer(const std::string& name) {
  if (name.size() < 2 || name.size() > 6 || name[0] != 'l') return 0;
  return name.find_first_not_of("0123456789", 1) == std::string::npos ? std::stoi(name.substr(1)) : 0;
}

// Returns the name of a group of consecutive layers: "embedding and layers 1 to 4".
std::string transformer_name(const std::vector<std::string>& names) {
  int first = 0, last = 0;
  bool has_embedding = false, has_head = false;
  for (const std::string& name : names) {
    const int layer = transformer_layer(name);
    if (layer == 0) (last == 0 && names.front() == "words" ? has_embedding : has_head) = true;
    if (layer > 0 && first == 0) first = layer;
    if (layer > 0) last = layer;
  }
  std::string text = has_embedding ? "embedding" : "";
  if (first > 0)
    text += (text.empty() ? "" : " and ") + (first == last
                                                 ? "layer " + std::to_string(first)
                                                 : "layers " + std::to_string(first) + " to " + std::to_string(last));
  return text + (has_head ? std::string(text.empty() ? "" : " and ") + "head" : "");
}

// Makes at most kMostGroups groups of whole layers of a transformer.
std::vector<LayerGroup> of_transformer(const std::vector<LayerGroup>& fine) {
  double total = 0, before = 0;
  for (const LayerGroup& g : fine) total += g.forward_s + g.backward_s;
  const double shares = fine.size() > kMostGroups ? kMostGroups : 0;
  std::vector<LayerGroup> groups;
  std::vector<std::vector<std::string>> names;
  std::size_t share = kMostGroups;
  for (const LayerGroup& g : fine) {
    const auto mine = static_cast<std::size_t>(before / total * shares);
    if (groups.empty() || shares == 0 || mine != share) {
      groups.push_back({g.name});
      names.emplace_back();
      share = mine;
    }
    names.back().push_back(g.name);
    groups.back().forward_s += g.forward_s;
    groups.back().backward_s += g.backward_s;
    groups.back().gradient_bytes += g.gradient_bytes;
    groups.back().layers += transformer_layer(g.name) > 0 ? 1 : 0;
    before += g.forward_s + g.backward_s;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name = transformer_name(names[i]);
  return groups;
}

}  // namespace

std::vector<LayerGroup> layer_groups(const Scenario& s, int batch_per_gpu, double compute_s,
                                     std::optional<double> update_s) {
  Scenario at_point = s;
  at_point.compute.busy_devices = std::min(s.gpus.front(), s.cluster.gpus_per_node);
  const ModelCost cost = model_cost(at_point, batch_per_gpu);
  std::vector<LayerGroup> groups = by_stem(layer_times(s, cost));
  const bool has_layers =
      std::any_of(groups.begin(), groups.end(), [](const LayerGroup& g) { return transformer_layer(g.name) > 0; });
  if (s.model.transformer && has_layers)
    groups = of_transformer(groups);
  else if (groups.size() > kMostGroups)
    groups = by_shares(groups);
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
