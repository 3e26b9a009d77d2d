#pragma once
// What a record measures.
#include <string>

#include "engine/base/choice.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::validation {

enum class Metric {
  unknown,  ///< not predicted
  images_per_s,
  images_per_s_nosync,  ///< communication left out
  hardware_flops,       ///< FLOP/s of a GPU, with what recomputation computes again
  model_flops,          ///< without
  hfu,
  mfu,  ///< these, over the GPU's peak in half precision
  iteration_s,
  epoch_s,
  seconds_per_5120_images,  ///< Theano-MPI's
  training_s,               ///< a stated number of epochs
  time_to_accuracy_s,
  epochs_to_accuracy,
  samples_to_accuracy,
  speedup,
  scaling_efficiency,
  iteration_time_increase,
  communication_s,  ///< of 5120 images; Theano-MPI's
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

/// Names as records have them.
inline const Choices<Metric>& choices_of(Metric) {
  static const Choices<Metric> all{{Metric::images_per_s, "images_per_s", {"samples_per_s", "throughput"}},
                                   {Metric::images_per_s_nosync, "images_per_s_nosync"},
                                   {Metric::hardware_flops, "achieved_flops_per_gpu", {"hardware_flops_per_gpu"}},
                                   {Metric::model_flops, "model_flops_per_gpu"},
                                   {Metric::hfu, "hfu"},
                                   {Metric::mfu, "mfu"},
                                   {Metric::iteration_s, "iteration_s", {"step_time"}},
                                   {Metric::epoch_s, "epoch_seconds"},
                                   {Metric::seconds_per_5120_images, "train_seconds_per_5120_images"},
                                   {Metric::training_s, "training_time_s"},
                                   {Metric::time_to_accuracy_s, "time_to_accuracy_s", {"time_to_train"}},
                                   {Metric::epochs_to_accuracy, "epochs_to_accuracy"},
                                   {Metric::samples_to_accuracy, "samples_to_accuracy", {"samples_to_target"}},
                                   {Metric::speedup, "speedup"},
                                   {Metric::scaling_efficiency, "scaling_efficiency"},
                                   {Metric::iteration_time_increase, "iteration_time_increase"},
                                   {Metric::communication_s, "comm_seconds"},
                                   {Metric::speedup_vs_nccl, "speedup_vs_nccl"},
                                   {Metric::speedup_vs_horovod, "speedup_vs_horovod"},
                                   {Metric::all_reduce_s, "allreduce_seconds"},
                                   {Metric::bus_bandwidth, "allreduce_busbw"},
                                   {Metric::algorithm_bandwidth, "allreduce_algbw"},
                                   {Metric::alpha_s, "alpha_s"},
                                   {Metric::beta_s_per_byte, "beta_s_per_B"},
                                   {Metric::staleness, "staleness"},
                                   {Metric::arrival, "arrival"},
                                   {Metric::iterations_to_converge, "iterations_to_converge"},
                                   {Metric::critical_batch, "critical_batch"},
                                   {Metric::best_group_size, "best_group_size"},
                                   {Metric::required_bandwidth, "required_bandwidth"},
                                   {Metric::bandwidth_for_linear, "bandwidth_for_linear"},
                                   {Metric::throughput_gain_tau, "throughput_gain_tau"},
                                   {Metric::node_traffic, "node_traffic_floats_per_s"},
                                   {Metric::parameter_servers, "parameter_servers"},
                                   {Metric::peak_memory, "peak_memory"}};
  return all;
}

/// The units that a metric may have (measure.cpp).
enum class UnitKind { rate, flops, time, time_per_byte, share, ratio, bandwidth, line_rate, size, count };

inline UnitKind unit_kind(Metric metric) {
  switch (metric) {
    case Metric::images_per_s:
    case Metric::images_per_s_nosync:
      return UnitKind::rate;
    case Metric::hardware_flops:
    case Metric::model_flops:
      return UnitKind::flops;
    case Metric::hfu:
    case Metric::mfu:
      return UnitKind::share;
    case Metric::iteration_s:
    case Metric::epoch_s:
    case Metric::seconds_per_5120_images:
    case Metric::training_s:
    case Metric::time_to_accuracy_s:
    case Metric::communication_s:
    case Metric::all_reduce_s:
    case Metric::alpha_s:
      return UnitKind::time;
    case Metric::beta_s_per_byte:
      return UnitKind::time_per_byte;
    case Metric::scaling_efficiency:
    case Metric::iteration_time_increase:
    case Metric::throughput_gain_tau:
      return UnitKind::share;
    case Metric::speedup:
    case Metric::speedup_vs_nccl:
    case Metric::speedup_vs_horovod:
      return UnitKind::ratio;
    case Metric::bus_bandwidth:
    case Metric::algorithm_bandwidth:
      return UnitKind::bandwidth;
    case Metric::required_bandwidth:
    case Metric::bandwidth_for_linear:
      return UnitKind::line_rate;
    case Metric::peak_memory:
      return UnitKind::size;
    case Metric::unknown:
    case Metric::epochs_to_accuracy:
    case Metric::samples_to_accuracy:
    case Metric::staleness:
    case Metric::arrival:
    case Metric::iterations_to_converge:
    case Metric::critical_batch:
    case Metric::best_group_size:
    case Metric::node_traffic:
    case Metric::parameter_servers:
      return UnitKind::count;
  }
  return UnitKind::count;
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

/// What a rate counts.
enum class Counted { samples, tokens, iterations };

struct Measure {
  Metric metric = Metric::unknown;
  double per_si = 1;  ///< the record's number is the SI value times this (of bandwidths, times GB/s)
  bool is_per_gpu = false;
  double tokens = 0;                   ///< of iteration_s: the record's number is of a training on so many tokens
  bool is_of_all_gpus = false;         ///< and counts every GPU's time: GPU hours
  Counted counted = Counted::samples;  ///< of a rate
  Collective collective = Collective::all_reduce;  ///< of which a time or a bandwidth is asked for
  std::string why_not{};                           ///< why it cannot be predicted; empty: it can
};

/// A rate of samples, counted in operations.
bool is_of_flops(Metric metric);

/// Of what a training takes, whatever the machine.
bool is_of_epochs(Metric metric);

/// Of a collective alone.
bool is_of_collective(Metric metric);

/// Staleness, arrival times, iterations to converge and critical batches; their bounds are not calibrated.
bool is_of_workers(Metric metric);

/// Best group sizes, needed bandwidths and traffic, gains of rarer synchronisation; neither are theirs.
bool is_of_choices(Metric metric);

}  // namespace lockstep::sim::validation
