#pragma once
// Pieces of read_cluster(), shared by its source files only.
#include "sim/scenario/cluster_spec.hpp"
#include "sim/scenario/measured_link.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace cluster_read {

constexpr int kMostNodes = kMostGpus;
constexpr long kMostPlaces = 2L * kMostGpus;  ///< of a fabric
constexpr Range kBandwidth{1e3, 1e14};
constexpr Range kLatency{0, 1};

/// Reads {"bandwidth", "latency"}, or a copy of the cluster's profile (null: there is none).
LinkSpec read_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place);
Json to_json(const LinkSpec& link);
const Json& link_schema();

/// Describes a link's bandwidth or latency in a file: texts of its type and range, and its schema.
struct LinkQuantity {
  std::string type, range;
  Json schema;
};
const LinkQuantity& link_bandwidth();
const LinkQuantity& link_latency();

/// Makes a member of T that is a link.
template <class T>
auto add_link(ObjectFormat<T>& format, const std::string& key, LinkSpec T::*member, const calib::Profile* profile,
              const LinkPlace& place) {
  auto field = format.custom(key, "link", "", link_schema());
  field.reads([=](const JsonNode& node, T& object) { object.*member = read_link(node, profile, place); });
  field.writes([=](const T& object) { return to_json(object.*member); });
  field.unsaid_where([=](const T& object) { return (object.*member).bandwidth_bytes_per_s == 0; });
  return field;
}

/// Adds the key "kind" to an object whose other keys depend on it.
template <class T, class E>
void add_kind(ObjectFormat<T>& format, E T::*member, E kind) {
  auto field = format.custom("kind", "text", "", {{"const", name_of(kind)}});
  field.reads([=](const JsonNode&, T& object) { object.*member = kind; });
  field.writes([=](const T&) { return Json(name_of(kind)); });
}

IntraNodeSpec read_intra_node(const JsonNode& node, int gpus_per_node, const calib::Profile* profile);
Json to_json(const IntraNodeSpec& node);
Json intra_node_schema();
std::string intra_node_table(IntraNodeKind kind);

/// If the fabric gives no bandwidth, uses that of `nic`.
FabricSpec read_fabric(const JsonNode& node, int nodes, const NicSpec& nic);
Json to_json(const FabricSpec& fabric);
Json fabric_schema();
std::string fabric_table(FabricKind kind);
std::string nic_table();

}  // namespace cluster_read
}  // namespace lockstep::sim::scenario
