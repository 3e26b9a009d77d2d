#include "sim/scenario/parameter_server_spec.hpp"

namespace lockstep::sim {
namespace {

const Range kBandwidth{1e3, 1e15};
constexpr int kMostServers = 65536;
constexpr int kMostStreams = 256;

void read_staging(const JsonNode& node, ParameterServerSpec& spec) {
  node.keys({"bandwidth", "overlap"});
  spec.staging_bytes_per_s = node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
  spec.staging_overlaps = node.at("overlap").boolean();
}

}  // namespace

ParameterServerSpec read_parameter_server(const JsonNode& node) {
  node.keys({"scheme", "servers", "placement", "sharding", "pair_size", "pairs_per_message", "streams", "barrier",
             "staging", "apply_rate"});
  ParameterServerSpec spec;
  spec.scheme = read_choice<ServerScheme>(node.at("scheme"));
  spec.separate = node.at("placement").choice({"co-located", "separate"}) == "separate";
  spec.servers = static_cast<int>(node.at("servers").integer(0, kMostServers));
  if (spec.separate && spec.servers == 0)
    node.at("servers").fail("separate servers need a number", "allowed: 1 to " + std::to_string(kMostServers));
  spec.shards_tensors = node.at("sharding").choice({"pairs", "tensors"}) == "tensors";
  spec.pair_bytes = static_cast<std::int64_t>(node.at("pair_size").sourced_quantity(Dimension::size, {1e3, 1e12}));
  spec.pairs_per_message = static_cast<int>(node.at("pairs_per_message").integer(1, 1'000'000));
  spec.streams = static_cast<int>(node.at("streams").integer(0, kMostStreams));
  spec.barrier = node.at("barrier").boolean();
  if (const auto staging = node.find("staging")) read_staging(*staging, spec);
  if (const auto rate = node.find("apply_rate"))
    spec.apply_bytes_per_s = rate->sourced_quantity(Dimension::bandwidth, kBandwidth);
  return spec;
}

void check_servers(const JsonNode& node, const ParameterServerSpec& spec, const ClusterSpec& cluster, int workers) {
  const int left = cluster.nodes - (workers + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  if (spec.separate && spec.servers > left)
    node.at("servers").fail(std::to_string(spec.servers) + " separate servers beside " + std::to_string(workers) +
                                " GPUs are more nodes than the cluster has",
                            "allowed: at most " + std::to_string(left));
}

Json parameter_server_defaults() {
  return {{"scheme", "server"},
          {"servers", 0},
          {"placement", "co-located"},
          {"sharding", "pairs"},
          {"pair_size", {{"value", "2 MB"}, {"kind", "assumed"}, {"source", "default: as Poseidon's"}}},
          {"pairs_per_message", 1},
          {"streams", 0},
          {"barrier", false}};
}

}  // namespace lockstep::sim
