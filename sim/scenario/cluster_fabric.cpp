#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "sim/scenario/cluster_read.hpp"

namespace lockstep::sim::scenario {
namespace {

long product(const std::vector<int>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1L, std::multiplies<>());
}

}  // namespace

long FabricSpec::places() const {
  switch (kind) {
    case FabricKind::star:
      return 0;
    case FabricKind::fat_tree:
      return product(fat_tree.down);
    case FabricKind::torus:
      return product(torus);
    case FabricKind::dragonfly:
      return product({dragonfly.groups.first, dragonfly.chassis.first, dragonfly.routers.first, dragonfly.nodes});
  }
  return 0;
}

void FabricSpec::scale_bandwidth(double factor) {
  link.bandwidth_bytes_per_s *= factor;
  for (LinkSpec& of_level : fat_tree.links) of_level.bandwidth_bytes_per_s *= factor;
}

void FabricSpec::scale_latency(double factor) {
  link.latency_s *= factor;
  for (LinkSpec& of_level : fat_tree.links) of_level.latency_s *= factor;
}

namespace cluster_read {
namespace {

constexpr int kMostLevels = 8;
constexpr int kMostPorts = 4096;

// Reads 1 to kMostLevels whole numbers whose products fit into a long.
std::vector<int> read_counts(const JsonNode& node) {
  std::vector<int> counts;
  for (const JsonNode& item : node.items()) {
    counts.push_back(static_cast<int>(item.integer(1, kMostPorts)));
    if (product(counts) > kMostPlaces) item.fail("more than " + std::to_string(kMostPlaces) + " places in all");
  }
  if (counts.empty() || counts.size() > kMostLevels)
    node.fail(std::to_string(counts.size()) + " numbers", "allowed: 1 to " + std::to_string(kMostLevels));
  return counts;
}

FatTreeSpec read_levels(const JsonNode& node) {
  node.keys({"down", "up", "count", "bandwidth", "latency"});
  FatTreeSpec tree{read_counts(node.at("down")), read_counts(node.at("up")), read_counts(node.at("count"))};
  for (const auto* key : {"up", "count"}) {
    const std::vector<int>& numbers = *key == 'u' ? tree.up : tree.count;
    if (numbers.size() != tree.down.size())
      node.at(key).fail(std::to_string(numbers.size()) + " levels, but \"down\" has " +
                        std::to_string(tree.down.size()));
  }
  return tree;
}

// Reads the quantities of a key of "levels", one for each level; none if the key is missing.
std::vector<double> read_of_levels(const JsonNode& node, const char* key, Dimension dimension, const Range& range,
                                   std::size_t levels) {
  std::vector<double> quantities;
  if (!node.has(key)) return quantities;
  for (const JsonNode& item : node.at(key).items()) quantities.push_back(item.sourced_quantity(dimension, range));
  if (quantities.size() != levels)
    node.at(key).fail(std::to_string(quantities.size()) + " levels, but \"down\" has " + std::to_string(levels));
  return quantities;
}

// Links of the levels that have a bandwidth or latency of their own; the fabric has the other.
std::vector<LinkSpec> read_links(const JsonNode& node, const FabricSpec& fabric) {
  const std::size_t levels = fabric.fat_tree.down.size();
  const std::vector<double> bandwidths = read_of_levels(node, "bandwidth", Dimension::bandwidth, kBandwidth, levels);
  const std::vector<double> latencies = read_of_levels(node, "latency", Dimension::time, kLatency, levels);
  if (bandwidths.empty() && latencies.empty()) return {};
  std::vector<LinkSpec> links(levels, fabric.link);
  for (std::size_t level = 0; level < levels; ++level) {
    if (!bandwidths.empty()) links[level].bandwidth_bytes_per_s = bandwidths[level];
    if (!latencies.empty()) links[level].latency_s = latencies[level];
  }
  return links;
}

// Leaves of `leaf_nodes` nodes below one level of spines; every leaf has leaf_nodes / oversubscription uplinks.
FatTreeSpec read_two_levels(const JsonNode& node, int nodes) {
  const int leaf_nodes = format_text::whole(node.at("leaf_nodes"), 1, kMostPorts);
  const int oversubscription = format_text::whole(node.at("oversubscription"), 1, leaf_nodes);
  if (leaf_nodes % oversubscription != 0)
    node.at("oversubscription")
        .fail(std::to_string(oversubscription) + " does not divide \"leaf_nodes\", " + std::to_string(leaf_nodes));
  const int leaves = (nodes + leaf_nodes - 1) / leaf_nodes;
  return {{leaf_nodes, leaves}, {1, leaf_nodes / oversubscription}, {1, 1}};
}

FatTreeSpec read_fat_tree(const JsonNode& node, int nodes) {
  if (!node.has("levels")) return read_two_levels(node, nodes);
  for (const auto* key : {"leaf_nodes", "oversubscription"})
    if (const auto both = node.find(key)) both->fail("given beside \"levels\"", "allowed: one of the two forms");
  return read_levels(node.at("levels"));
}

// Reads [count, links between two of them].
std::pair<int, int> read_count_and_links(const JsonNode& node) {
  const std::vector<JsonNode> numbers = node.items();
  if (numbers.size() != 2)
    node.fail("expected 2 numbers, got " + std::to_string(numbers.size()), "allowed: [count, links]");
  return {static_cast<int>(numbers[0].integer(1, kMostPorts)), static_cast<int>(numbers[1].integer(1, kMostPorts))};
}

DragonflySpec read_dragonfly(const JsonNode& node) {
  DragonflySpec dragonfly{read_count_and_links(node.at("groups")), read_count_and_links(node.at("chassis")),
                          read_count_and_links(node.at("routers")),
                          static_cast<int>(node.at("nodes").integer(1, kMostPorts))};
  // SimGrid links group i to group j by the i-th router of a chassis.
  if (dragonfly.groups.first > 1 && dragonfly.groups.first > dragonfly.routers.first)
    node.at("groups").fail(std::to_string(dragonfly.groups.first) + " groups need as many routers in a chassis",
                           "allowed: up to " + std::to_string(dragonfly.routers.first));
  return dragonfly;
}

void check_places(const JsonNode& node, const FabricSpec& fabric, int nodes) {
  const long places = fabric.places();
  if (places > kMostPlaces) node.fail(std::to_string(places) + " places", "allowed: " + std::to_string(kMostPlaces));
  if (fabric.kind != FabricKind::star && places < nodes)
    node.fail("places for " + std::to_string(places) + " nodes, but the cluster has " + std::to_string(nodes));
}

Json counts_schema() {
  return {{"type", "array"},
          {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostPorts}}},
          {"minItems", 1},
          {"maxItems", kMostLevels}};
}

Json pair_schema() {
  Json schema = counts_schema();
  schema["minItems"] = schema["maxItems"] = 2;
  return schema;
}

// Describes a key that a reader takes from the whole object, because levels and places depend on each other.
template <class Write>
void add_key(ObjectFormat<FabricSpec>& f, const std::string& key, const std::string& type, const Json& schema,
             const std::string& meaning, const Write& write) {
  auto field = f.custom(key, type, "", schema);
  field.optional().means(meaning);
  field.reads([](const JsonNode&, FabricSpec&) {});
  field.writes(write);
}

Json nothing(const FabricSpec&) {
  return Json();
}

Json quantities_schema(const LinkQuantity& quantity) {
  return {{"type", "array"}, {"items", quantity.schema}, {"minItems", 1}, {"maxItems", kMostLevels}};
}

Json write_levels(const FabricSpec& fabric) {
  const FatTreeSpec& tree = fabric.fat_tree;
  Json levels{{"down", tree.down}, {"up", tree.up}, {"count", tree.count}};
  for (const LinkSpec& link : tree.links) {
    levels["bandwidth"].push_back(quantity_text(link.bandwidth_bytes_per_s, Dimension::bandwidth));
    levels["latency"].push_back(quantity_text(link.latency_s, Dimension::time));
  }
  return levels;
}

void add_fat_tree(ObjectFormat<FabricSpec>& f) {
  const Json levels{{"type", "object"},
                    {"properties",
                     {{"down", counts_schema()},
                      {"up", counts_schema()},
                      {"count", counts_schema()},
                      {"bandwidth", quantities_schema(link_bandwidth())},
                      {"latency", quantities_schema(link_latency())}}},
                    {"required", {"down", "up", "count"}},
                    {"additionalProperties", false}};
  add_key(f, "levels", "`{\"down\", \"up\", \"count\"}`", levels,
          "lowest level first: children of a switch, parents of a child, parallel links between them. `bandwidth` and "
          "`latency`, lists of as many values, give the levels links of their own, such as those between data centres",
          write_levels);
  const Json whole = format_text::schema_of_sourced({{"type", "integer"}, {"minimum", 1}, {"maximum", kMostPorts}});
  add_key(f, "leaf_nodes", "whole, **S**", whole, "two levels: nodes below a leaf switch", nothing);
  add_key(f, "oversubscription", "whole, **S**", whole,
          "two levels: a leaf has `leaf_nodes / oversubscription` uplinks", nothing);
  f.choice("routing", &FabricSpec::routing)
      .optional("`d-mod-k`")
      .means(
          "`d-mod-k`: the destination's number chooses the port, so that flows to different nodes of a leaf take "
          "different ports. `ecmp`: a hash of the connection's two GPUs chooses it, so that connections can collide");
  f.whole("hashes", &FabricSpec::hashes, 1, 1000)
      .optional("`20`")
      .means(
          "hash functions of `ecmp` over which times are predicted; the median is shown, and the interval covers 80 %");
  f.whole("hash", &FabricSpec::hash, 1, std::numeric_limits<int>::max())
      .optional("all `hashes`")
      .means("number of the only hash function of `ecmp` that is predicted");
}

void add_dragonfly(ObjectFormat<FabricSpec>& f) {
  const auto add_pair = [&](const std::string& key, std::pair<int, int> DragonflySpec::*member) {
    add_key(f, key, "`[count, links]`", pair_schema(), "how many, and links between two of them",
            [member](const FabricSpec& fabric) {
              const auto& pair = fabric.dragonfly.*member;
              return Json{pair.first, pair.second};
            });
  };
  add_pair("groups", &DragonflySpec::groups);
  add_pair("chassis", &DragonflySpec::chassis);
  add_pair("routers", &DragonflySpec::routers);
  add_key(f, "nodes", "whole", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostPorts}}, "nodes at a router",
          [](const FabricSpec& fabric) { return Json(fabric.dragonfly.nodes); });
  f.then([](const JsonNode& node, FabricSpec& fabric) { fabric.dragonfly = read_dragonfly(node); });
}

// Describes the keys of a kind. read_fabric() reads keys that depend on the nodes and their NICs, and keys that are
// checked earlier.
ObjectFormat<FabricSpec> make_fabric_format(FabricKind kind) {
  using Spec = FabricSpec;
  ObjectFormat<Spec> f(name_of(kind));
  add_kind(f, &Spec::kind, kind);
  const auto keep = [](const JsonNode&, Spec&) {};
  const LinkQuantity &of_bandwidth = link_bandwidth(), &of_latency = link_latency();
  auto latency = f.custom("latency", of_latency.type, of_latency.range, of_latency.schema);
  latency.means("of each link of the fabric that a message passes; a star counts as one");
  latency.reads(keep);
  latency.writes([](const Spec& fabric) { return Json(quantity_text(fabric.link.latency_s, Dimension::time)); });
  auto bandwidth = f.custom("bandwidth", of_bandwidth.type, of_bandwidth.range, of_bandwidth.schema);
  bandwidth.optional("`per_node` times `bandwidth` of the NICs; required without `nic`")
      .means("of each link; in a star, of a node's port");
  bandwidth.reads(keep);
  bandwidth.writes(
      [](const Spec& fabric) { return Json(quantity_text(fabric.link.bandwidth_bytes_per_s, Dimension::bandwidth)); });
  switch (kind) {
    case FabricKind::star:
      break;
    case FabricKind::fat_tree:
      add_fat_tree(f);
      break;
    case FabricKind::torus:
      add_key(f, "dimensions", "array of whole", counts_schema(), "size of each dimension",
              [](const Spec& fabric) { return Json(fabric.torus); });
      f.then([](const JsonNode& node, Spec& fabric) { fabric.torus = read_counts(node.at("dimensions")); });
      break;
    case FabricKind::dragonfly:
      add_dragonfly(f);
      break;
  }
  return f;
}

const ObjectFormat<FabricSpec>& fabric_format(FabricKind kind) {
  static const std::map<FabricKind, ObjectFormat<FabricSpec>> formats = [] {
    std::map<FabricKind, ObjectFormat<FabricSpec>> of_kinds;
    for (const Choice<FabricKind>& each : choices_of(FabricKind()))
      of_kinds.emplace(each.value, make_fabric_format(each.value));
    return of_kinds;
  }();
  return formats.at(kind);
}

}  // namespace

FabricSpec read_fabric(const JsonNode& node, int nodes, const NicSpec& nic) {
  FabricSpec fabric = fabric_format(read_choice<FabricKind>(node.at("kind"))).read(node);
  if (fabric.kind == FabricKind::fat_tree) fabric.fat_tree = read_fat_tree(node, nodes);
  check_places(node, fabric, nodes);
  for (const auto* key : {"hashes", "hash"})
    if (node.has(key) && fabric.routing != Routing::ecmp)
      node.at(key).fail("without \"routing\": \"ecmp\"", "allowed: with it");
  fabric.link.latency_s = node.at("latency").sourced_quantity(Dimension::time, kLatency);
  const double nics_bytes_per_s = nic.per_node * nic.link.bandwidth_bytes_per_s;
  fabric.link.bandwidth_bytes_per_s = node.has("bandwidth") || nics_bytes_per_s <= 0  // a server may have no NIC
                                          ? node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth)
                                          : nics_bytes_per_s;
  if (fabric.kind == FabricKind::fat_tree && node.has("levels"))
    fabric.fat_tree.links = read_links(node.at("levels"), fabric);
  return fabric;
}

Json to_json(const FabricSpec& fabric) {
  return fabric_format(fabric.kind).write(fabric);
}

std::string fabric_table(FabricKind kind) {
  return fabric_format(kind).table();
}

Json fabric_schema() {
  Json kinds = Json::array();
  for (const Choice<FabricKind>& kind : choices_of(FabricKind())) kinds.push_back(fabric_format(kind.value).schema());
  return {{"anyOf", kinds}};
}

}  // namespace cluster_read
}  // namespace lockstep::sim::scenario
