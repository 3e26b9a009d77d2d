// The computation of a record: precision, batch, efficiencies, and rates that its experiment gives.
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr double kComputeEfficiency = 0.6, kMemoryEfficiency = 0.8;  // of the roofline at speed 1
constexpr double kUsualLaunch_s = 20e-6;
constexpr double kUsualJitter = 0.01;
constexpr double kWinogradGain = 2.25;  // of F(2x2, 3x3): Lavin & Gray 2016
constexpr int kChannelTile = 64;        // of cuDNN's and cuBLAS's smaller tiles
constexpr double kCastBytes = 4 + 2;    // per parameter, from single to half precision or back
constexpr double kImagesOfTheanoMpi = 5120;
constexpr double kUsualEpochs = 90;
constexpr double kFewestOff = 0.03;   // of epochs at small batch, which a schedule fixes
constexpr double kCriticalOff = 0.3;  // of the critical batch

bool before_tensor_cores(const GpuEntry& gpu) {
  return gpu.generation == "kepler" || gpu.generation == "maxwell" || gpu.generation == "pascal";
}

std::string precision_named(const std::string& text) {
  const auto any = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return mentions(text, word); });
  };
  if (any({"mixed", "amp"})) return "mixed";
  if (any({"tf32", "tensorfloat"})) return "tf32";
  if (any({"fp32", "single", "wire", "float32", "32-bit", "32 bit"})) return "fp32";
  if (any({"fp16", "bf16", "half", "float16", "16-bit", "16 bit", "tensor core"})) return "mixed";
  return "";
}

struct Rate {
  int batch;
  double images_per_s;
  int rank;  ///< 0: of the same group, 1: of the same system, 2: of the same source
  int gpus;
};

// How close the experiment of `other` is to that of the record; -1: it says nothing about it.
int closeness(const Mapping& m, const Record& other) {
  if (!other.group.empty() && other.group == m.record.group) return 0;
  if (!other.system.empty() && other.system == m.record.system) return 1;
  if (!other.source.empty() && other.source == m.record.source) return 2;
  return -1;
}

bool same_work(const Mapping& m, const Record& other) {
  if (model_of(m.catalogue, other) != m.model) return false;
  if (gpu_of(m.catalogue, other) != m.gpu) return false;
  const std::string precision = precision_named(other.precision);
  return precision.empty() || precision == m.precision;
}

// Training times of several GPUs that leave communication out are rates of one GPU too, as busy as with the others.
bool leaves_communication_out(const Record& record) {
  return record.metric == "train_seconds_per_5120_images" || record.metric == "images_per_s_nosync";
}

std::vector<Rate> rates_given(const Mapping& m, int gpus) {
  std::vector<Rate> rates;
  for (const Record& other : m.all) {
    if (other.role != Role::input || other.id == m.record.id || !other.value) continue;
    const int rank = closeness(m, other);
    if (rank < 0 || !same_work(m, other)) continue;
    if (mentions(other.algorithm, "sequential")) continue;  // copies to a server are in that time
    const bool alone = other.gpus == 1 || (other.gpus == gpus && leaves_communication_out(other));
    const std::optional<double> rate = rate_of_one_gpu(other, m.model);
    if (alone && rate) rates.push_back({other.batch(), *rate, rank, other.gpus});
  }
  return rates;
}

// One rate per batch: of the closest experiment, and there of as many GPUs as asked for.
std::vector<RateSpec> best_rates(std::vector<Rate> rates, int gpus, int batch) {
  if (rates.empty()) return {};
  for (Rate& rate : rates)
    if (rate.batch == 0) rate.batch = batch;
  std::stable_sort(rates.begin(), rates.end(), [&](const Rate& a, const Rate& b) {
    return std::make_tuple(a.batch, a.rank, a.gpus != gpus) < std::make_tuple(b.batch, b.rank, b.gpus != gpus);
  });
  const int closest =
      std::min_element(rates.begin(), rates.end(), [](const Rate& a, const Rate& b) { return a.rank < b.rank; })->rank;
  std::vector<RateSpec> best;
  for (const Rate& rate : rates) {
    // A farther experiment only adds batches where the closest has none of the batch asked for.
    if (rate.rank > closest && rate.batch != batch) continue;
    if (best.empty() || best.back().batch != rate.batch) best.push_back({rate.batch, rate.images_per_s, ""});
  }
  return best;
}

double roofline_s(const Mapping& m, const ComputeSpec& compute, const model::Graph& graph, double launch_s, int batch) {
  DeviceCost device;
  device.peak_flops = m.gpu->spec.peak_flops(compute.precision);
  device.memory_bandwidth_bytes_per_s = m.gpu->spec.memory_bandwidth_bytes_per_s;
  device.launch_s = launch_s;
  device.compute_efficiency = {{1, compute.compute_efficiency.front().efficiency}};
  device.memory_efficiency = compute.memory_efficiency;
  device.fast_convolution_gain = compute.fast_convolution_gain;
  device.channel_tile = compute.channel_tile;
  device.cast_bytes_per_parameter = compute.cast_bytes_per_parameter;
  device.activation_bytes = compute.precision == Precision::mixed ? 2 : 4;
  return roofline_cost(graph, device, compute.optimizer, batch).iteration_s();
}

// Two rates say how much of an iteration does not grow with the batch: the launch overhead with which the roofline has
// the times of both batches in the published ratio.
double launch_from_rates(Mapping& m, const ComputeSpec& compute, double otherwise) {
  if (compute.rates.size() < 2) return otherwise;
  const RateSpec &small = compute.rates.front(), &large = compute.rates.back();
  if (large.batch < 2 * small.batch) return otherwise;
  const model::Graph& graph = graph_of(m);
  const double published = (small.batch / small.samples_per_s) / (large.batch / large.samples_per_s);
  double low = 0, high = 2e-3;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    const double ratio =
        roofline_s(m, compute, graph, middle, small.batch) / roofline_s(m, compute, graph, middle, large.batch);
    (ratio < published ? low : high) = middle;
  }
  return std::max((low + high) / 2, otherwise);  // rates that saturate say nothing about launches
}

}  // namespace

std::string precision_of(Mapping& m) {
  const std::string named = precision_named(m.record.precision);
  if (!named.empty() && (named != "tf32" || m.gpu->spec.tf32_flops > 0)) return named;
  const std::string usual = before_tensor_cores(*m.gpu) ? "fp32" : "mixed";
  m.assume("precision", usual, "not stated; usual for " + m.gpu->name);
  return usual;
}

std::string wire_of(const Mapping& m) {
  for (const std::string& text : {m.record.precision, m.record.algorithm})
    for (const char* half : {"fp16 wire", "fp16 all-reduce", "fp16 exchange", "fp16 on the wire", "fp16 compression",
                             "half-precision gradients"})
      if (mentions(text, half)) return "fp16";
  if (mentions(m.record.precision, "fp32 wire") || mentions(m.record.algorithm, "fp32 all-reduce")) return "fp32";
  return m.precision == "mixed" ? m.stack->wire_mixed : "fp32";
}

int accumulation_of(const Mapping& m, int gpus, int batch) {
  const std::int64_t once = std::int64_t{gpus} * batch;
  if (m.record.batch_per_gpu == 0 || gpus != m.record.gpus || m.record.global_batch < 2 * once) return 1;
  return m.record.global_batch % once == 0 ? static_cast<int>(m.record.global_batch / once) : 1;
}

int batch_of(Mapping& m) {
  if (const int stated = m.record.batch()) return stated;
  // The batch that the experiment's given rates used, else one that fills a usual share of memory.
  for (const Record& other : m.all)
    if (other.role == Role::input && other.batch() > 0 && closeness(m, other) >= 0 && closeness(m, other) <= 1 &&
        same_work(m, other)) {
      m.assume("batch_per_gpu", other.batch(), "not stated; that of " + other.id);
      return other.batch();
    }
  const bool is_text = m.model->tokens > 0;
  const bool of_pixels = !is_text && m.model->train_samples == 0;  // answers for every one
  const bool small_images = !is_text && m.model->train_samples < 1e5;
  const int usual = is_text                           ? 32
                    : of_pixels                       ? 8
                    : small_images                    ? 128
                    : m.gpu->spec.memory_bytes > 30e9 ? 256
                    : m.precision == "mixed"          ? 128
                                                      : 64;
  m.assume("batch_per_gpu", usual, "not stated; usual for this model and memory");
  return usual;
}

namespace {

// Attention that keeps its scores on the chip is of 2022; MLPerf's BERT had it a year before.
bool has_fused_attention(const Mapping& m) {
  if (m.record.names && m.record.names->has_fused_attention) return true;
  for (const std::string& text : {m.record.system, m.record.algorithm, m.record.notes, m.record.model})
    for (const char* name : {"flash", "fused attention", "fmha", "sdpa", "xformers"})
      if (mentions(text, name)) return true;
  const std::string& age = m.gpu->generation;
  const bool is_mlperf = m.stack->id == "mlperf" || m.stack->id == "mlperf-1";
  return is_mlperf || age == "hopper" || age == "ada" || age == "blackwell";
}

// Transformers are trained by Adam or, in large batches, by LAMB.
Optimizer optimizer_of(const Mapping& m) {
  const bool has_images = m.model->train_samples > 0;
  if (m.model->tokens == 0 || has_images) return m.stack->optimizer;
  for (const std::string& text : {m.record.system, m.record.algorithm, m.record.notes})
    if (mentions(text, "lamb")) return Optimizer::lamb;
  return m.stack->optimizer == Optimizer::lars ? Optimizer::lamb : Optimizer::adam;
}

// cuDNN has Winograd convolutions since version 5; half precision goes to tensor cores as matrix products.
bool has_fast_convolutions(const Mapping& m) {
  if (m.precision != "fp32" || !m.stack->fast_convolutions) return false;
  for (const std::string& text : {m.record.system, m.record.notes, m.record.id})
    for (const char* older : {"cudnn4", "cudnn r4", "cudnn v4", "cudnn 4", "cudnn3", "cudnn v3", "cudnn r3"})
      if (mentions(text, older)) return false;
  return true;
}

// What rates of one GPU say beside its data sheet.
struct Speeds {
  double of_flop = 1, of_bytes = 1, launch_s = kUsualLaunch_s;
};

// Batch norm and the ReLU behind it are one kernel in the libraries of mixed precision. Nothing is fused into other
// activations, gates of channels and depthwise convolutions.
bool is_fused_by_libraries(const model::Graph& graph) {
  bool has_norms = false;
  for (const model::Layer& layer : graph.layers) {
    const bool is_gate = layer.kind == model::LayerKind::softmax && &layer != &graph.layers.back();
    const bool is_depthwise = layer.window.groups > 1 && layer.window.groups == layer.in.channels;
    if (is_gate || is_depthwise) return false;
    has_norms = has_norms || layer.kind == model::LayerKind::batch_norm;
  }
  return has_norms;
}

// On tensor cores networks wait for memory, so that one constant is all that rates show: what is fused and how fast
// kernels are. In single precision both sides of the roofline show.
Speeds speeds_of_images(Mapping& m) {
  const bool is_single = m.precision == "fp32";
  const double of_software = m.constant({"speed of software/" + m.stack->id}, 1);
  Speeds speeds;
  speeds.of_flop = of_software * m.constant({"speed/" + m.gpu->speed_of + "/" + m.precision,
                                             "speed/" + m.gpu->generation + "/" + m.precision, "speed/" + m.precision},
                                            1);
  speeds.of_bytes = speeds.of_flop;
  if (is_single) speeds.of_bytes = of_software * m.constant({"memory speed/" + m.gpu->generation, "memory speed"}, 1);
  if (!is_single && speeds.of_bytes > 1 && !is_fused_by_libraries(graph_of(m))) {
    speeds.of_bytes = 1;
    m.assume("share of the memory's bandwidth", kMemoryEfficiency, "layers that nothing is fused into");
  }
  // Frameworks of single precision queue an operation at a time; those of mixed precision came later and fuse them.
  const std::string era = is_single ? "kernel launch/fp32" : "kernel launch/mixed";
  speeds.launch_s = m.constant({"kernel launch/" + m.stack->id, era}, kUsualLaunch_s);
  return speeds;
}

// Plain matrix products, whose share of the peak is another than that of convolutions, and between them passes over
// memory.
Speeds speeds_of_sequences(Mapping& m) {
  const double of_software = m.constant({"speed of software/" + m.stack->id + "/sequences"}, 1);
  Speeds speeds;
  speeds.of_flop =
      of_software *
      m.constant({"speed/matrices/" + m.gpu->generation + "/" + m.precision, "speed/matrices/" + m.precision}, 1);
  speeds.of_bytes = of_software;
  return speeds;
}

}  // namespace

const model::Graph& graph_of(Mapping& m) {
  if (m.model->tokens == 0) return model::zoo_graph(m.model->id);
  const bool is_fused = has_fused_attention(m);
  m.assume("attention", is_fused ? "on the chip" : "in passes over its scores", "by software and age of the GPU");
  return model::zoo_graph(is_fused ? model::fused_attention_name(m.model->id) : m.model->id);
}

ComputeSpec compute_of(Mapping& m, int gpus, int batch) {
  const bool is_single = m.precision == "fp32", is_sequences = m.model->tokens > 0;
  ComputeSpec compute;
  compute.precision = m.arithmetic();
  compute.optimizer = optimizer_of(m);
  // Transformers have many parameters for their work; a convolution's casts are lost beside its activations.
  compute.cast_bytes_per_parameter = m.precision == "mixed" && is_sequences ? kCastBytes : 0;
  if (m.gpu->spec.peak_flops(m.arithmetic()) <= 0) throw Unmapped{m.gpu->name + " has no known peak in " + m.precision};
  if (m.options.use_rates) compute.rates = best_rates(rates_given(m, gpus), gpus, batch);
  for (const RateSpec& rate : compute.rates)
    m.result.assumptions.push_back({"images/s of one GPU, batch " + std::to_string(rate.batch), rate.samples_per_s,
                                    "published", "input of the same experiment"});
  const bool anchored_here = std::any_of(compute.rates.begin(), compute.rates.end(),
                                         [&](const RateSpec& rate) { return rate.batch == batch; });
  Speeds speeds;
  if (!anchored_here) {
    speeds = is_sequences ? speeds_of_sequences(m) : speeds_of_images(m);
    m.note("gpu", m.gpu->facts);
  }
  compute.compute_efficiency = {{1, kComputeEfficiency * speeds.of_flop}};
  compute.memory_efficiency = kMemoryEfficiency * speeds.of_bytes;
  compute.fast_convolution_gain = has_fast_convolutions(m) ? kWinogradGain : 1;
  compute.channel_tile = is_single ? kChannelTile : 1;
  compute.launch_s = anchored_here ? speeds.launch_s : launch_from_rates(m, compute, speeds.launch_s);
  if (gpus > 1) {
    compute.jitter = JitterKind::lognormal;
    compute.jitter_variation =
        is_sequences ? kUsualJitter
                     : m.constant({"jitter/" + m.transport + "/" + m.gpu->generation, "jitter/" + m.gpu->generation},
                                  kUsualJitter);
  }
  return compute;
}

std::optional<double> rate_of_one_gpu(const Record& record, const ModelEntry* model) {
  std::optional<double> value = si_value(record);
  if (!value || *value <= 0 || record.gpus < 1) return std::nullopt;
  if (measure_of(record).is_tokens) {
    if (model == nullptr || model->tokens == 0) return std::nullopt;
    *value /= model->tokens;
  }
  const std::string metric = metric_of(record);
  if (metric == "images_per_s" || metric == "images_per_s_nosync") return *value / record.gpus;
  if (metric == "iteration_s" && record.batch() > 0) return record.batch() / *value;
  if (metric == "train_seconds_per_5120_images") return kImagesOfTheanoMpi / *value / record.gpus;
  if (metric == "epoch_seconds" && model != nullptr && model->train_samples > 0)
    return model->train_samples / *value / record.gpus;
  return std::nullopt;
}

double train_samples(const Mapping& m) {
  if (m.model->train_samples == 0) throw Unmapped{"the samples of an epoch of " + m.record.model + " are not known"};
  return m.model->train_samples;
}

namespace {

// "90 epochs" in the unit or the notes.
std::optional<double> epochs_stated(const Record& record) {
  static const std::regex pattern(R"((\d+(?:\.\d+)?)[ _-]epochs?\b)");
  for (const std::string& text : {record.unit, record.notes, record.algorithm, record.metric}) {
    std::smatch found;
    if (std::regex_search(text, found, pattern)) return std::stod(found[1].str());
  }
  return std::nullopt;
}

const Record* epochs_given(const Mapping& m) {
  const Record* best = nullptr;
  for (const Record& other : m.all) {
    if (other.role != Role::input || !other.value) continue;
    if (metric_of(other) != "epochs_to_accuracy") continue;
    if (model_of(m.catalogue, other) != m.model) continue;
    if (!other.group.empty() && (other.group == m.record.group || other.group == m.record.group + "-ep")) return &other;
    const bool same_batch = other.global_batch == m.record.global_batch;
    if (!other.system.empty() && other.system == m.record.system && same_batch) best = &other;
  }
  return best;
}

}  // namespace

void set_epochs(Mapping& m) {
  const bool is_asked = m.metric == "epochs_to_accuracy";
  if (const Record* given = is_asked ? nullptr : epochs_given(m)) {
    m.result.epochs = *given->value;
    m.result.assumptions.push_back({"epochs", *given->value, "published", given->id});
    return;
  }
  if (const auto stated = epochs_stated(m.record); stated && !is_asked) {
    m.result.epochs = *stated;
    m.result.assumptions.push_back({"epochs", *stated, "published", "stated in the record"});
    return;
  }
  const bool has_law = m.stack->id.rfind("mlperf", 0) == 0;
  if (!has_law && !is_asked) {
    m.result.epochs = kUsualEpochs;
    m.result.epochs_uncertainty = 0.05;
    m.assume("epochs", kUsualEpochs, "not stated; the usual schedule for ImageNet");
    return;
  }
  if (!has_law) throw Unmapped{"no law of epochs and batch for " + m.record.model + " with this software"};
  std::int64_t global_batch = m.record.global_batch;
  if (global_batch == 0) global_batch = std::int64_t{batch_of(m)} * gpus_of(m);
  const std::string law = m.stack->id == "mlperf-1" ? "mlperf" : m.stack->id;
  const double fewest = m.constant({"epochs at small batch/" + law}, 35);
  const double critical = m.constant({"critical batch/" + law, "critical batch/mlperf"}, 45000);
  const double of_critical = static_cast<double>(global_batch) / critical;
  m.result.epochs = fewest * (1 + of_critical);
  m.result.epochs_uncertainty = std::hypot(kFewestOff, kCriticalOff * of_critical / (1 + of_critical));
}

}  // namespace lockstep::sim
