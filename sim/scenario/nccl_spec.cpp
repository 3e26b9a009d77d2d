#include "sim/scenario/nccl_spec.hpp"

#include <algorithm>

#include "calib/profile.hpp"

namespace lockstep::sim {
namespace {

constexpr int kMostChannels = 64;

NcclGraphSpec read_graph(const JsonNode& node) {
  node.keys({"channels", "intra", "inter"});
  const Range bandwidth{1e6, 1e13};
  return {static_cast<int>(node.at("channels").integer(1, kMostChannels)),
          node.at("intra").sourced_quantity(Dimension::bandwidth, bandwidth),
          node.at("inter").sourced_quantity(Dimension::bandwidth, bandwidth)};
}

bool is_all_reduce(const calib::Fit& fit) {
  return fit.probe == "collective" && fit.key.value("operation", "") == "all-reduce" &&
         fit.key.value("library", "") == "nccl" && !fit.key.value("in_place", false);
}

// The out-of-place all-reduces of NCCL: within a node, over the most ranks that were measured, and over several nodes
// of `gpus_per_node`.
void read_measured(const JsonNode& node, int gpus_per_node, NcclSpec& spec) {
  const calib::Profile profile = calib::profile_from_json(node);
  const calib::Fit* one_node = nullptr;
  std::vector<int> nodes_taken;
  bool has_other_nodes = false, is_all_measured = true;
  for (const calib::Fit& fit : profile.fits) {
    if (!is_all_reduce(fit)) continue;
    const int ranks = fit.key.value("ranks", 0), nodes = fit.key.value("nodes", 1);
    if (nodes == 1) {
      if (ranks >= 2 && fit.line.points >= 2 && (!one_node || ranks > one_node->key.value("ranks", 0))) one_node = &fit;
      continue;
    }
    has_other_nodes = has_other_nodes || ranks != nodes * gpus_per_node;
    if (ranks != nodes * gpus_per_node) continue;
    nodes_taken.push_back(nodes);
    is_all_measured = is_all_measured && fit.kind == "measured";
    for (const calib::Measured& point : profile.curve(fit.probe, fit.key))
      spec.measured_between_nodes.push_back({nodes, point.x, point.seconds});
  }
  if (one_node == nullptr && nodes_taken.empty())
    node.fail(has_other_nodes ? "has all-reduces by NCCL only over nodes of other sizes"
                              : "has no all-reduces by NCCL on one node",
              has_other_nodes ? "allowed: " + std::to_string(gpus_per_node) + " GPUs a node, as the cluster has"
                              : "allowed: two sizes or more");
  std::string what;
  if (one_node != nullptr) {
    spec.measured_ranks = one_node->key.value("ranks", 0);
    for (const calib::Measured& point : profile.curve(one_node->probe, one_node->key))
      spec.measured.emplace_back(point.x, point.seconds);
    is_all_measured = is_all_measured && one_node->kind == "measured";
    what = std::to_string(spec.measured_ranks) + " GPUs of a node";
  }
  std::sort(nodes_taken.begin(), nodes_taken.end());
  for (int nodes : nodes_taken) what += (what.empty() ? "" : " and ") + std::to_string(nodes) + " nodes";
  node.document().note({node.pointer(), profile.name, is_all_measured ? "measured" : "published",
                        "all-reduces over " + what + " (" + profile.device.name +
                            "): NCCL's latency and bandwidth follow them" +
                            (nodes_taken.empty() ? ", between nodes too" : "")});
}

}  // namespace

std::optional<NcclGeneration> nccl_generation(const std::string& gpu_name) {
  // GPUs of data centres; a name may be longer ("Tesla V100-SXM2-16GB").
  using G = NcclGeneration;
  static const std::vector<std::pair<std::string, G>> known{
      {"P100", G::pascal},   {"P40", G::pascal},     {"TITAN X (Pascal)", G::pascal},
      {"V100", G::volta},    {"A100", G::ampere},    {"A800", G::ampere},
      {"H100", G::hopper},   {"H200", G::hopper},    {"H800", G::hopper},
      {"H20", G::hopper},    {"B100", G::blackwell}, {"B200", G::blackwell},
      {"B300", G::blackwell}};
  for (const auto& [name, generation] : known)
    if (gpu_name.find(name) != std::string::npos) return generation;
  return std::nullopt;
}

NcclSpec read_nccl(const JsonNode& node, const std::string& gpu_name, int gpus_per_node) {
  node.keys({"generation", "cpu", "nic_latency", "algorithm", "protocol", "ring", "tree", "nvls", "profile"});
  NcclSpec spec;
  std::optional<NcclGeneration> generation = nccl_generation(gpu_name);
  if (const auto stated = node.find("generation")) generation = read_choice<NcclGeneration>(*stated);
  if (!generation)
    node.fail("NCCL's tables have no \"" + gpu_name + "\"",
              "allowed: with \"generation\": " + joined(choice_names<NcclGeneration>()));
  spec.generation = *generation;
  if (const auto cpu = node.find("cpu")) spec.has_amd_cpu = cpu->choice({"intel", "amd"}) == "amd";
  if (const auto latency = node.find("nic_latency"))
    spec.nic_latency_s = latency->sourced_quantity(Dimension::time, {0, 1});
  if (const auto algorithm = node.find("algorithm")) spec.algorithm = read_choice<NcclAlgorithm>(*algorithm);
  if (const auto protocol = node.find("protocol")) spec.protocol = read_choice<NcclProtocol>(*protocol);
  if (const auto graph = node.find("ring")) spec.ring = read_graph(*graph);
  if (const auto graph = node.find("tree")) spec.tree = read_graph(*graph);
  if (const auto graph = node.find("nvls")) spec.nvls = read_graph(*graph);
  if (const auto profile = node.find("profile")) read_measured(*profile, gpus_per_node, spec);
  return spec;
}

}  // namespace lockstep::sim
