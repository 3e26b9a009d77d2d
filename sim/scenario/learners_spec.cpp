#include "sim/scenario/learners_spec.hpp"

#include <cmath>

#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
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
    curve.push_back(fill_format().read(item));
    if (curve.size() > 1 && curve.back().batch <= curve[curve.size() - 2].batch)
      item.at("batch").fail("not in ascending order",
                            "allowed: more than " + std::to_string(curve[curve.size() - 2].batch));
  }
  if (curve.empty()) node.fail("empty list", "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  return curve;
}

Json write_fill(const LearnersSpec& spec) {
  if (spec.fill_of_profile) return "profile";
  if (spec.fill.empty()) return Json();
  if (spec.fill.size() == 1 && spec.fill.front().batch == 1) return spec.fill.front().fill;
  return fill_format().write_all(spec.fill);
}

Json schema_of_fill() {
  return {{"anyOf", Json::array({format_text::schema_of_sourced(format_text::schema_of(kFill)),
                                 {{"const", "profile"}},
                                 {{"type", "array"}, {"minItems", 1}, {"items", fill_format().schema()}}})}};
}

ObjectFormat<OccupancySpec> occupancy_format() {
  ObjectFormat<OccupancySpec> f("occupancy");
  f.sourced_whole("multiprocessors", &OccupancySpec::multiprocessors, 1, 1024).means("of the GPU");
  f.sourced_whole("streaming_threads", &OccupancySpec::streaming_threads, 1, 4096)
      .optional("2048")
      .means("resident threads of a multiprocessor, element-wise kernels");
  f.sourced_whole("matrix_threads", &OccupancySpec::matrix_threads, 1, 4096)
      .optional("512")
      .means("the same, convolutions and fully-connected layers");
  f.sourced_whole("outputs_per_thread", &OccupancySpec::outputs_per_thread, 1, 1024).optional("64").means("of these");
  return f;
}

ObjectFormat<PreProcessingSpec> pre_processing_format() {
  ObjectFormat<PreProcessingSpec> f("pre_processing");
  f.sourced_whole("workers", &PreProcessingSpec::workers, 1, 4096).means("CPU workers of a node");
  f.quantity("rate", &PreProcessingSpec::samples_per_s, Dimension::rate, {1e-6, 1e12}).means("what each prepares");
  return f;
}

ObjectFormat<AutoTuneSpec> auto_tune_format() {
  ObjectFormat<AutoTuneSpec> f("auto_tune");
  f.number("threshold", &AutoTuneSpec::threshold, {1e-6, 1})
      .optional("0.05")
      .means("by which throughput must rise or fall, as a share of it");
  f.whole("window", &AutoTuneSpec::window, 1, 10000).optional("5").means("iterations of an observation");
  return f;
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

const ObjectFormat<FillSpec>& fill_format() {
  static const ObjectFormat<FillSpec> format = [] {
    ObjectFormat<FillSpec> f("fill");
    f.whole("batch", &FillSpec::batch, 1, kLargestBatch).means("of a learner");
    f.number("fill", &FillSpec::fill, kFill).means("the fraction there");
    return f;
  }();
  return format;
}

const ObjectFormat<LearnersSpec>& learners_format() {
  using Spec = LearnersSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("learners");
    f.whole("per_gpu", &Spec::per_gpu, 1, kMostLearners).otherwise(1).means("learners on each GPU");
    auto tau = f.custom("tau", "whole or `never`", "1 to 100",
                        {{"anyOf", Json::array({{{"type", "integer"}, {"minimum", 1}, {"maximum", kLongestTau}},
                                                {{"const", "never"}}})}});
    tau.otherwise(1).means("synchronise in every tau-th iteration; whole rounds of tau are measured");
    tau.reads([](const JsonNode& node, Spec& spec) { spec.tau = read_tau(node); });
    tau.writes([](const Spec& spec) { return spec.tau == 0 ? Json("never") : Json(spec.tau); });
    f.either("scheduling", &Spec::round_robin, "first-come-first-served", "round-robin")
        .otherwise("first-come-first-served")
        .means("a free learner takes its next batch at once, or in turn with the others of its GPU");
    f.boolean("overlap", &Spec::overlap)
        .otherwise(true)
        .means("synchronisation beside the next iteration's learning; `false`: before it");
    f.either("synchronised_by", &Spec::by_host, "streams", "host")
        .otherwise("streams")
        .means(
            "by events on the GPUs' streams, as the paper describes; or by the host, as in the released "
            "program: it waits for all learners, has one GPU after the other form its differences, and "
            "hands out no batch before the average model has moved. `overlap` then has no effect");
    f.quantity("host_wait", &Spec::host_wait_s, Dimension::time, {0, 1})
        .optional("required with `host`")
        .means("for the host to notice that a GPU is done");
    auto fill = f.custom("fill", "number **S**, an array of `{\"batch\", \"fill\"}`, ascending, or `profile`",
                         "1e-3 to 1", schema_of_fill());
    fill.optional("estimated")
        .means(
            "f. A curve is linear in log(batch), outside that of the nearest. `profile`: the curve that "
            "`compute/profile` has measured, at each batch the least t_m / (m t_1) of m learners over one "
            "([profile_spec.hpp](profile_spec.hpp))");
    fill.reads([](const JsonNode& node, Spec& spec) {
      spec.fill_of_profile = node.is_string();
      if (spec.fill_of_profile)
        node.choice({"profile"});
      else
        spec.fill = read_fill(node);
    });
    fill.writes(write_fill);
    f.object("occupancy", &Spec::occupancy, occupancy_format())
        .optional("required without `fill`")
        .means("estimates f of each layer, see below");
    f.quantity("workspace", &Spec::workspace_bytes, Dimension::size, {0, 1e12})
        .assumed("64 MB", "default: scratch memory of a learner's convolutions")
        .means("scratch memory of each learner");
    f.object("pre_processing", &Spec::pre_processing, pre_processing_format())
        .optional("`input/samples_per_s_per_node`")
        .means(
            "CPU workers of a node and what each prepares; its GPUs share them. Learners stall where they are too "
            "slow; `input/prefetch` of 2 is double buffering");
    f.object("auto_tune", &Spec::auto_tune, auto_tune_format())
        .optional("none")
        .means(
            "the auto-tuner (its Alg. 2) chooses the number of learners inside the simulation, beginning with one: "
            "every `window` iterations it adds one where throughput rose by more than `threshold` of itself, and "
            "takes one away where it fell by that. `per_gpu` has no effect");
    f.then([](const JsonNode& node, Spec& spec) {
      if (spec.by_host) spec.overlap = false;
      if (spec.by_host && !node.find("host_wait"))
        node.fail("missing key \"host_wait\"", "allowed: a time, for the host to notice that a GPU is done");
      if (spec.fill.empty() && !spec.fill_of_profile && spec.occupancy.multiprocessors == 0)
        node.fail("the GPU's concurrency is not stated", "allowed: \"fill\", or \"occupancy\" to estimate it from");
    });
    return f;
  }();
  return format;
}

}  // namespace lockstep::sim::scenario
