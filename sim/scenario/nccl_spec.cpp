#include "sim/scenario/nccl_spec.hpp"

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

// The out-of-place all-reduces of NCCL within a node, over the most ranks that were measured.
void read_measured(const JsonNode& node, NcclSpec& spec) {
  const calib::Profile profile = calib::profile_from_json(node);
  const calib::Fit* taken = nullptr;
  for (const calib::Fit& fit : profile.fits) {
    const Json& key = fit.key;
    if (fit.probe != "collective" || key.value("operation", "") != "all-reduce" || key.value("library", "") != "nccl" ||
        key.value("nodes", 1) != 1 || key.value("in_place", false) || fit.line.points < 2)
      continue;
    if (taken == nullptr || key.value("ranks", 0) > taken->key.value("ranks", 0)) taken = &fit;
  }
  if (taken == nullptr || taken->key.value("ranks", 0) < 2)
    node.fail("has no all-reduces by NCCL on one node", "allowed: two sizes or more");
  spec.measured_ranks = taken->key.value("ranks", 0);
  for (const calib::Measured& point : profile.curve(taken->probe, taken->key))
    spec.measured.emplace_back(point.x, point.seconds);
  node.document().note({node.pointer(), profile.name, taken->kind == "measured" ? "measured" : "published",
                        "all-reduces over " + std::to_string(spec.measured_ranks) + " GPUs of a node (" +
                            profile.device.name + "): NCCL's latency and bandwidth follow them, between nodes too"});
}

}  // namespace

std::string nccl_generation(const std::string& gpu_name) {
  // GPUs of data centres; a name may be longer ("Tesla V100-SXM2-16GB").
  const std::vector<std::pair<std::string, std::string>> known{
      {"P100", "pascal"},   {"P40", "pascal"},     {"TITAN X (Pascal)", "pascal"},
      {"V100", "volta"},    {"A100", "ampere"},    {"A800", "ampere"},
      {"H100", "hopper"},   {"H200", "hopper"},    {"H800", "hopper"},
      {"H20", "hopper"},    {"B100", "blackwell"}, {"B200", "blackwell"},
      {"B300", "blackwell"}};
  for (const auto& [name, generation] : known)
    if (gpu_name.find(name) != std::string::npos) return generation;
  return "";
}

NcclSpec read_nccl(const JsonNode& node, const std::string& gpu_name) {
  node.keys({"generation", "cpu", "nic_latency", "algorithm", "protocol", "ring", "tree", "nvls", "profile"});
  NcclSpec spec;
  if (const auto generation = node.find("generation"))
    spec.generation = generation->choice({"pascal", "volta", "ampere", "hopper", "blackwell"});
  else
    spec.generation = nccl_generation(gpu_name);
  if (spec.generation.empty())
    node.fail("NCCL's tables have no \"" + gpu_name + "\"",
              "allowed: with \"generation\": pascal, volta, ampere, hopper, blackwell");
  if (const auto cpu = node.find("cpu")) spec.has_amd_cpu = cpu->choice({"intel", "amd"}) == "amd";
  if (const auto latency = node.find("nic_latency"))
    spec.nic_latency_s = latency->sourced_quantity(Dimension::time, {0, 1});
  if (const auto algorithm = node.find("algorithm"))
    spec.algorithm = algorithm->choice({"ring", "tree", "nvls", "nvls-tree"});
  if (const auto protocol = node.find("protocol")) spec.protocol = protocol->choice({"ll", "ll128", "simple"});
  if (const auto graph = node.find("ring")) spec.ring = read_graph(*graph);
  if (const auto graph = node.find("tree")) spec.tree = read_graph(*graph);
  if (const auto graph = node.find("nvls")) spec.nvls = read_graph(*graph);
  if (const auto profile = node.find("profile")) read_measured(*profile, spec);
  return spec;
}

}  // namespace lockstep::sim
