#pragma once
// The quantity that a record measures.
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::validation {

enum class Metric {
  unknown,  ///< not predicted
  images_per_s,
  images_per_s_nosync,  ///< without communication
  hardware_flops,       ///< FLOP/s of a GPU, including recomputation
  model_flops,          ///< FLOP/s of a GPU, without recomputation
  hfu,
  mfu,  ///< hfu, mfu: these FLOP/s over the GPU's peak (utilisation.hpp)
  iteration_s,
  epoch_s,
  seconds_per_5120_images,  ///< in Theano-MPI's paper
  training_s,               ///< time of a given number of epochs
  time_to_accuracy_s,
  epochs_to_accuracy,
  samples_to_accuracy,
  speedup,
  scaling_efficiency,
  iteration_time_increase,
  communication_s,  ///< for 5120 images, in Theano-MPI's paper
  speedup_vs_nccl,
  speedup_vs_horovod,
  all_reduce_s,
  bus_bandwidth,
  algorithm_bandwidth,
  alpha_s,
  beta_s_per_byte,
  staleness,
  arrival,
  iterations_to_converge,
  critical_batch,
  best_group_size,
  required_bandwidth,
  bandwidth_for_linear,
  throughput_gain_tau,
  node_traffic,
  parameter_servers,  ///< how many there were; only given
  peak_memory,        ///< of the GPU that needs most
};

/// The units that a metric may have (measure.cpp).
enum class UnitKind { rate, flops, time, time_per_byte, share, ratio, bandwidth, line_rate, size, count };

enum class MetricGroup {
  training,    ///< iterations and trainings on the job's GPUs
  flops,       ///< as above, with rates of samples expressed in FLOP/s
  epochs,      ///< epochs that a training needs on any machine
  collective,  ///< a collective without other work
  workers,     ///< staleness, arrival times, iterations to converge, critical batches; their bounds are not calibrated
  choices      ///< best group sizes, needed bandwidths and traffic, gains of rarer synchronisation; likewise
};

struct MetricDescription {
  Metric metric;
  std::string name;  ///< its name in records
  UnitKind unit;
  MetricGroup group;
  std::vector<std::string> aliases = {};
};

inline const std::vector<MetricDescription>& metric_descriptions() {
  static const std::vector<MetricDescription> all{
      {Metric::images_per_s, "images_per_s", UnitKind::rate, MetricGroup::training, {"samples_per_s", "throughput"}},
      {Metric::images_per_s_nosync, "images_per_s_nosync", UnitKind::rate, MetricGroup::training},
      {Metric::hardware_flops,
       "achieved_flops_per_gpu",
       UnitKind::flops,
       MetricGroup::flops,
       {"hardware_flops_per_gpu"}},
      {Metric::model_flops, "model_flops_per_gpu", UnitKind::flops, MetricGroup::flops},
      {Metric::hfu, "hfu", UnitKind::share, MetricGroup::flops},
      {Metric::mfu, "mfu", UnitKind::share, MetricGroup::flops},
      {Metric::iteration_s, "iteration_s", UnitKind::time, MetricGroup::training, {"step_time"}},
      {Metric::epoch_s, "epoch_seconds", UnitKind::time, MetricGroup::training},
      {Metric::seconds_per_5120_images, "train_seconds_per_5120_images", UnitKind::time, MetricGroup::training},
      {Metric::training_s, "training_time_s", UnitKind::time, MetricGroup::training},
      {Metric::time_to_accuracy_s, "time_to_accuracy_s", UnitKind::time, MetricGroup::training, {"time_to_train"}},
      {Metric::epochs_to_accuracy, "epochs_to_accuracy", UnitKind::count, MetricGroup::epochs},
      {Metric::samples_to_accuracy, "samples_to_accuracy", UnitKind::count, MetricGroup::epochs, {"samples_to_target"}},
      {Metric::speedup, "speedup", UnitKind::ratio, MetricGroup::training},
      {Metric::scaling_efficiency, "scaling_efficiency", UnitKind::share, MetricGroup::training},
      {Metric::iteration_time_increase, "iteration_time_increase", UnitKind::share, MetricGroup::training},
      {Metric::communication_s, "comm_seconds", UnitKind::time, MetricGroup::training},
      {Metric::speedup_vs_nccl, "speedup_vs_nccl", UnitKind::ratio, MetricGroup::training},
      {Metric::speedup_vs_horovod, "speedup_vs_horovod", UnitKind::ratio, MetricGroup::training},
      {Metric::all_reduce_s, "allreduce_seconds", UnitKind::time, MetricGroup::collective},
      {Metric::bus_bandwidth, "allreduce_busbw", UnitKind::bandwidth, MetricGroup::collective},
      {Metric::algorithm_bandwidth, "allreduce_algbw", UnitKind::bandwidth, MetricGroup::collective},
      {Metric::alpha_s, "alpha_s", UnitKind::time, MetricGroup::collective},
      {Metric::beta_s_per_byte, "beta_s_per_B", UnitKind::time_per_byte, MetricGroup::collective},
      {Metric::staleness, "staleness", UnitKind::count, MetricGroup::workers},
      {Metric::arrival, "arrival", UnitKind::count, MetricGroup::workers},
      {Metric::iterations_to_converge, "iterations_to_converge", UnitKind::count, MetricGroup::workers},
      {Metric::critical_batch, "critical_batch", UnitKind::count, MetricGroup::workers},
      {Metric::best_group_size, "best_group_size", UnitKind::count, MetricGroup::choices},
      {Metric::required_bandwidth, "required_bandwidth", UnitKind::line_rate, MetricGroup::choices},
      {Metric::bandwidth_for_linear, "bandwidth_for_linear", UnitKind::line_rate, MetricGroup::choices},
      {Metric::throughput_gain_tau, "throughput_gain_tau", UnitKind::share, MetricGroup::choices},
      {Metric::node_traffic, "node_traffic_floats_per_s", UnitKind::count, MetricGroup::choices},
      {Metric::parameter_servers, "parameter_servers", UnitKind::count, MetricGroup::training},
      {Metric::peak_memory, "peak_memory", UnitKind::size, MetricGroup::training}};
  return all;
}

inline const Choices<Metric>& choices_of(Metric) {
  static const Choices<Metric> all = [] {
    Choices<Metric> choices;
    for (const MetricDescription& one : metric_descriptions()) choices.push_back({one.metric, one.name, one.aliases});
    return choices;
  }();
  return all;
}

/// For an unknown metric, unit_kind() returns a count and group_of() the group of trainings.
inline UnitKind unit_kind(Metric metric) {
  for (const MetricDescription& one : metric_descriptions())
    if (one.metric == metric) return one.unit;
  return UnitKind::count;
}

inline MetricGroup group_of(Metric metric) {
  for (const MetricDescription& one : metric_descriptions())
    if (one.metric == metric) return one.group;
  return MetricGroup::training;
}

inline bool is_of_flops(Metric metric) {
  return group_of(metric) == MetricGroup::flops;
}
inline bool is_of_collective(Metric metric) {
  return group_of(metric) == MetricGroup::collective;
}

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, reduce };

inline const Choices<Collective>& choices_of(Collective) {
  static const Choices<Collective> all{{Collective::all_reduce, "all-reduce"},
                                       {Collective::reduce_scatter, "reduce-scatter"},
                                       {Collective::all_gather, "all-gather"},
                                       {Collective::broadcast, "broadcast"},
                                       {Collective::reduce, "reduce"}};
  return all;
}

/// The units of work that a rate counts.
enum class Counted { samples, tokens, iterations };

struct Measure {
  Metric metric = Metric::unknown;
  double per_si = 1;  ///< the record's number over the SI value (for bandwidths, over the value in GB/s)
  bool is_per_gpu = false;
  double tokens = 0;            ///< iteration_s: the record's number is the time of a training on this number of tokens
  bool is_of_all_gpus = false;  ///< that time is summed over all GPUs: GPU hours
  Counted counted = Counted::samples;              ///< for rates
  Collective collective = Collective::all_reduce;  ///< the operation whose time or bandwidth is measured
  std::string why_not{};                           ///< why it cannot be predicted; empty: it can
};

}  // namespace lockstep::sim::validation
