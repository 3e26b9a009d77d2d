// Sets the computation of a job: precision, batch, efficiencies, and measured rates.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "engine/base/bisect.hpp"
#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/stack/priors.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim {
inline namespace stack {
namespace {

constexpr double kComputeEfficiency = 0.6, kMemoryEfficiency = 0.8;  // shares of the roofline at speed 1
constexpr double kMostOfPeak = 0.95, kMostOfMemory = 0.95;           // larger values would have another cause
constexpr double kWinogradGain = 2.25;                               // for F(2x2, 3x3): Lavin & Gray 2016
constexpr int kChannelTile = 64;                                     // channels of a smaller tile of cuDNN and cuBLAS
constexpr double kCastBytes = 4 + 2;  // per parameter, for a cast between single and half precision
constexpr double kLaunchOnBusyStream_s = 5e-6;

// Standard deviation of a step's computing time between GPUs of one type, relative to the mean. The fastest and the
// slowest GPU of a cluster, without outliers, differ by 8 % on average (Sinha et al. 2022, "Not all GPUs are created
// equal", SC22). That is about five standard deviations of 1.6 %. From step to step, one GPU varies by 1 %.
constexpr double kVariationOfGpus = 0.02;
constexpr const char* kVariationSource =
    "8 % between a cluster's fastest and slowest GPUs (Sinha et al. 2022, SC22), and 1 % from step to step";

bool before_tensor_cores(const GpuEntry& gpu) {
  return gpu.generation == "kepler" || gpu.generation == "maxwell" || gpu.generation == "pascal";
}

bool is_same_precision(const StackModel& m, const MeasuredRun& run) {
  return !run.precision || *run.precision == m.precision;
}

// Returns rates per GPU that were measured on one GPU or on `gpus` GPUs, in the job's precision.
std::vector<MeasuredRun> rates_for(const StackModel& m, int gpus) {
  std::vector<MeasuredRun> rates;
  for (const MeasuredRun& run : m.job.measured)
    if (run.samples_per_s_per_gpu > 0 && (run.gpus == 1 || run.gpus == gpus) && is_same_precision(m, run))
      rates.push_back(run);
  return rates;
}

// Selects one rate per batch. It prefers the closest experiment, then one on `gpus` GPUs, then one on the job's own
// system, then the first in the list.
std::vector<RateSpec> best_rates(std::vector<MeasuredRun> rates, int gpus, int batch) {
  if (rates.empty()) return {};
  for (MeasuredRun& rate : rates)
    if (rate.batch_per_gpu == 0) rate.batch_per_gpu = batch;
  const auto key = [&](const MeasuredRun& rate) {
    return std::make_tuple(rate.batch_per_gpu, rate.distance, rate.gpus != gpus, rate.is_of_other_system);
  };
  std::stable_sort(rates.begin(), rates.end(),
                   [&](const MeasuredRun& a, const MeasuredRun& b) { return key(a) < key(b); });
  const int closest = std::min_element(rates.begin(), rates.end(), [](const MeasuredRun& a, const MeasuredRun& b) {
                        return a.distance < b.distance;
                      })->distance;
  std::vector<RateSpec> best;
  for (const MeasuredRun& rate : rates) {
    // A more distant experiment counts only if it used the requested batch.
    if (rate.distance > closest && rate.batch_per_gpu != batch) continue;
    if (best.empty() || best.back().batch != rate.batch_per_gpu)
      best.push_back({rate.batch_per_gpu, rate.samples_per_s_per_gpu, ""});
  }
  return best;
}

double roofline_s(const StackModel& m, const ComputeSpec& compute, const model::Graph& graph, double launch_s,
                  int batch) {
  DeviceCost device = describe_device(compute, m.gpu->spec);
  device.launch_s = launch_s;
  return roofline_cost(graph, device, compute.optimizer, batch).iteration_s();
}

// Derives the part of an iteration that does not grow with the batch, the launch overhead, from rates at two batches.
// With it, the roofline's times at both batches have the published ratio.
double launch_from_rates(StackModel& m, const ComputeSpec& compute, double otherwise) {
  if (compute.rates.size() < 2) return otherwise;
  const RateSpec &small = compute.rates.front(), &large = compute.rates.back();
  if (large.batch < 2 * small.batch) return otherwise;
  const model::Graph& graph = graph_of(m);
  const double published = (small.batch / small.samples_per_s) / (large.batch / large.samples_per_s);
  const auto is_below = [&](double launch_s) {
    return roofline_s(m, compute, graph, launch_s, small.batch) / roofline_s(m, compute, graph, launch_s, large.batch) <
           published;
  };
  return std::max(bisect(0, 2e-3, is_below), otherwise);  // rates at large batches reveal no launches
}

}  // namespace

Precision precision_of(StackModel& m) {
  if (m.job.precision) {
    const Precision stated = layers_precision(*m.job.precision);
    if (stated != Precision::tf32 || m.gpu->spec.tf32_flops > 0) return stated;
  }
  if (!m.job.precision && m.stack->eight_bits && m.model != nullptr && m.model->tokens > 0 &&
      m.gpu->spec.fp8_flops > 0) {
    m.assume_default("precision", name_of(Precision::fp8), m.stack->name + "'s transformers on GPUs that have it");
    return Precision::fp8;
  }
  const Precision usual = before_tensor_cores(*m.gpu) ? Precision::fp32 : Precision::mixed;
  m.assume_default("precision", name_of(usual), "usual for " + m.gpu->name);
  return usual;
}

Wire wire_of(const StackModel& m) {
  if (m.job.wire) return *m.job.wire;
  if (m.job.has_half_parameters()) return Wire::fp16;
  return activation_bytes(m.precision) == 2 && m.stack->wire_mixed == "fp16" ? Wire::fp16 : Wire::fp32;
}

int accumulation_of(const StackModel& m, int gpus, int batch) {
  if (m.job.accumulation > 0) return m.job.accumulation;
  const std::int64_t once = std::int64_t{gpus} * batch;
  if (m.job.batch_per_gpu == 0 || gpus != m.job.gpus || m.job.global_batch < 2 * once) return 1;
  return m.job.global_batch % once == 0 ? static_cast<int>(m.job.global_batch / once) : 1;
}

int batch_of(StackModel& m) {
  if (is_split(m.job)) return micro_batch_or_default(m);
  if (const int stated = m.job.batch()) return stated;
  // Uses the batch of the experiment's own rates. Without such rates, uses one that fills a typical share of memory.
  for (const MeasuredRun& run : m.job.measured)
    if (run.batch_per_gpu > 0 && run.distance <= 1 && is_same_precision(m, run)) {
      m.assume_default("batch_per_gpu", run.batch_per_gpu, "that of " + run.id);
      m.inputs.uses_results = true;
      return run.batch_per_gpu;
    }
  const bool is_text = m.model->tokens > 0;
  const bool of_pixels = !is_text && m.model->train_samples == 0;  // the model has an output for each pixel
  const bool small_images = !is_text && m.model->train_samples < 1e5;
  const int usual = is_text                              ? 32
                    : of_pixels                          ? 8
                    : small_images                       ? 128
                    : m.gpu->spec.memory_bytes > 30e9    ? 256
                    : activation_bytes(m.precision) == 2 ? 128
                                                         : 64;
  m.assume_default("batch_per_gpu", usual, "usual for this model and memory");
  return usual;
}

namespace {

// Returns the optimizer: as given, else the software's. Transformers use Adam, or LAMB if that would be LARS.
Optimizer optimizer_of(const StackModel& m) {
  if (m.job.optimizer) return *m.job.optimizer;
  const Optimizer usual = m.stack->optimizer;
  const bool has_images = m.model->train_samples > 0;
  if (m.model->tokens == 0 || has_images) return usual;
  return usual == Optimizer::lars ? Optimizer::lamb : Optimizer::adam;
}

// cuDNN has had Winograd convolutions since version 5. In half precision it computes convolutions as GEMMs on tensor
// cores.
bool has_fast_convolutions(const StackModel& m) {
  if (m.precision != Precision::fp32) return false;
  return m.job.fast_convolutions.value_or(m.stack->fast_convolutions);
}

// Factors on data-sheet figures, fitted to the rates of one GPU.
struct Speeds {
  double of_kernels = 1;                  ///< over the rates of measured kernel laws
  std::optional<double> of_half_kernels;  ///< the same of kernels that stay in 16 bits, if others have fewer
  double of_flop = 1, of_bytes = 1, launch_s = prior_of("kernel launch").value;
  double host_launch_s = 0;  ///< processor time per kernel, in seconds
  double kernel_gain = 1;    ///< bytes moved layer by layer, over those that kernels move
};

// Returns the bytes moved if every layer had a kernel of its own, over the bytes that the software's kernels move.
//
//   fused norms   a batch norm and the ReLU or sum right after it are one kernel. It saves all bytes of a ReLU.
//                 It saves half the bytes of a sum, because the other input and its gradient remain.
//   transposes    On tensor cores, a convolution's arrays are transposed from channel order and back: each is read and
//                 written once more
double gain_of_kernels(const model::Graph& graph, bool has_fused_norms, bool has_transposes) {
  DeviceCost bytes_alone;
  bytes_alone.peak_flops = 1e30;
  bytes_alone.memory_bandwidth_bytes_per_s = 1;
  const ModelCost cost = roofline_cost(graph, bytes_alone, Optimizer::momentum, 1);
  std::vector<bool> is_normed(graph.layers.size(), false);
  double all = 0, less = 0, more = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const model::Layer& layer = graph.layers[i];
    const double bytes = cost.layers[i].forward_s + cost.layers[i].backward_s;
    all += bytes;
    const bool is_relu = layer.kind == model::LayerKind::relu, is_sum = layer.kind == model::LayerKind::add;
    const bool is_behind = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                       [&](int input) { return is_normed[static_cast<std::size_t>(input)]; });
    is_normed[i] = layer.kind == model::LayerKind::batch_norm || (is_sum && is_behind);
    if (is_behind) less += is_relu ? bytes : is_sum ? bytes / 2 : 0;
    if (layer.kind == model::LayerKind::conv) more += 2 * bytes;
  }
  return all / (all - (has_fused_norms ? less : 0) + (has_transposes ? more : 0));
}

// Returns "resnet" for resnet50_v15, "vgg" for vgg16. Kernels are similarly efficient within a family of networks.
std::string family_of(const StackModel& m) {
  const bool is_own = m.job.own_model != nullptr;
  if (is_own && m.job.own_model->architecture.empty()) return m.model->tokens > 0 ? "transformer" : "own";
  const std::string& id = is_own ? m.job.own_model->architecture : m.model->id;
  return id.substr(0, id.find_first_of("0123456789_-@"));
}

double speed_of_software_and_family(StackModel& m, const std::string& what) {
  return m.constant({"speed of software/" + m.stack->constants_id() + what}) *
         m.constant({"speed of family/" + family_of(m) + what});
}

// Returns the id of the GPU whose fitted speed applies in `precision`. That is the GPU itself if records of it fitted
// one. Otherwise it is the GPU with the same chip that has the most records, if there is one.
std::string board_with_speed(const StackModel& m, const std::string& precision) {
  const auto records_of = [&](const std::string& id) {
    const auto found = m.catalogue.constants.find("speed/" + id + precision);
    return found == m.catalogue.constants.end() ? 0 : found->second.records;
  };
  std::string best = m.gpu->speed_of;
  int most = records_of(best);
  if (most > 0 || m.gpu->chip.empty()) return best;
  for (const GpuEntry& other : m.catalogue.gpus) {
    const int records = other.chip == m.gpu->chip ? records_of(other.id) : 0;
    if (records <= most) continue;
    best = other.id;
    most = records;
  }
  return best;
}

// On tensor cores, memory limits networks of images, so rates determine only one constant. In single precision they
// determine both sides of the roofline.
Speeds speeds_of_images(StackModel& m) {
  const bool is_single = m.precision == Precision::fp32;
  // No rates of images in eight or four bits are published, so these use the constants of half precision.
  const bool is_below_half = m.precision == Precision::fp8 || m.precision == Precision::fp4;
  const std::string precision = "/" + name_of(is_below_half ? Precision::mixed : m.precision);
  const double of_work = speed_of_software_and_family(m, is_single ? "/fp32" : "/mixed");
  Speeds speeds;
  speeds.of_flop = of_work * m.constant({"speed/" + board_with_speed(m, precision) + precision,
                                         "speed/" + m.gpu->generation + precision, "speed" + precision});
  speeds.of_bytes = speeds.of_flop;
  if (is_single) speeds.of_bytes = of_work * m.constant({"memory speed/" + m.gpu->generation, "memory speed"});
  const bool has_transposes = m.stack->transposes && !m.job.channels_last && m.precision == Precision::mixed;
  if (m.stack->fused_norms || has_transposes) {
    speeds.kernel_gain = gain_of_kernels(graph_of(m), m.stack->fused_norms, has_transposes);
    m.assume("bytes of the layers one by one, over those of the kernels", speeds.kernel_gain,
             std::string(m.stack->fused_norms ? "batch norms are fused" : "convolutions are transposed") + " by " +
                 m.stack->name);
  }
  // Frameworks for single precision launch a kernel for each operation. Later ones, for mixed precision, fuse
  // operations.
  const std::string era = m.stack->cuda_graphs ? "kernel launch/graphs"
                          : is_single          ? "kernel launch/fp32"
                                               : "kernel launch/mixed";
  speeds.launch_s = m.constant({"kernel launch/" + m.stack->constants_id(), era});
  return speeds;
}

// Returns the speed of kernels in a training, relative to single kernels in short bursts. Clocks fall under sustained
// power: GEMMs of 1e11 to 1e13 FLOP take 6 to 22 % longer on B200 and GB200 (results/kernels, gemm_sustained).
//
// If the laws are another generation's, the constant also includes the ratio of the shares of peak that the two
// generations reach.
double sustained_speed(StackModel& m, const KernelLaws& laws, Precision precision) {
  const bool is_carried = laws.find("gemm/bf16").carried == Carried::to_other_generation;
  const bool is_amd = m.gpu->vendor == Vendor::amd;
  if (is_amd) m.assume("software on AMD", m.stack->name, "its constants were fitted on NVIDIA's GPUs");
  const std::string name = is_amd ? kSpeedOnAmd : is_carried ? "speed/carried" : "speed/sustained";
  const std::string of_generation = name + "/" + m.gpu->generation;
  const double tuning =
      is_amd ? m.constant({std::string(kTuningOnAmd) + "/" + m.stack->constants_id(), kTuningOnAmd}) : 1;
  return tuning * m.constant({of_generation + "/" + name_of(precision), of_generation, name});
}

// A framework's constant is the speed of its memory-bound passes, which frameworks fuse differently. GEMMs, attention
// and experts come from the same libraries, so their speed is only this power of the constant. With powers of 0.25 to
// 0.6, the median error over left-out sources differs by 0.4 points; with 1 it is 0.8 points larger.
constexpr double kKernelExponent = 0.4;

// Sets the speed of GEMMs, attention and experts by their measured laws, and that of the memory-bound passes between.
Speeds speeds_of_sequences(StackModel& m) {
  Speeds speeds;
  speeds.of_bytes = m.constant({"speed of software/" + m.stack->constants_id() + "/sequences"});
  const double of_kernels = std::pow(speeds.of_bytes, kKernelExponent);
  const KernelLaws laws = m.catalogue.kernel_laws_of(*m.gpu);
  const bool is_below_half = m.precision == Precision::fp8 || m.precision == Precision::fp4;
  if (is_below_half) speeds.of_half_kernels = of_kernels * sustained_speed(m, laws, Precision::mixed);
  // Few rates are in four bits. With the general constant, four bits would be predicted slower than eight where memory
  // is the limit.
  speeds.of_kernels = of_kernels * sustained_speed(m, laws, is_below_half ? Precision::fp8 : m.precision);
  speeds.of_flop = speeds.of_kernels;
  if (m.stack->cuda_graphs) {
    speeds.launch_s = m.constant({"kernel launch/graphs"});
  } else {
    // While the stream has queued kernels, each costs launch_s. If the queue runs empty, the GPU waits for the processor,
    // which enqueues a kernel in host_launch_s.
    speeds.launch_s = kLaunchOnBusyStream_s;
    speeds.host_launch_s = m.constant({"host launch/" + m.stack->constants_id(), "host launch"});
  }
  return speeds;
}

KernelsSpec kernels_of(StackModel& m, const Speeds& speeds) {
  KernelsSpec kernels;
  kernels.gpus = m.catalogue.kernel_donors_of(*m.gpu);
  kernels.laws = std::make_shared<const KernelLaws>(m.catalogue.kernel_laws_of(*m.gpu));
  kernels.speed = speeds.of_kernels;
  kernels.half_speed = speeds.of_half_kernels;
  if (!kernels.gpus.empty())
    m.assume(kKernelLaws, joined(kernels.gpus), "fitted to single kernels of these GPUs (results/kernels)");
  else
    kernels.laws = nullptr;
  return kernels;
}

}  // namespace

namespace {

// Most models are built with fused attention alone. Without it, they have the same layers.
const model::Graph& without_fused_attention(StackModel& m, const model::Graph& graph) {
  if (!graph.transformer || !graph.transformer->job.fused_attention) return graph;
  if (m.unfused) return *m.unfused;
  model::Graph unfused = transformer_graph(graph.transformer->spec, {graph.transformer->job.tokens, false});
  unfused.name = graph.name;
  unfused.title = graph.title;
  model::TransformerJob with_config = *unfused.transformer;
  with_config.config = graph.transformer->config;
  unfused.transformer = std::make_shared<const model::TransformerJob>(std::move(with_config));
  m.unfused = std::make_shared<const model::Graph>(std::move(unfused));
  return *m.unfused;
}

}  // namespace

const model::Graph& graph_of(StackModel& m) {
  const OwnModel* own = m.job.own_model.get();
  if (own != nullptr && !own->graph.transformer) return own->graph;
  if (own == nullptr && m.model->tokens == 0) return model::zoo_graph(m.model->id);
  const bool is_fused = has_fused_attention(m);
  m.assume("attention", is_fused ? "on the chip" : "in passes over its scores", "by software");
  if (own != nullptr && is_fused) return own->fused ? *own->fused : own->graph;
  if (own != nullptr) return without_fused_attention(m, own->graph);
  if (is_fused) return model::zoo_graph(model::fused_attention_name(m.model->id));
  return without_fused_attention(m, model::zoo_graph(m.model->id));
}

namespace {
ComputeSpec compute_in_precision(StackModel& m, int gpus, int batch) {
  const bool is_single = m.precision == Precision::fp32, is_sequences = m.model->tokens > 0;
  if (m.job.channels_last && m.model->is_of_sequences())
    throw InputError("channels_last: " + m.model->id + " has no images; allowed: of networks of images");
  if (m.job.chunked_loss.value_or(false) && !m.model->is_of_sequences())
    throw InputError("chunked_loss: " + m.model->id + " has no vocabulary; allowed: of language models");
  ComputeSpec compute;
  compute.precision = m.precision;
  compute.optimizer = optimizer_of(m);
  compute.kept = {m.job.optimizer_state, m.job.master_weights};
  if (compute.kept.master && (activation_bytes(m.precision) == 4 || m.job.has_half_parameters()))
    throw InputError(
        "master_weights: the layers' weights are the only ones in this precision; allowed: without it, or mixed "
        "precision");
  compute.half_parameters = m.job.has_half_parameters();
  compute.recomputes_blocks = m.job.recomputes_blocks;
  if (compute.half_parameters && m.gpu->spec.bf16_flops <= 0)
    throw InputError("precision: " + m.gpu->name + " has no bf16; allowed: mixed, by fp16");
  // Transformers have many parameters for their work. In a convolutional network, casts of parameters are negligible
  // next to activations.
  const bool has_casts = activation_bytes(m.precision) == 2 && is_sequences && !compute.half_parameters;
  compute.cast_bytes_per_parameter = has_casts ? kCastBytes : 0;
  if (m.gpu->spec.peak_flops(m.precision) <= 0)
    throw Unmapped{m.gpu->name + " has no known peak in " + name_of(m.precision)};
  if (m.options.use_rates) compute.rates = best_rates(rates_for(m, gpus), gpus, batch);
  if (!compute.rates.empty()) m.inputs.uses_results = true;
  for (const RateSpec& rate : compute.rates)
    m.inputs.assumptions.push_back({"images/s of one GPU, batch " + std::to_string(rate.batch), rate.samples_per_s,
                                    "published", "input of the same experiment"});
  const bool anchored_here = std::any_of(compute.rates.begin(), compute.rates.end(),
                                         [&](const RateSpec& rate) { return rate.batch == batch; });
  Speeds speeds;
  if (!anchored_here) {
    speeds = is_sequences ? speeds_of_sequences(m) : speeds_of_images(m);
    m.note("gpu", m.gpu->facts);
  }
  compute.compute_efficiency = {{1, std::min(kMostOfPeak, kComputeEfficiency * speeds.of_flop)}};
  compute.memory_efficiency = std::min(kMostOfMemory, kMemoryEfficiency * speeds.of_bytes) * speeds.kernel_gain;
  if (is_sequences) {
    compute.kernels = kernels_of(m, speeds);
    set_sequence_kernels(m, compute);
  }
  compute.fast_convolution_gain = has_fast_convolutions(m) ? kWinogradGain : 1;
  compute.channel_tile = is_single ? kChannelTile : 1;
  if (!anchored_here) compute.host_launch_s = speeds.host_launch_s;
  compute.launch_s = anchored_here ? speeds.launch_s : launch_from_rates(m, compute, speeds.launch_s);
  if (gpus > 1) {
    compute.jitter = JitterKind::lognormal;
    if (is_sequences) {
      compute.jitter_variation = kVariationOfGpus;
      m.assume("jitter", kVariationOfGpus, kVariationSource);
    } else {
      compute.jitter_variation =
          m.constant({"jitter/" + name_of(m.job.transport) + "/" + m.gpu->generation, "jitter/" + m.gpu->generation});
    }
  }
  return compute;
}

double iteration_s(StackModel& m, const ComputeSpec& compute, int batch) {
  return roofline_cost(graph_of(m), describe_device(compute, m.gpu->spec), compute.optimizer, batch).iteration_s();
}

// Computes GEMMs in single precision if the job's precision is slower. Libraries that may use TF32 choose single
// precision on GPUs whose tensor cores are no faster in TF32, such as GeForce. On GPUs without tensor cores they do so
// for half precision, too.
ComputeSpec compute_with_faster_products(StackModel& m, int gpus, int batch) {
  const Precision stated = m.precision;
  const Inputs before = m.inputs;
  const ComputeSpec compute = compute_in_precision(m, gpus, batch);
  if (!compute.rates.empty()) return compute;  // rates include the library's choice of kernels
  const Inputs in_stated = m.inputs;
  m.inputs = before;  // lists only the inputs of the precision chosen
  m.precision = Precision::fp32;
  ComputeSpec single = compute_in_precision(m, gpus, batch);
  m.precision = stated;
  if (iteration_s(m, compute, batch) <= iteration_s(m, single, batch)) {
    m.inputs = in_stated;
    return compute;
  }
  m.assume("products", "in single precision", "faster than " + name_of(stated) + " on " + m.gpu->name);
  single.precision = stated;
  single.cast_bytes_per_parameter = compute.cast_bytes_per_parameter;
  for (EfficiencySpec& point : single.compute_efficiency)
    point.efficiency *= m.gpu->spec.fp32_flops / m.gpu->spec.peak_flops(stated);
  return single;
}

}  // namespace

ComputeSpec compute_of(StackModel& m, int gpus, int batch) {
  const bool is_half_without_units = m.precision == Precision::mixed && before_tensor_cores(*m.gpu);
  if (m.precision == Precision::tf32 || is_half_without_units) return compute_with_faster_products(m, gpus, batch);
  return compute_in_precision(m, gpus, batch);
}

}  // namespace stack
}  // namespace lockstep::sim
