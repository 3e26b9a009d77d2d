#include "sim/validation/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calib/bus_bandwidth.hpp"
#include "engine/base/statistics.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/validation/sources.hpp"

namespace lockstep::sim::validation {
namespace {

// Distances between records whose facts differ. They are added to logarithms of ratios.
constexpr double kOtherPrecision = 1, kOtherModel = 0.5, kOtherSoftware = 0.3;
constexpr double kOfBatch = 0.3, kOfGpus = 0.5;  // weights of the logarithms of the ratios of batches and GPUs

// Groups quantities that can be compared with each other.
enum class Sort { none, rate, training, bandwidth, efficiency, epochs };

Sort sort_of(Metric metric) {
  switch (metric) {
    case Metric::images_per_s:
    case Metric::iteration_s:
    case Metric::hardware_flops:
    case Metric::model_flops:
    case Metric::hfu:
    case Metric::mfu:
      return Sort::rate;
    case Metric::time_to_accuracy_s:
    case Metric::training_s:
      return Sort::training;
    case Metric::all_reduce_s:
    case Metric::bus_bandwidth:
    case Metric::algorithm_bandwidth:
      return Sort::bandwidth;
    case Metric::scaling_efficiency:
    case Metric::speedup:
      return Sort::efficiency;
    case Metric::epochs_to_accuracy:
      return Sort::epochs;
    default:
      return Sort::none;
  }
}

double ratio(double a, double b) {
  return a > 0 && b > 0 ? std::abs(std::log(a / b)) : 0;
}

// Returns the peak FLOP/s in the given precision, or else in the default one.
double peak_of(const Record& job, const Catalogue& catalogue) {
  const GpuEntry* gpu = catalogue.gpus.with_id(job.gpu.id);
  if (gpu == nullptr) return 0;
  const bool is_single = job.precision == RecordPrecision::fp32;
  const bool is_tf32 = job.precision == RecordPrecision::tf32;
  const double peak = gpu->spec.peak_flops(is_single ? Precision::fp32 : is_tf32 ? Precision::tf32 : Precision::mixed);
  return peak > 0 ? peak : gpu->spec.peak_flops(Precision::fp32);
}

double link_of(const Record& job, const Catalogue& catalogue) {
  const bool is_node = job.gpus_per_node == 0 || job.gpus <= job.gpus_per_node;
  if (!is_node) {
    const NetworkEntry* network = catalogue.networks.with_id(job.network.id);
    const double port = job.network.rate_bits_per_s > 0 ? job.network.rate_bits_per_s / 8
                        : network != nullptr            ? network->port_bytes_per_s
                                                        : 0;
    return port * job.network.count;
  }
  const GpuEntry* gpu = catalogue.gpus.with_id(job.gpu.id);
  const std::string id = job.link.is_known() ? job.link.id : gpu != nullptr ? gpu->intra_node : "";
  const IntraNodeEntry* link = catalogue.intra_nodes.with_id(id);
  if (link == nullptr || gpu == nullptr) return 0;
  return link->is_nvlink ? catalogue.nvlink_of(*link, *gpu).bandwidth_bytes_per_s
                         : link->gpu_link.bandwidth_bytes_per_s;
}

// Returns nullptr if the model is not known.
const model::Graph* graph_of(const Record& job) {
  if (job.own_model) return &job.own_model->graph;
  return job.model.is_known() ? &model::zoo_graph(job.model.id) : nullptr;
}

double flop_of(const Record& job) {
  const model::Graph* graph = graph_of(job);
  return graph == nullptr ? 0 : static_cast<double>(graph->macs());
}

// Returns the tokens of a sample, or 0 if it has none or their number is unknown.
double tokens_of(const Record& job, const Catalogue& catalogue) {
  if (job.own_model) return job.own_model->entry.tokens;
  const ModelEntry* model = catalogue.models.with_id(job.model.id);
  return model == nullptr ? 0 : model->tokens;
}

// Returns the tokens or samples that a rate counts per sample; 0: unknown.
double counted_per_sample(const Record& job, const Catalogue& catalogue) {
  if (job.measure.counted == Counted::samples) return 1;
  return job.measure.counted == Counted::tokens ? tokens_of(job, catalogue) : 0;
}

// Returns the samples of an iteration per GPU. The result is below 1 if several GPUs share a replica. 0: unknown.
double samples_per_gpu(const Record& job) {
  if (job.global_batch > 0) return static_cast<double>(job.global_batch) / std::max(1, job.gpus);
  return double(job.batch_per_gpu) * std::max(1, job.accumulation);
}

// Counts the active parameters. For experts, these are the parameters of the experts that process a token.
double parameters_at_work(const model::Graph& graph) {
  double parameters = 0;
  for (const model::Layer& layer : graph.layers) {
    const double share =
        layer.kind == model::LayerKind::experts ? double(layer.experts.active) / layer.experts.count : 1;
    parameters += share * static_cast<double>(layer.parameter_count());
  }
  return parameters;
}

// Returns the FLOP of a sequence. A parameter costs two per token in the forward pass, and two for each of its two
// gradients (one with adapters). 0: the model has no sequences.
double model_operations(const Record& job, const Catalogue& catalogue) {
  const double tokens = tokens_of(job, catalogue);
  const model::Graph* graph = graph_of(job);
  const double passes = job.split.task == kAdapters ? 2 : 3;
  return tokens > 0 && graph != nullptr ? 2 * passes * parameters_at_work(*graph) * tokens : 0;
}

bool counts_recomputation(Metric metric) {
  return metric == Metric::hardware_flops || metric == Metric::hfu;
}

// Returns the FLOP that the record counts per sequence. If the record is a share of the peak, divides them by the peak.
double counted_operations(const Record& job, const Catalogue& catalogue) {
  double operations = model_operations(job, catalogue);
  if (counts_recomputation(job.measure.metric) && job.split.values.recompute == Recomputation::full)
    operations *= job.split.task == kAdapters ? 3. / 2 : 4. / 3;
  const bool is_share = job.measure.metric == Metric::mfu || job.measure.metric == Metric::hfu;
  const double peak = peak_of(job, catalogue);
  return !is_share ? operations : peak > 0 ? operations / peak : 0;
}

// Returns the record's value in a comparable form: samples/s per GPU, bytes/s on the bus, a share of linear scaling,
// seconds, or epochs.
std::optional<double> plain_value(const Record& job, const Catalogue& catalogue) {
  if (!job.value_si || *job.value_si <= 0 || job.gpus < 1) return std::nullopt;
  const double value = *job.value_si;
  switch (job.measure.metric) {
    case Metric::images_per_s:
      if (counted_per_sample(job, catalogue) == 0) return std::nullopt;
      return value / job.gpus / counted_per_sample(job, catalogue);
    case Metric::hardware_flops:
    case Metric::model_flops:
    case Metric::hfu:
    case Metric::mfu:
      if (counted_operations(job, catalogue) == 0) return std::nullopt;
      return value / counted_operations(job, catalogue);
    case Metric::iteration_s:
      if (samples_per_gpu(job) == 0) return std::nullopt;
      return samples_per_gpu(job) / value;
    case Metric::all_reduce_s:
      return job.bytes > 0 && job.gpus > 1
                 ? std::optional<double>(calib::all_reduce_bus_factor(job.gpus) * job.bytes / value)
                 : std::nullopt;
    case Metric::bus_bandwidth:
      return value * 1e9;
    case Metric::algorithm_bandwidth:
      return value * 1e9 * calib::all_reduce_bus_factor(job.gpus);
    case Metric::speedup:
      return value / job.gpus * std::max(1, job.baseline_gpus);
    case Metric::scaling_efficiency:
    case Metric::epochs_to_accuracy:
    case Metric::time_to_accuracy_s:
    case Metric::training_s:
      return value;
    default:
      return std::nullopt;
  }
}

// Reverses plain_value(); returns SI units.
std::optional<double> value_from_plain(const Record& job, const Catalogue& catalogue, double plain) {
  switch (job.measure.metric) {
    case Metric::images_per_s:
      return plain * job.gpus * counted_per_sample(job, catalogue);
    case Metric::hardware_flops:
    case Metric::model_flops:
    case Metric::hfu:
    case Metric::mfu:
      return plain * counted_operations(job, catalogue);
    case Metric::iteration_s:
      if (samples_per_gpu(job) == 0) return std::nullopt;
      return samples_per_gpu(job) / plain;
    case Metric::all_reduce_s:
      return calib::all_reduce_bus_factor(job.gpus) * job.bytes / plain;
    case Metric::bus_bandwidth:
      return plain / 1e9;
    case Metric::algorithm_bandwidth:
      return plain / 1e9 / calib::all_reduce_bus_factor(job.gpus);
    case Metric::speedup:
      return plain * job.gpus / std::max(1, job.baseline_gpus);
    default:
      return plain;
  }
}

class Nearest {
 public:
  Nearest(const Record& job, const Catalogue& catalogue)
      : job_(job),
        catalogue_(catalogue),
        peak_(peak_of(job, catalogue)),
        link_(link_of(job, catalogue)),
        flop_(flop_of(job)) {}

  std::optional<double> among(const std::vector<const Record*>& known) const {
    const Sort sort = sort_of(job_.measure.metric);
    double least = std::numeric_limits<double>::infinity();
    std::optional<double> best;
    for (const Record* other : known) {
      if (sort == Sort::none || sort_of(other->measure.metric) != sort || other->id == job_.id) continue;
      const std::optional<double> plain = plain_value(*other, catalogue_);
      if (!plain || !is_comparable(sort, *other)) continue;
      const double distance = distance_to(sort, *other);
      if (distance >= least) continue;
      least = distance;
      best = *plain * scale_from(sort, *other);
    }
    return best ? value_from_plain(job_, catalogue_, *best) : std::nullopt;
  }

 private:
  bool is_in_node(const Record& job) const { return job.gpus_per_node == 0 || job.gpus <= job.gpus_per_node; }

  bool is_comparable(Sort sort, const Record& other) const {
    const bool is_same_model = other.model.id == job_.model.id;
    switch (sort) {
      case Sort::rate:
        return other.model.is_known() && peak_ > 0 && flop_ > 0 && peak_of(other, catalogue_) > 0;
      case Sort::training:
        return is_same_model && peak_ > 0 && peak_of(other, catalogue_) > 0 && job_.gpus > 0;
      case Sort::bandwidth:
        return job_.bytes > 0 && other.bytes > 0 && job_.gpus > 1 && is_in_node(other) == is_in_node(job_);
      case Sort::epochs:
        return is_same_model;
      default:
        return job_.gpus > 0;
    }
  }

  double distance_to(Sort sort, const Record& other) const {
    double distance = kOfGpus * ratio(other.gpus, job_.gpus);
    if (sort == Sort::bandwidth)
      return distance + ratio(other.bytes, job_.bytes) + ratio(link_of(other, catalogue_), link_);
    if (sort == Sort::epochs)
      return ratio(static_cast<double>(other.global_batch), static_cast<double>(job_.global_batch)) +
             (other.software.id != job_.software.id ? kOtherSoftware : 0);
    distance += ratio(peak_of(other, catalogue_), peak_) + ratio(flop_of(other), flop_);
    distance += kOfBatch * ratio(other.batch(), job_.batch());
    if (other.precision != job_.precision) distance += kOtherPrecision;
    if (other.model.id != job_.model.id) distance += kOtherModel;
    if (other.software.id != job_.software.id) distance += kOtherSoftware;
    return distance;
  }

  double scale_from(Sort sort, const Record& other) const {
    const double peaks = peak_ / std::max(1.0, peak_of(other, catalogue_));
    if (sort == Sort::rate) return peaks * flop_of(other) / flop_;
    if (sort == Sort::training) return other.gpus / (peaks * job_.gpus);
    const double link = link_of(other, catalogue_);
    return sort == Sort::bandwidth && link > 0 && link_ > 0 ? link_ / link : 1;
  }

  const Record& job_;
  const Catalogue& catalogue_;
  double peak_, link_, flop_;
};

// Returns the samples/s of a GPU at its peak FLOP/s. 0: the model has no sequences, or the GPU is unknown.
double peak_samples_per_s(const Record& job, const Catalogue& catalogue) {
  const double operations = model_operations(job, catalogue);
  return operations > 0 ? peak_of(job, catalogue) / operations : 0;
}

std::optional<double> at_utilisation(const Record& job, std::optional<double> utilisation, const Catalogue& catalogue) {
  const double samples_per_s_at_peak = peak_samples_per_s(job, catalogue);
  if (!utilisation || sort_of(job.measure.metric) != Sort::rate || samples_per_s_at_peak == 0) return std::nullopt;
  return value_from_plain(job, catalogue, *utilisation * samples_per_s_at_peak);
}

std::optional<double> linear_of(const QuantityTask& r, const Record& job) {
  if (job.measure.metric == Metric::scaling_efficiency) return 1;
  if (job.measure.metric == Metric::speedup) return double(job.gpus) / std::max(1, job.baseline_gpus);
  if (!r.has_rates()) return std::nullopt;
  const Workload& run = r.target.front();
  const RateSpec* nearest = nullptr;
  for (const RateSpec& rate : run.scenario.compute.rates)
    if (nearest == nullptr || ratio(rate.batch, run.batch_per_gpu) < ratio(nearest->batch, run.batch_per_gpu))
      nearest = &rate;
  const double rate = nearest->samples_per_s * run.gpus;
  if (r.quantity == Quantity::images_per_s) return rate;
  if (r.quantity == Quantity::iteration_s) return double(run.gpus) * run.batch_per_gpu / rate;
  if (r.quantity == Quantity::samples_time_s) return r.samples * (r.epochs > 0 ? r.epochs : 1) / rate;
  return std::nullopt;
}

std::optional<double> alpha_beta_of(const QuantityTask& r, const Record& job) {
  const bool is_time = r.quantity == Quantity::all_reduce_s;
  if (!is_time && r.quantity != Quantity::bus_bandwidth && r.quantity != Quantity::algorithm_bandwidth)
    return std::nullopt;
  double weight = 0, s = 0, ss = 0, t = 0, st = 0;  // sums; each point has the weight 1 / t^2
  double bandwidth = 0;
  for (const Anchor& anchor : r.anchors) {
    if (anchor.gpus != job.gpus || anchor.bytes <= 0) continue;
    const double bytes_per_s = anchor.published * 1e9;
    const double seconds = is_time ? anchor.published
                           : r.quantity == Quantity::bus_bandwidth
                               ? calib::all_reduce_bus_factor(job.gpus) * anchor.bytes / bytes_per_s
                               : anchor.bytes / bytes_per_s;
    const double w = 1 / (seconds * seconds);
    weight += w;
    s += w * anchor.bytes;
    ss += w * anchor.bytes * anchor.bytes;
    t += w * seconds;
    st += w * anchor.bytes * seconds;
    bandwidth = anchor.bytes / seconds;
  }
  if (weight == 0) return std::nullopt;
  const double spread = ss - s * s / weight;
  double seconds = job.bytes / bandwidth;
  if (spread > 1e-9 * ss) {
    const double beta = (st - s * t / weight) / spread;
    seconds = std::max(1e-7, (t - beta * s) / weight + beta * job.bytes);
  }
  if (is_time) return seconds;
  return job.bytes / seconds / 1e9 *
         (r.quantity == Quantity::bus_bandwidth ? calib::all_reduce_bus_factor(job.gpus) : 1);
}

}  // namespace

std::string class_of_rate(const Record& job, const Catalogue& catalogue) {
  const GpuEntry* gpu = catalogue.gpus.with_id(job.gpu.id);
  if (gpu == nullptr) return "";
  const Precision precision = layers_precision(job.precision.value_or(RecordPrecision::mixed));
  const model::Graph* graph = graph_of(job);
  const bool has_experts = graph != nullptr && graph->transformer && graph->transformer->spec.mixture.count > 0;
  return gpu->generation + ", " + name_of(precision) + (has_experts ? ", experts" : "");
}

namespace {

std::map<std::string, double> medians_of(const std::map<std::string, std::vector<double>>& by_source) {
  std::map<std::string, double> medians;
  for (const auto& [source, values] : by_source) medians[source] = median(values);
  return medians;
}

std::optional<double> median_without(const std::map<std::string, double>& by_source, const std::string& source) {
  std::vector<double> others;
  for (const auto& [name, value] : by_source)
    if (may_predict(name, source)) others.push_back(value);
  return others.empty() ? std::nullopt : std::optional<double>(median(others));
}

}  // namespace

Utilisations::Utilisations(const std::vector<Record>& known, const Catalogue& catalogue) {
  std::map<std::string, std::vector<double>> by_source;
  std::map<std::string, std::map<std::string, std::vector<double>>> by_class;
  for (const Record& job : known) {
    if (sort_of(job.measure.metric) != Sort::rate) continue;
    const std::optional<double> samples_per_s = plain_value(job, catalogue);
    const double samples_per_s_at_peak = peak_samples_per_s(job, catalogue);
    if (!samples_per_s || samples_per_s_at_peak <= 0) continue;
    const double utilisation = *samples_per_s / samples_per_s_at_peak;
    by_source[job.whole_source].push_back(utilisation);
    by_class[class_of_rate(job, catalogue)][job.whole_source].push_back(utilisation);
  }
  median_by_source_ = medians_of(by_source);
  for (const auto& [name, sources] : by_class) median_by_class_[name] = medians_of(sources);
}

std::optional<double> Utilisations::without(const std::string& source, const std::string& rate_class) const {
  const auto found = median_by_class_.find(rate_class);
  if (found != median_by_class_.end())
    if (const std::optional<double> of_class = median_without(found->second, source)) return of_class;
  return median_without(median_by_source_, source);
}

Baselines baselines_of(const Prediction& prediction, const Record& job, const std::vector<const Record*>& known,
                       std::optional<double> utilisation, const Catalogue& catalogue) {
  const double per_si = job.value_si && *job.value_si > 0 ? *job.value / *job.value_si : 1;
  const auto in_unit = [&](std::optional<double> si) { return si ? std::optional<double>(*si * per_si) : si; };
  return {in_unit(Nearest(job, catalogue).among(known)), in_unit(at_utilisation(job, utilisation, catalogue)),
          in_unit(linear_of(prediction.task, job)), in_unit(alpha_beta_of(prediction.task, job))};
}

}  // namespace lockstep::sim::validation
