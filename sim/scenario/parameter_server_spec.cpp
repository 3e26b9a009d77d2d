#include "sim/scenario/parameter_server_spec.hpp"

#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace {

const Range kBandwidth{1e3, 1e15};
constexpr int kMostServers = kMostGpus;
constexpr int kMostStreams = 256;

ObjectFormat<ParameterServerSpec> staging_format() {
  ObjectFormat<ParameterServerSpec> f("staging");
  f.quantity("bandwidth", &ParameterServerSpec::staging_bytes_per_s, Dimension::bandwidth, kBandwidth)
      .means("of a copy between GPU and host memory, one way");
  f.boolean("overlap", &ParameterServerSpec::staging_overlaps)
      .means(
          "`false`: copies take the computation's place, and without `communication/overlap` nothing is sent "
          "meanwhile");
  return f;
}

}  // namespace

const ObjectFormat<ParameterServerSpec>& parameter_server_format() {
  using Spec = ParameterServerSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("parameter_server");
    f.choice("scheme", &Spec::scheme).otherwise("server").means("how layers are exchanged, see below");
    f.either("placement", &Spec::separate, "co-located", "separate")
        .otherwise("co-located")
        .means(
            "`separate`: on nodes of their own, whose first GPU serves and none computes; the cluster "
            "must have them beside the workers'");
    f.whole("servers", &Spec::servers, 0, kMostServers).otherwise(0).means("0: one on every node of workers");
    f.either("sharding", &Spec::shards_tensors, "pairs", "tensors")
        .otherwise("pairs")
        .means("key-value pairs dealt to the servers in turn, or a whole tensor to each in turn");
    f.quantity("pair_size", &Spec::pair_bytes, Dimension::size, {1e3, 1e12})
        .assumed("2 MB", "default: as Poseidon's")
        .means("of a pair");
    f.whole("pairs_per_message", &Spec::pairs_per_message, 1, 1'000'000)
        .otherwise(1)
        .means(
            "pairs of a layer that travel to a server together. More are faster to simulate, but are "
            "pulled later: at 16 the wait-free exchange of VGG19-22K on 32 nodes takes a fifth longer");
    f.whole("streams", &Spec::streams, 0, kMostStreams)
        .otherwise(0)
        .means("pushes, and as many pulls, in flight at once; 0: 2 for pairs, all for tensors");
    f.boolean("barrier", &Spec::barrier)
        .otherwise(false)
        .means("`true`: the next forward pass waits for all layers; `false`: each layer for its own");
    f.group("staging", staging_format())
        .optional("no copies")
        .means(
            "copies between GPU and host memory before the push and after the pull, one way each. "
            "`overlap` `false`: they take the computation's place, and without `communication/overlap` "
            "nothing is sent meanwhile")
        .unsaid_where([](const Spec& spec) { return spec.staging_bytes_per_s <= 0; });  // whatever the value of overlap
    f.quantity("apply_rate", &Spec::apply_bytes_per_s, Dimension::bandwidth, kBandwidth)
        .optional("hidden behind the transfers; with `one-bit` from the GPU's memory")
        .means(
            "gradient bytes that a server applies per second once all workers' are there; with `one-bit`, "
            "adds of what it has expanded");
    f.then([](const JsonNode& node, Spec& spec) {
      if (spec.separate && spec.servers == 0)
        node.at("servers").fail("separate servers need a number", "allowed: 1 to " + std::to_string(kMostServers));
    });
    return f;
  }();
  return format;
}

}  // namespace lockstep::sim::scenario
