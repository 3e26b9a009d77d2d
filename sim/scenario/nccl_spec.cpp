#include "sim/scenario/nccl_spec.hpp"

#include <algorithm>
#include <cctype>

#include "calib/collective_key.hpp"
#include "engine/base/text.hpp"
#include "sim/scenario/file_schema.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr int kMostChannels = 64;

const ObjectFormat<NcclGraphSpec>& graph_format() {
  static const ObjectFormat<NcclGraphSpec> format = [] {
    const Range bandwidth{1e6, 1e13};
    ObjectFormat<NcclGraphSpec> f("graph");
    f.whole("channels", &NcclGraphSpec::channels, 1, kMostChannels).means("that NCCL opens");
    f.quantity("intra", &NcclGraphSpec::intra_bytes_per_s, Dimension::bandwidth, bandwidth).means("of each in a node");
    f.quantity("inter", &NcclGraphSpec::inter_bytes_per_s, Dimension::bandwidth, bandwidth)
        .means("of each between nodes");
    return f;
  }();
  return format;
}

bool is_all_reduce(const calib::Fit& fit) {
  return fit.probe == "collective" && fit.key.value("operation", "") == "all-reduce" &&
         fit.key.value("library", "") == "nccl" && !fit.key.value("in_place", false) && calib::is_of_floats(fit.key);
}

// Reads NCCL's out-of-place all-reduces: within a node those over the most ranks measured, and those over several nodes
// of `gpus_per_node` GPUs.
void read_measured(const JsonNode& node, int gpus_per_node, NcclSpec& spec) {
  const calib::Profile& profile = *spec.profile;
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

// Finds the chip that is a whole word of the GPU's name: "Tesla V100-SXM2-16GB" is a V100, "H1000" is unknown.
std::optional<NcclGeneration> nccl_generation(const std::string& gpu_name) {
  if (gpu_name == "TITAN X (Pascal)") return NcclGeneration::pascal;
  std::string word;
  for (const char c : gpu_name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    for (const NcclGenerationFacts& facts : nccl_generations())
      if (std::count(facts.chips.begin(), facts.chips.end(), word) > 0) return facts.generation;
    word.clear();
  }
  return std::nullopt;
}

const ObjectFormat<NcclSpec>& nccl_format() {
  using Spec = NcclSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("nccl");
    auto generation = f.choice("generation", &Spec::generation);
    generation.optional("by the name of the cluster's GPU")
        .means("row of NCCL's tables; required for a GPU whose name is not known");
    generation.always_written();  // because the meaning of the GPU's name may change
    f.either("cpu", &Spec::has_amd_cpu, "intel", "amd")
        .optional("`intel`")
        .means("limit of LL and cost of posting to the network");
    f.quantity("nic_latency", &Spec::nic_latency_s, Dimension::time, {0, 1})
        .optional("0 s")
        .means("that the network plugin reports to NCCL");
    f.choice("algorithm", &Spec::algorithm).optional("NCCL's choice").means("as `NCCL_ALGO`");
    f.choice("protocol", &Spec::protocol).optional("NCCL's choice").means("as `NCCL_PROTO`");
    f.number("all_to_all_share", &Spec::all_to_all_share, {0.01, 1})
        .optional("1")
        .means("of the NICs' bandwidth that a split's all-to-alls between nodes reach");
    f.boolean("in_switch", &Spec::in_switch)
        .optional("`true`")
        .means("`false`: neither NVLS nor NVLSTree, as `NCCL_NVLS_ENABLE=0`");
    const std::string meaning = "the graph that NCCL finds, as its log prints it: `nChannels 12, bw 30.0/30.0`";
    f.object("ring", &Spec::ring, graph_format()).optional("from the cluster").means(meaning);
    f.object("tree", &Spec::tree, graph_format()).optional("from the cluster").means("the same of its trees");
    f.object("nvls", &Spec::nvls, graph_format()).optional("from the cluster").means("the same of its NVLS");
    auto profile = f.custom("profile", "text or object", "path ending in `.json`, or a `lockstep/profile/1` object",
                            file_or_object_schema());
    profile.optional("none").means(
        "all-reduces of NCCL on one node, over several, or both, as `calibrate` measured or imported "
        "them. On one node: what they take beyond the tables is added to the latency of every call, "
        "and the tables' bandwidths are multiplied by what the node reaches of them (least squares, "
        "[nccl.hpp](../collective/nccl.hpp)). Over several nodes, of as many GPUs as the cluster's: "
        "what every pass of the network takes beyond the tables and what share of their bandwidth the "
        "network gives ([nccl_fit.hpp](../collective/nccl_fit.hpp)); calls over more nodes than were "
        "measured follow, and `details/nccl_fit` tells the constants, residuals, leave-one-out "
        "errors, and the error at the most nodes measured when they follow from fewer. Without calls "
        "over several nodes those of one hold between nodes too. Needs a `launch_overhead` of `\"0 "
        "us\"`: measured calls contain their launch. NCCL's choice stays that of the tables");
    profile.reads([](const JsonNode& node, Spec& spec) {
      spec.profile = std::make_shared<const calib::Profile>(calib::profile_from_json(node));
    });
    profile.writes([](const Spec& spec) { return spec.profile ? calib::to_json(*spec.profile) : Json(); });
    return f;
  }();
  return format;
}

NcclSpec read_nccl(const JsonNode& node, const std::string& gpu_name, int gpus_per_node) {
  NcclSpec spec = nccl_format().read(node);
  if (!node.has("generation")) {
    const std::optional<NcclGeneration> by_name = nccl_generation(gpu_name);
    if (!by_name)
      node.fail("NCCL's tables have no \"" + gpu_name + "\"",
                "allowed: with \"generation\": " + joined(choice_names<NcclGeneration>()));
    spec.generation = *by_name;
  }
  if (spec.profile) read_measured(node.at("profile"), gpus_per_node, spec);
  return spec;
}

}  // namespace lockstep::sim::scenario
