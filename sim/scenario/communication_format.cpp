#include "sim/scenario/communication_format.hpp"

#include <algorithm>

#include "sim/scenario/file_schema.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim::scenario {
namespace {

const ObjectFormat<DdpSpec>& ddp_format() {
  static const ObjectFormat<DdpSpec> format = [] {
    ObjectFormat<DdpSpec> f("ddp");
    f.quantity("bucket_cap", &DdpSpec::bucket_cap_bytes, Dimension::size, kBytes)
        .assumed("25 MiB", "default: PyTorch's DistributedDataParallel, bucket_cap_mb")
        .means("`ddp`: gradients collect until their bytes on the wire reach it");
    f.quantity("first_bucket", &DdpSpec::first_bucket_bytes, Dimension::size, kBytes)
        .assumed("1 MiB", "default: PyTorch's DistributedDataParallel, first bucket")
        .means("`ddp`: the same for the first bucket, so that the first all-reduce starts early");
    return f;
  }();
  return format;
}

// The key holds a rate for each type on the wire. Only the rate of the scenario's type has an effect and is kept.
void add_reduction_rate(ObjectFormat<CommunicationSpec>& f) {
  Json properties = Json::object();
  for (const std::string& wire : choice_names<Wire>())
    properties[wire] = format_text::schema_of_sourced(format_text::schema_of(Dimension::bandwidth));
  auto field = f.custom("reduction_rate", "object `{\"fp32\", \"fp16\"}`, each a bandwidth, **S**",
                        "1 kB/s to 1 PB/s (1e15 B/s)",
                        {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}});
  field.otherwise(Json::object())
      .means(
          "highest rate at which a receiver adds what arrives, by type on the wire. Without it sums "
          "cost nothing. Only the type of `wire` has an effect");
  field.reads([](const JsonNode& node, CommunicationSpec& spec) {
    node.keys(choice_names<Wire>());
    for (const Wire wire : {Wire::fp32, Wire::fp16})
      if (const auto rate = node.find(name_of(wire))) {
        const double bytes_per_s = rate->sourced_quantity(Dimension::bandwidth, {1e3, 1e15});
        if (spec.wire == wire) spec.reduction_rate_bytes_per_s = bytes_per_s;
      }
  });
  field.writes([](const CommunicationSpec& spec) {
    Json rates = Json::object();
    if (spec.reduction_rate_bytes_per_s > 0)
      rates[name_of(spec.wire)] = quantity_text(spec.reduction_rate_bytes_per_s, Dimension::bandwidth);
    return rates;
  });
}

// Checks the object even if it is not used, but then lists no inputs of it.
void add_ddp(ObjectFormat<CommunicationSpec>& f) {
  auto field = f.object("ddp", &CommunicationSpec::ddp, ddp_format());
  field.needed_where([](const Json& holder) { return holder.value("fusion", Json()) == "ddp"; })
      .means("buckets with `fusion` `ddp`");
  field.reads([](const JsonNode& node, CommunicationSpec& spec) {
    if (spec.fuses_as_ddp)
      ddp_format().read(node, spec.ddp);
    else
      ddp_format().read(UnnotedCopy(node).node());
  });
  field.unsaid_where([](const CommunicationSpec& spec) { return !spec.fuses_as_ddp; });
}

void add_nccl(ObjectFormat<CommunicationSpec>& f) {
  auto field = f.custom("nccl", "object", "", nccl_format().schema());
  field.needed_where([](const Json& holder) { return holder.value("all_reduce", Json()) == "nccl"; })
      .means("[nccl](#nccl)");
  field.reads([](const JsonNode&, CommunicationSpec&) {});  // in read_communication(), since it depends on the cluster
  field.writes([](const CommunicationSpec& spec) {
    return spec.all_reduce == AllReduceKind::nccl ? nccl_format().write(spec.nccl) : Json();
  });
}

void add_measured(ObjectFormat<CommunicationSpec>& f) {
  auto profile = f.custom("profile", "text or object", "path ending in `.json`, or a `lockstep/profile/1` object",
                          file_or_object_schema());
  profile.optional("that of `compute`")
      .means(
          "all-reduces as they were measured, for `all_reduce` `profile`, where compute is not of the same profile "
          "(`rates`, or nothing measured)");
  profile.reads([](const JsonNode& node, CommunicationSpec& spec) {
    spec.profile = std::make_shared<const calib::Profile>(calib::profile_from_json(node));
    const calib::Profile& p = *spec.profile;
    const bool is_measured =
        std::all_of(p.fits.begin(), p.fits.end(), [](const calib::Fit& fit) { return fit.kind == "measured"; });
    node.document().note(
        {node.pointer(), p.name, is_measured ? "measured" : "published", "all-reduces on " + p.device.name});
  });
  profile.writes([](const CommunicationSpec& spec) { return spec.profile ? calib::to_json(*spec.profile) : Json(); });
  auto library = f.text("library", &CommunicationSpec::library);
  library.optional("the only one that was measured")
      .means("whose all-reduces of the profile are taken: `nccl`, `gloo`, `mpi`, ...");
}

ObjectFormat<CommunicationSpec> make_communication_format() {
  ObjectFormat<CommunicationSpec> f("communication");
  f.choice("all_reduce", &CommunicationSpec::all_reduce).otherwise("ring").means("algorithm, see below");
  f.whole("group_size", &CommunicationSpec::group_size, 1, kMostGpus)
      .otherwise(16)
      .means("`hierarchical`, `hybrid`: consecutive GPUs in a group");
  f.sourced_whole("chain_slices", &CommunicationSpec::chain_slices, 0, kMostGpus)
      .assumed(0, "default: as many as a group has members")
      .means(
          "`hierarchical`, `hybrid`: slices in which reduce and broadcast in a group are pipelined; 0: "
          "as many as the group has members");
  f.quantity("hybrid_threshold", &CommunicationSpec::hybrid_threshold_bytes, Dimension::size, kBytes)
      .optional("required for `hybrid`")
      .means("buckets of at least this size go by ring, smaller ones by hierarchy");
  f.whole("torus_columns", &CommunicationSpec::torus_columns, 0, kMostGpus)
      .otherwise(0)
      .means(
          "`torus`: GPUs in a row; 0: GPUs of a node. It must divide every GPU count, `baseline` "
          "included, that exceeds it");
  f.whole("tree_slices", &CommunicationSpec::tree_slices, 1, 4096)
      .otherwise(16)
      .means("`double-binary-tree`: slices of each half of the vector");
  f.choice("wire", &CommunicationSpec::wire).otherwise("fp32").means("4 or 2 bytes per gradient element in messages");
  f.quantity("fusion_threshold", &CommunicationSpec::fusion_threshold_bytes, Dimension::size, {0, kBytes.high})
      .assumed("0 B", "default: every tensor alone")
      .means(
          "gradients collect, in the order of back-propagation, until their bytes on the wire reach it; "
          "then they are reduced together. 0: every tensor alone");
  f.either("fusion", &CommunicationSpec::fuses_as_ddp, "threshold", "ddp")
      .otherwise("threshold")
      .means(
          "`ddp`: as PyTorch's DistributedDataParallel: by threshold, with a smaller first bucket; "
          "`fusion_threshold` has no effect");
  add_ddp(f);
  f.whole("accumulation", &CommunicationSpec::accumulation, 1, 100000)
      .otherwise(1)
      .means(
          "micro-steps of an iteration: gradients add up over so many batches and are exchanged with "
          "the last. The global batch grows by it. `s-sgd` only");
  f.boolean("overlap", &CommunicationSpec::overlap)
      .otherwise(true)
      .means("reduce during back-propagation; `false`: after it");
  f.quantity("message_overhead", &CommunicationSpec::message_overhead_s, Dimension::time, kSeconds)
      .assumed("5 us", "default: software cost of a message between GPUs")
      .means("software cost, added to the latency of every message");
  f.quantity("launch_overhead", &CommunicationSpec::launch_overhead_s, Dimension::time, kSeconds)
      .assumed("20 us", "default: launch of a collective")
      .means("before the first message of every all-reduce");
  add_nccl(f);
  add_measured(f);
  add_reduction_rate(f);
  f.quantity("bucket_copies", &CommunicationSpec::bucket_copy_bytes_per_s, Dimension::bandwidth, {1e3, 1e15})
      .optional("none: gradients lie in their buckets")
      .means(
          "rate at which the device that computes copies a gradient into its bucket before an all-reduce and back "
          "behind it, as DistributedDataParallel does without `gradient_as_bucket_view`. `s-sgd` only");
  f.then([](const JsonNode& node, CommunicationSpec& spec) {
    if (spec.all_reduce == AllReduceKind::hybrid) node.at("hybrid_threshold");
  });
  return f;
}

}  // namespace

const ObjectFormat<CommunicationSpec>& communication_format() {
  static const ObjectFormat<CommunicationSpec> format = make_communication_format();
  return format;
}

CommunicationSpec read_communication(const JsonNode& node, const ClusterSpec& cluster) {
  CommunicationSpec spec = communication_format().read(node);
  if (const auto nccl = node.find("nccl")) spec.nccl = read_nccl(*nccl, cluster.gpu.name, cluster.gpus_per_node);
  if (spec.nccl.is_measured() && spec.launch_overhead_s > 0)
    node.at("launch_overhead").fail("measured calls contain their launch", "allowed: \"0 us\" beside nccl/profile");
  return spec;
}

}  // namespace lockstep::sim::scenario
