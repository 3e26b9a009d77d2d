#include "sim/scenario/learners_spec.hpp"

#include <cmath>

#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {
namespace {

constexpr int kMostLearners = 64;
constexpr int kLongestTau = 100;
const Range kFill{1e-3, 1};

int read_tau(const JsonNode& node) {
  if (!node.is_string()) return static_cast<int>(node.integer(1, kLongestTau));
  node.choice({"never"});
  return 0;
}

std::vector<FillSpec> read_fill(const JsonNode& node) {
  if (!node.is_array()) return {{1, node.sourced_number(kFill)}};
  std::vector<FillSpec> curve;
  for (const JsonNode& item : node.items()) {
    item.keys({"batch", "fill"});
    const FillSpec point{static_cast<int>(item.at("batch").integer(1, kLargestBatch)),
                         item.at("fill").sourced_number(kFill)};
    if (!curve.empty() && point.batch <= curve.back().batch)
      item.at("batch").fail("not in ascending order", "allowed: more than " + std::to_string(curve.back().batch));
    curve.push_back(point);
  }
  if (curve.empty()) node.fail("empty list", "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  return curve;
}

int read_count(const JsonNode& node, int high) {
  return sourced_whole(node, 1, high);
}

OccupancySpec read_occupancy(const JsonNode& node) {
  node.keys({"multiprocessors", "streaming_threads", "matrix_threads", "outputs_per_thread"});
  OccupancySpec spec;
  spec.multiprocessors = read_count(node.at("multiprocessors"), 1024);
  if (const auto threads = node.find("streaming_threads")) spec.streaming_threads = read_count(*threads, 4096);
  if (const auto threads = node.find("matrix_threads")) spec.matrix_threads = read_count(*threads, 4096);
  if (const auto outputs = node.find("outputs_per_thread")) spec.outputs_per_thread = read_count(*outputs, 1024);
  return spec;
}

void read_auto_tune(const JsonNode& node, LearnersSpec& spec) {
  node.keys({"threshold", "window"});
  spec.auto_tune = true;
  if (const auto threshold = node.find("threshold")) spec.tuner_threshold = threshold->sourced_number({1e-6, 1});
  if (const auto window = node.find("window")) spec.tuner_window = static_cast<int>(window->integer(1, 10000));
}

double read_pre_processing(const JsonNode& node) {
  node.keys({"workers", "rate"});
  return read_count(node.at("workers"), 4096) * node.at("rate").sourced_quantity(Dimension::rate, {1e-6, 1e12});
}

}  // namespace

double LearnersSpec::fill_at(int batch) const {
  if (batch <= fill.front().batch) return fill.front().fill;
  for (std::size_t i = 1; i < fill.size(); ++i) {
    if (batch > fill[i].batch) continue;
    const double w = std::log(double(batch) / fill[i - 1].batch) / std::log(double(fill[i].batch) / fill[i - 1].batch);
    return fill[i - 1].fill + w * (fill[i].fill - fill[i - 1].fill);
  }
  return fill.back().fill;
}

LearnersSpec read_learners(const JsonNode& node) {
  node.keys({"per_gpu", "tau", "scheduling", "overlap", "synchronised_by", "host_wait", "fill", "occupancy",
             "workspace", "pre_processing", "auto_tune"});
  LearnersSpec spec;
  spec.per_gpu = static_cast<int>(node.at("per_gpu").integer(1, kMostLearners));
  spec.tau = read_tau(node.at("tau"));
  spec.round_robin = node.at("scheduling").choice({"first-come-first-served", "round-robin"}) == "round-robin";
  spec.overlap = node.at("overlap").boolean();
  spec.by_host = node.at("synchronised_by").choice({"streams", "host"}) == "host";
  if (spec.by_host) spec.overlap = false;
  if (const auto wait = node.find("host_wait")) spec.host_wait_s = wait->sourced_quantity(Dimension::time, {0, 1});
  if (spec.by_host && !node.find("host_wait"))
    node.fail("missing key \"host_wait\"", "allowed: a time, for the host to notice that a GPU is done");
  if (const auto fill = node.find("fill")) {
    spec.fill_of_profile = fill->is_string();
    if (spec.fill_of_profile)
      fill->choice({"profile"});
    else
      spec.fill = read_fill(*fill);
  }
  if (const auto occupancy = node.find("occupancy")) spec.occupancy = read_occupancy(*occupancy);
  if (spec.fill.empty() && !spec.fill_of_profile && spec.occupancy.multiprocessors == 0)
    node.fail("the GPU's concurrency is not stated", "allowed: \"fill\", or \"occupancy\" to estimate it from");
  spec.workspace_bytes = node.at("workspace").sourced_quantity(Dimension::size, {0, 1e12});
  if (const auto workers = node.find("pre_processing")) spec.preprocessed_per_s = read_pre_processing(*workers);
  if (const auto tuner = node.find("auto_tune")) read_auto_tune(*tuner, spec);
  return spec;
}

Json learners_defaults() {
  return {
      {"per_gpu", 1},
      {"tau", 1},
      {"scheduling", "first-come-first-served"},
      {"overlap", true},
      {"synchronised_by", "streams"},
      {"workspace",
       {{"value", "64 MB"}, {"kind", "assumed"}, {"source", "default: scratch memory of a learner's convolutions"}}}};
}

}  // namespace lockstep::sim
