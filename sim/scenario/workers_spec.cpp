#include "sim/scenario/workers_spec.hpp"

#include <algorithm>

#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {
namespace {

void read_servers(const JsonNode& node, WorkersSpec& spec) {
  spec.servers = sourced_whole(node.at("servers"), 1, kMostGpus);
  spec.separate = node.at("placement").choice({"separate", "co-located"}) == "separate";
  if (const auto rate = node.find("apply_rate"))
    spec.apply_bytes_per_s = rate->sourced_quantity(Dimension::bandwidth, {1e3, 1e15});
  spec.delay = read_delay(node.at("delay"));
}

void read_backups(const JsonNode& node, WorkersSpec& spec) {
  if (node.has("backups") && node.has("aggregate"))
    node.at("aggregate").fail("both backups and aggregate", "allowed: one of them");
  if (const auto backups = node.find("backups")) spec.backups = static_cast<int>(backups->integer(0, kMostGpus));
  if (const auto aggregate = node.find("aggregate"))
    spec.aggregate = static_cast<int>(aggregate->integer(1, kMostGpus));
  if (const auto timeout = node.find("timeout"))
    spec.timeout_s = timeout->sourced_quantity(Dimension::time, {1e-6, 1e6});
  spec.is_interrupted = node.at("late").choice({"finish", "interrupted"}) == "interrupted";
}

void read_async_sgd(const JsonNode& node, WorkersSpec& spec) {
  spec.by_module = node.at("shards").choice({"equal", "modules"}) == "modules";
  spec.reads_in_forward = node.at("reads").choice({"in-forward", "at-start"}) == "in-forward";
  spec.sends_in_backward = node.at("sends").choice({"in-backward", "at-end"}) == "in-backward";
}

void read_async_easgd(const JsonNode& node, WorkersSpec& spec) {
  spec.elastic_rate = node.at("alpha").sourced_number({1e-6, 0.999999});
  spec.period = static_cast<int>(node.at("tau").integer(1, 1'000'000));
}

// Keys of the other algorithms, which variants may use: mistakes are found, and nothing of them is noted.
void check_others(const JsonNode& node, Algorithm algorithm) {
  const UnnotedCopy copy(node);
  WorkersSpec ignored;
  if (algorithm != Algorithm::backup_workers) read_backups(copy.node(), ignored);
  if (algorithm != Algorithm::async_sgd) read_async_sgd(copy.node(), ignored);
  if (algorithm != Algorithm::async_easgd) read_async_easgd(copy.node(), ignored);
}

}  // namespace

int WorkersSpec::aggregate_of(int gpus) const {
  return std::clamp(aggregate > 0 ? aggregate : gpus - backups, 1, gpus);
}

bool has_workers(Algorithm algorithm) {
  return algorithm == Algorithm::backup_workers || algorithm == Algorithm::async_sgd ||
         algorithm == Algorithm::async_easgd;
}

WorkersSpec read_workers(const JsonNode& node, Algorithm algorithm) {
  // One set of keys for all, so that variants can change the algorithm.
  node.keys({"backups", "aggregate", "timeout", "late", "servers", "placement", "apply_rate", "delay", "shards",
             "reads", "sends", "alpha", "tau"});
  WorkersSpec spec;
  if (algorithm == Algorithm::backup_workers) read_backups(node, spec);
  if (algorithm == Algorithm::async_sgd) read_async_sgd(node, spec);
  if (algorithm == Algorithm::async_easgd && sourced_whole(node.at("servers"), 1, kMostGpus) != 1)
    node.at("servers").fail("the centre of EASGD has one server", "allowed: 1");
  if (algorithm == Algorithm::async_easgd) read_async_easgd(node, spec);
  read_servers(node, spec);
  check_others(node, algorithm);
  return spec;
}

void check_workers(const JsonNode& node, const WorkersSpec& spec, const ClusterSpec& cluster, int gpus) {
  const int aggregate = spec.aggregate > 0 ? spec.aggregate : gpus - spec.backups;
  if (aggregate < 1 || aggregate > gpus)
    node.at(node.has("aggregate") ? "aggregate" : "backups")
        .fail(std::to_string(aggregate) + " of " + std::to_string(gpus) + " gradients cannot make an update",
              "allowed: 1 to all of them");
  const int left = cluster.nodes - (gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  if (spec.server_nodes() > left)
    node.at("servers").fail(std::to_string(spec.servers) + " separate servers beside " + std::to_string(gpus) +
                                " GPUs are more nodes than the cluster has",
                            "allowed: at most " + std::to_string(left));
}

Json workers_defaults() {
  return {{"servers", {{"value", 1}, {"kind", "assumed"}, {"source", "default"}}},
          {"placement", "separate"},
          {"delay", {{"distribution", "none"}}},
          {"late", "finish"},
          {"shards", "equal"},
          {"reads", "in-forward"},
          {"sends", "in-backward"},
          {"alpha", {{"value", 0.5}, {"kind", "assumed"}, {"source", "default: Theano-MPI's best"}}},
          {"tau", 1}};
}

}  // namespace lockstep::sim
