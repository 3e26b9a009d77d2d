#include "sim/scenario/compute_read.hpp"

#include "engine/base/text.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {
namespace {

constexpr double kMostSlowdown = 100;
const Range kMemoryShare{1e-6, 4};  // fused kernels move less than the model counts: above 1

std::vector<RateSpec> read_rates(const JsonNode& node) {
  std::vector<RateSpec> rates;
  for (const JsonNode& item : node.items()) {
    item.keys({"batch", "rate", "model"});
    RateSpec rate;
    rate.batch = static_cast<int>(item.at("batch").integer(1, kLargestBatch));
    rate.samples_per_s = item.at("rate").sourced_quantity(Dimension::rate, kRate);
    if (const auto name = item.find("model")) rate.model = name->choice(model::zoo_names());
    if (!rates.empty() && rate.batch <= rates.back().batch)
      item.at("batch").fail("not in ascending order", "allowed: more than " + std::to_string(rates.back().batch));
    if (!rates.empty() && rate.model != rates.back().model)
      item.fail("rates of different models", "allowed: all rates of one model");
    rates.push_back(rate);
  }
  return rates;
}

std::vector<EfficiencySpec> read_efficiency_curve(const JsonNode& node) {
  if (!node.is_array()) return {{1, node.sourced_number(kFraction)}};
  std::vector<EfficiencySpec> curve;
  for (const JsonNode& item : node.items()) {
    item.keys({"flop", "efficiency"});
    const EfficiencySpec point{item.at("flop").number({1, 1e18}), item.at("efficiency").sourced_number(kFraction)};
    if (!curve.empty() && point.flop <= curve.back().flop) item.at("flop").fail("not in ascending order");
    curve.push_back(point);
  }
  if (curve.empty()) node.fail("empty list", "allowed: an efficiency, or [{\"flop\", \"efficiency\"}, ...]");
  return curve;
}

void read_jitter(const JsonNode& node, ComputeSpec& compute) {
  node.keys({"distribution", "coefficient_of_variation"});
  compute.jitter = read_choice<JitterKind>(node.at("distribution"));
  if (compute.jitter == JitterKind::none) {
    const UnnotedCopy copy(node);
    if (const auto unused = copy.node().find("coefficient_of_variation")) unused->sourced_number({0, 1});
    return;
  }
  compute.jitter_variation = node.at("coefficient_of_variation").sourced_number({0, 1});
}

// Which of them a point takes goes by its devices; the node's largest number stands for all.
void note_measured_overlap(const JsonNode& node, const ComputeSpec& compute) {
  const auto measured = compute.profile.overlap(kMostGpus);
  if (!measured) return;
  const OverlapSlowdown& slowdown = measured->slowdown;
  const std::string beside = measured->is_emulated ? "a collective that one GPU emulates" : "all-reduces";
  node.document().note({node.pointer() + "/overlap_slowdown",
                        short_number(slowdown.least()) + " to " + short_number(slowdown.most()),
                        measured->is_emulated ? "assumed" : "measured",
                        "profile " + compute.profile.profile->name + ", iterations beside " + beside + " of " +
                            measured->library + ", " + std::to_string(measured->devices) + " devices"});
}

}  // namespace

ComputeSpec read_compute(const JsonNode& node, const std::string& model) {
  node.keys({"precision", "rates", "profile", "profile_input", "launch_overhead", "efficiency", "optimizer", "jitter",
             "overlap_slowdown"});
  ComputeSpec compute;
  compute.precision = read_choice<Precision>(node.at("precision"));
  compute.rates = read_rates(node.at("rates"));
  const auto input = node.find("profile_input");
  const std::string profile_input = input ? input->choice({"synthetic"}) : "";
  if (const auto profile = node.find("profile")) {
    compute.profile = read_profile(*profile, model, compute.precision, profile_input);
    if (!compute.rates.empty()) node.at("rates").fail("stand beside a profile", "allowed: one of the two");
  }
  compute.launch_s = node.at("launch_overhead").sourced_quantity(Dimension::time, kSeconds);
  const JsonNode efficiency = node.at("efficiency");
  efficiency.keys({"compute", "memory", "fast_convolution", "channel_tile", "cast_bytes_per_parameter"});
  compute.compute_efficiency = read_efficiency_curve(efficiency.at("compute"));
  compute.memory_efficiency = efficiency.at("memory").sourced_number(kMemoryShare);
  if (const auto gain = efficiency.find("fast_convolution"))
    compute.fast_convolution_gain = gain->sourced_number({1, 4});
  if (const auto tile = efficiency.find("channel_tile")) compute.channel_tile = sourced_whole(*tile, 1, 1024);
  if (const auto bytes = efficiency.find("cast_bytes_per_parameter"))
    compute.cast_bytes_per_parameter = bytes->sourced_number({0, 64});
  compute.optimizer = read_choice<Optimizer>(node.at("optimizer"));
  read_jitter(node.at("jitter"), compute);
  if (const auto slowdown = node.find("overlap_slowdown"))
    compute.overlap_slowdown = slowdown->sourced_number({1, kMostSlowdown});
  else
    note_measured_overlap(node, compute);
  return compute;
}

InputSpec read_input(const JsonNode& node) {
  node.keys({"samples_per_s_per_node", "bytes_per_sample", "prefetch", "loading", "file_bytes_per_sample",
             "disk_bandwidth", "nfs_bandwidth", "traffic"});
  InputSpec input;
  if (const auto rate = node.find("samples_per_s_per_node"))
    input.samples_per_s_per_node = rate->sourced_quantity(Dimension::rate, kRate);
  if (const auto bytes = node.find("bytes_per_sample"))
    input.bytes_per_sample = bytes->sourced_quantity(Dimension::size, kBytes);
  input.prefetch = static_cast<int>(node.at("prefetch").integer(1, 64));
  input.loading = read_loading(node);
  if (const auto traffic = node.find("traffic")) input.is_on_links = traffic->choice({"aside", "links"}) == "links";
  if (input.is_on_links && input.bytes_per_sample <= 0 && !input.reads_over_links())
    node.at("traffic").fail("no bytes cross the links",
                            "allowed: with \"bytes_per_sample\", or \"file_bytes_per_sample\" and \"nfs_bandwidth\"");
  return input;
}

}  // namespace lockstep::sim
