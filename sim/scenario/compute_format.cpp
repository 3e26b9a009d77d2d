#include "sim/scenario/compute_format.hpp"

#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/scenario/file_schema.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr double kMostSlowdown = 100;
const Range kKernelSpeed{0.01, 2};
const Range kAttentionShare{1e-6, 2};
const Range kMemoryShare{1e-6, 4};  // may exceed 1, because fused kernels move fewer bytes than the model counts

const ObjectFormat<RateSpec>& rate_format() {
  static const ObjectFormat<RateSpec> format = [] {
    ObjectFormat<RateSpec> f("rate");
    f.whole("batch", &RateSpec::batch, 1, kLargestBatch).means("images per GPU at which it was measured");
    f.quantity("rate", &RateSpec::samples_per_s, Dimension::rate, kRate)
        .means("training rate of one GPU without communication");
    auto model = f.custom("model", "text", "a name of `--list-models` in full", {{"enum", model::zoo_names()}});
    model.optional("the scenario's model")
        .means(
            "model on which it was measured; all rates must name the same. The ratio of measured to "
            "roofline time carries over");
    model.reads([](const JsonNode& node, RateSpec& rate) { rate.model = node.choice(model::zoo_names()); });
    model.writes([](const RateSpec& rate) { return rate.model.empty() ? Json() : Json(rate.model); });
    return f;
  }();
  return format;
}

void check_rates(const JsonNode& node, const ComputeSpec& compute) {
  const std::vector<JsonNode> items = node.items();
  for (std::size_t i = 1; i < items.size(); ++i) {
    const RateSpec &rate = compute.rates[i], &before = compute.rates[i - 1];
    if (rate.batch <= before.batch)
      items[i].at("batch").fail("not in ascending order", "allowed: more than " + std::to_string(before.batch));
    if (rate.model != before.model) items[i].fail("rates of different models", "allowed: all rates of one model");
  }
}

const ObjectFormat<EfficiencySpec>& efficiency_point_format() {
  static const ObjectFormat<EfficiencySpec> format = [] {
    ObjectFormat<EfficiencySpec> f("efficiency");
    auto flop = f.custom("flop", "number", "1 to 1e18", format_text::schema_of(Range{1, 1e18}));
    flop.means("FLOP of one kernel");
    flop.reads([](const JsonNode& node, EfficiencySpec& point) { point.flop = node.number({1, 1e18}); });
    flop.writes([](const EfficiencySpec& point) { return Json(point.flop); });
    f.number("efficiency", &EfficiencySpec::efficiency, kFraction).means("share of peak there");
    return f;
  }();
  return format;
}

std::vector<EfficiencySpec> read_efficiency_curve(const JsonNode& node) {
  if (!node.is_array()) return {{1, node.sourced_number(kFraction)}};
  std::vector<EfficiencySpec> curve;
  for (const JsonNode& item : node.items()) {
    curve.push_back(efficiency_point_format().read(item));
    if (curve.size() > 1 && curve.back().flop <= curve[curve.size() - 2].flop)
      item.at("flop").fail("not in ascending order");
  }
  if (curve.empty()) node.fail("empty list", "allowed: an efficiency, or [{\"flop\", \"efficiency\"}, ...]");
  return curve;
}

Json write_efficiency_curve(const ComputeSpec& compute) {
  const std::vector<EfficiencySpec>& curve = compute.compute_efficiency;
  if (curve.size() == 1 && curve.front().flop == 1) return curve.front().efficiency;
  return efficiency_point_format().write_all(curve);
}

ObjectFormat<ComputeSpec> efficiency_format() {
  ObjectFormat<ComputeSpec> f("efficiency");
  auto compute = f.custom(
      "compute", "number **S**, or a curve", "1e-6 to 1",
      {{"anyOf", Json::array({format_text::schema_of_sourced(format_text::schema_of(kFraction)),
                              {{"type", "array"}, {"minItems", 1}, {"items", efficiency_point_format().schema()}}})}});
  compute.assumed(0.6, "default: share of peak that large convolutions and GEMMs reach")
      .means("share of peak that kernels reach");
  compute.reads([](const JsonNode& node, ComputeSpec& spec) { spec.compute_efficiency = read_efficiency_curve(node); });
  compute.writes(write_efficiency_curve);
  auto kernels = f.custom("kernels", "list of texts", "ids of GPUs in `scenarios/catalogue/kernels`",
                          {{"type", "array"}, {"items", {{"type", "string"}}}});
  kernels.optional("none: the roofline")
      .means(
          "GPUs whose measured laws of single kernels stand in for the roofline in transformers' matrix "
          "multiplications, attention and experts, scaled by peaks and bandwidth of `gpu`; a later one where an "
          "earlier "
          "one has no law");
  kernels.reads([](const JsonNode& node, ComputeSpec& spec) {
    const KernelsSpec before = spec.kernels;
    spec.kernels = read_kernels(node);
    spec.kernels.speed = before.speed;
    spec.kernels.half_speed = before.half_speed;
  });
  kernels.writes([](const ComputeSpec& spec) { return spec.kernels.gpus.empty() ? Json() : Json(spec.kernels.gpus); });
  auto speed = f.custom("kernel_speed", "number **S**", "0.01 to 2",
                        format_text::schema_of_sourced(format_text::schema_of(kKernelSpeed)));
  speed.optional("1").means(
      "how fast these kernels are in a training, over single ones in short bursts: sustained clocks, and what software "
      "adds");
  speed.reads([](const JsonNode& node, ComputeSpec& spec) { spec.kernels.speed = node.sourced_number(kKernelSpeed); });
  speed.writes([](const ComputeSpec& spec) { return spec.kernels.gpus.empty() ? Json() : Json(spec.kernels.speed); });
  auto half = f.custom("half_kernel_speed", "number **S**", "0.01 to 2",
                       format_text::schema_of_sourced(format_text::schema_of(kKernelSpeed)));
  half.optional("`kernel_speed`")
      .means(
          "with `fp8` or `fp4`: the same of kernels that stay in 16 bits, such as attention, routers and the output "
          "layer");
  half.reads(
      [](const JsonNode& node, ComputeSpec& spec) { spec.kernels.half_speed = node.sourced_number(kKernelSpeed); });
  half.writes([](const ComputeSpec& spec) {
    return spec.kernels.gpus.empty() || !spec.kernels.half_speed ? Json() : Json(*spec.kernels.half_speed);
  });
  f.number("attention", &ComputeSpec::attention_efficiency, kAttentionShare)
      .optional("1")
      .means("what fused attention reaches, over `compute`, or with `kernels` over their law");
  f.number("experts", &ComputeSpec::expert_efficiency, kFraction)
      .optional("1")
      .means("how fast experts' products and copies of rows are, over what the other shares say");
  f.number("on_2_bytes", &ComputeSpec::unaligned_2_efficiency, kFraction)
      .optional("1")
      .means("what products reach of matrices whose rows begin on 2 bytes, not on 4 or more, over `compute`");
  f.number("on_4_bytes", &ComputeSpec::unaligned_4_efficiency, kFraction)
      .optional("1")
      .means("the same of rows that begin on 4 or 8 bytes, not on 16");
  f.number("memory", &ComputeSpec::memory_efficiency, kMemoryShare)
      .assumed(0.8, "default: share of peak bandwidth that streaming kernels reach")
      .means(
          "share of memory bandwidth that kernels reach; above 1 where fused kernels move fewer bytes "
          "than the model's layers one by one");
  f.number("fast_convolution", &ComputeSpec::fast_convolution_gain, {1, 4})
      .optional("1")
      .means("multiplications that 3x3 and 5x5 convolutions save (2.25: Winograd's F(2x2, 3x3))");
  f.sourced_whole("channel_tile", &ComputeSpec::channel_tile, 1, 1024)
      .optional("1")
      .means("channels that a convolution computes at once; a started tile costs a whole one");
  f.number("cast_bytes_per_parameter", &ComputeSpec::cast_bytes_per_parameter, {0, 64})
      .optional("0")
      .means(
          "bytes moved by a layer's casts between single and half precision, before its forward and "
          "behind its backward kernel");
  f.number("sum_bytes", &ComputeSpec::sum_bytes, {0, 8})
      .optional("0")
      .means(
          "bytes of an element of a transformer's sums and norms, which autocast keeps in single precision; 0: as "
          "other "
          "activations");
  f.number("softmax_bytes", &ComputeSpec::softmax_bytes, {0, 8})
      .optional("0")
      .means(
          "bytes of a score in the softmax of attention in passes, between two copies, which autocast computes in "
          "single "
          "precision; 0: as other activations");
  f.number("gelu_bytes", &ComputeSpec::gelu_bytes, {0, 1024})
      .optional("0")
      .means("bytes that a GELU in steps of its own moves for each element, both passes; 0: one kernel a pass");
  f.number("rms_norm_bytes", &ComputeSpec::rms_norm_bytes, {0, 1024}).optional("0").means("the same of an RMS norm");
  f.number("rotary_bytes", &ComputeSpec::rotary_bytes, {0, 1024})
      .optional("0")
      .means("the same of rotary positions, for each element that they turn");
  f.number("loss_bytes_per_logit", &ComputeSpec::loss_bytes_per_logit, {0, 128})
      .optional("0")
      .means("bytes that a loss moves for each score, both passes; 0: as the passes of a softmax have it");
  return f;
}

// Without jitter, the width is checked but not listed as an input.
ObjectFormat<ComputeSpec> jitter_format() {
  ObjectFormat<ComputeSpec> f("jitter");
  f.choice("distribution", &ComputeSpec::jitter)
      .means("of a factor on compute time, drawn per GPU and iteration, mean 1");
  auto variation = f.number("coefficient_of_variation", &ComputeSpec::jitter_variation, {0, 1});
  variation.optional("required unless `none`")
      .means(
          "standard deviation over mean. GPUs wait for the slowest, so it costs more the more GPUs "
          "there are");
  variation.reads([](const JsonNode& node, ComputeSpec& compute) {
    if (compute.jitter != JitterKind::none)
      compute.jitter_variation = node.sourced_number({0, 1});
    else
      UnnotedCopy(node).node().sourced_number({0, 1});
  });
  variation.unsaid_where([](const ComputeSpec& compute) { return compute.jitter == JitterKind::none; });
  f.then([](const JsonNode& node, ComputeSpec& compute) {
    if (compute.jitter != JitterKind::none) node.at("coefficient_of_variation");
  });
  return f;
}

// A point uses the measurement for its number of devices. The list shows that for the largest number on a node.
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

ObjectFormat<ComputeSpec> make_compute_format() {
  using Spec = ComputeSpec;
  ObjectFormat<Spec> f("compute");
  f.choice("precision", &Spec::precision)
      .means(
          "picks `gpu/peak` of the cluster, which must state it; `mixed` takes the larger of fp16 and "
          "fp32, `fp8` computes products with weights in eight bits and the rest in half precision, `fp4` in four "
          "bits. Activations take 4 bytes in fp32 and tf32, else 2. It does not change `wire`");
  auto rates = f.list("rates", &Spec::rates, rate_format());
  rates.otherwise(Json::array()).means("measured rates of one GPU, see below; empty: the roofline alone");
  rates.reads([read = rates.reader()](const JsonNode& node, Spec& compute) {
    read(node, compute);
    check_rates(node, compute);
  });
  auto input = f.custom("profile_input", "text", "`synthetic`", {{"enum", {"synthetic"}}});
  input.optional("none").means(
      "takes the iterations that were measured while the input pipeline of `train` prepared the "
      "next batches beside them");
  input.reads([](const JsonNode& node, Spec& compute) { compute.profile.input = node.choice({"synthetic"}); });
  input.writes([](const Spec& compute) {
    return compute.profile && !compute.profile.input.empty() ? Json(compute.profile.input) : Json();
  });
  auto profile = f.custom("profile", "text or object", "path ending in `.json`, or a `lockstep/profile/1` object",
                          file_or_object_schema());
  profile.optional("none").means(
      "times of whole iterations as `calibrate` measured them "
      "([calib/README.md](../../calib/README.md)): of this model, at this precision (`mixed`: "
      "`fp16`, or `bf16` where that alone was measured), by one learner, with as many devices busy "
      "as a node uses at the point. Where the profile has single layers, an iteration is spread "
      "over them as they were measured, else by the roofline. Batches between those measured come "
      "from the fit; where a point reaches beyond what was measured (batch, devices, sizes and "
      "nodes of all-reduces, another device), the table and the point's `notes` say so. Not beside "
      "`rates`");
  profile.reads([](const JsonNode& node, Spec& compute) {
    compute.profile = read_profile(node, compute.profile.model, compute.precision, compute.profile.input);
  });
  profile.writes(
      [](const Spec& compute) { return compute.profile ? calib::to_json(*compute.profile.profile) : Json(); });
  f.number("time_factor", &Spec::time_factor, kTimeFactors)
      .optional("1")
      .means(
          "by which the times of all layers are multiplied, as a measured iteration shows it (`--step-time`). Not "
          "beside "
          "`rates` or `profile`, which say these times themselves");
  f.quantity("launch_overhead", &Spec::launch_s, Dimension::time, kSeconds)
      .assumed("5 us", "default: a kernel launch on a busy stream")
      .means("of each kernel, between it and the one before");
  f.quantity("host_launch", &Spec::host_launch_s, Dimension::time, {0, kSeconds.high})
      .optional("0 s")
      .means(
          "what the processor takes to enqueue a kernel: a pass lasts at least as long as it takes to enqueue its "
          "kernels, which is what small layers wait for in frameworks that run them one by one");
  f.group("efficiency", efficiency_format()).otherwise(Json::object()).means("shares that kernels reach, see below");
  f.choice("optimizer", &Spec::optimizer)
      .otherwise("momentum")
      .means("time of the update: 12, 20 or 28 bytes per parameter, one kernel per tensor (`lars`: two)");
  auto state = f.custom("optimizer_state", "text", format_text::names(choice_names<model::StatePrecision>()),
                        {{"enum", choice_names<model::StatePrecision>()}});
  state.optional("as the software keeps it")
      .means("precision of each array of the optimizer's state: 4, 2, 1 or (`8bit`, blocks of 256) 1.016 bytes");
  state.reads(
      [](const JsonNode& node, Spec& compute) { compute.kept.state = read_choice<model::StatePrecision>(node); });
  state.writes([](const Spec& compute) { return compute.kept.state ? Json(name_of(*compute.kept.state)) : Json(); });
  auto master = f.custom("master_weights", "text", format_text::names(choice_names<model::MasterWeights>()),
                         {{"enum", choice_names<model::MasterWeights>()}});
  master.optional("as the software keeps them")
      .means(
          "precision of the weights that the update works on, where the layers' weights are in half precision: 4 "
          "bytes; 2 "
          "bytes, also the 16 bits that bf16 lacks; none beside the layers' weights");
  master.reads(
      [](const JsonNode& node, Spec& compute) { compute.kept.master = read_choice<model::MasterWeights>(node); });
  master.writes([](const Spec& compute) { return compute.kept.master ? Json(name_of(*compute.kept.master)) : Json(); });
  f.boolean("half_parameters", &Spec::half_parameters)
      .otherwise(false)
      .means(
          "weights, gradients and the optimizer's state are in half precision like the layers (\"bf16-true\"), without "
          "copies in "
          "single precision: 8 bytes per parameter with Adam in place of 16, updates that move half as much");
  f.boolean("chunked_loss", &Spec::chunks_loss)
      .otherwise(false)
      .means("the output matrix and the loss process some tokens at a time, so that all scores are never in memory");
  f.boolean("recompute_blocks", &Spec::recomputes_blocks)
      .otherwise(false)
      .means(
          "activation checkpointing of a replica on one GPU: only what enters a block is kept, and the backward pass "
          "computes the block again. Blocks are layers whose names begin alike. A split has `parallel/recompute`");
  f.group("jitter", jitter_format())
      .otherwise({{"distribution", "none"}})
      .means("variation of compute time, see below");
  f.number("overlap_slowdown", &Spec::overlap_slowdown, {1, kMostSlowdown})
      .optional("the profile's `overlap`, else 1")
      .means(
          "how many times longer a GPU's compute takes while one of its collectives is in flight, see "
          "below");
  f.then([](const JsonNode& node, Spec& compute) {
    if (compute.profile && !compute.rates.empty())
      node.at("rates").fail("stand beside a profile", "allowed: one of the two");
    if (compute.time_factor != 1 && (compute.profile || !compute.rates.empty()))
      node.at("time_factor").fail("stands beside rates or a profile", "allowed: one of them");
    if (compute.kept.master && (activation_bytes(compute.precision) == 4 || compute.half_parameters))
      node.at("master_weights")
          .fail("the layers' weights are the only ones in this precision", "allowed: without it, or mixed precision");
    if (!compute.overlap_slowdown) note_measured_overlap(node, compute);
  });
  return f;
}

}  // namespace

const ObjectFormat<ComputeSpec>& compute_format() {
  static const ObjectFormat<ComputeSpec> format = make_compute_format();
  return format;
}

const ObjectFormat<InputSpec>& input_format() {
  using Spec = InputSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("input");
    f.quantity("samples_per_s_per_node", &Spec::samples_per_s_per_node, Dimension::rate, kRate)
        .optional("never a bottleneck")
        .means("what one node reads, decodes and augments; its GPUs share it");
    f.quantity("bytes_per_sample", &Spec::bytes_per_sample, Dimension::size, kBytes)
        .optional("no copy")
        .means(
            "copied to the GPU at the bandwidth of `gpu_link` of the PCIe tree (`pcie_link` of an "
            "nvswitch node)");
    f.whole("prefetch", &Spec::prefetch, 1, 64).otherwise(2).means("batches in flight ahead of the computation");
    f.merge(loading_format(), &Spec::loading);
    f.either("traffic", &Spec::is_on_links, "aside", "links")
        .optional("`aside`")
        .means(
            "`links`: copies to the GPUs, and reading from a file server, cross the cluster's links and "
            "share them with messages, see below");
    f.then([](const JsonNode& node, Spec& input) {
      if (input.is_on_links && input.bytes_per_sample <= 0 && !input.reads_over_links())
        node.at("traffic").fail(
            "no bytes cross the links",
            "allowed: with \"bytes_per_sample\", or \"file_bytes_per_sample\" and \"nfs_bandwidth\"");
    });
    return f;
  }();
  return format;
}

}  // namespace lockstep::sim::scenario
