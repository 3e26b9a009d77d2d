#pragma once
// Predicts how long all-reduces take, without a model. If names give the machine, constants fitted to published
// all-reduces predict it, with calibrated intervals. A cluster file is predicted from its links and NCCL's tables.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calib/bus_bandwidth.hpp"
#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::job_prediction {

/// Give either `cluster` or `gpu`. An empty text or 0: not given.
struct AllReduceQuestion {
  std::string operation = "all-reduce";  ///< name in AllReduceTimes::read
  std::string cluster;                   ///< a cluster file
  std::string gpu, link, network;        ///< names as in job_names.hpp
  std::string algorithm;                 ///< name of an all-reduce, such as ring; empty: NCCL's choice
  int gpus_per_node = 0;                 ///< for a machine given by names; 0: 8, the default of servers
  std::vector<int> gpus;                 ///< empty, with a cluster file: all of its GPUs
  std::vector<std::string> sizes;        ///< sizes of the summed buffer, such as "100MB"
};

struct AllReduceTime {
  int gpus = 0;
  std::int64_t bytes = 0;  ///< bytes that every GPU contributes
  double seconds = 0;
  double low_s = 0, high_s = 0;  ///< 80 % prediction interval; with a cluster file both equal `seconds`

  /// Returns nccl-tests' algbw in bytes/s.
  double algorithm_bandwidth() const { return static_cast<double>(bytes) / seconds; }
  /// Returns nccl-tests' busbw in bytes/s: algbw x 2(n-1)/n on n ranks. Values of rings of any length are thus
  /// comparable.
  double bus_bandwidth() const { return calib::all_reduce_bus_factor(gpus) * algorithm_bandwidth(); }
};

struct AllReduceTimes {
  std::vector<AllReduceTime> rows;  ///< by GPUs, then by size, in the order of the question
  std::string read;                 ///< one line that says how the question was understood
  bool has_bounds = false;
  std::vector<Assumption> assumptions;
  std::map<std::string, std::string> inputs{};  ///< file -> SHA-256
};

/// Changes a workload before it is timed, for example to a machine with a fault, or to a reduce-scatter.
using WorkloadChange = std::function<void(Workload&)>;

/// Throws InputError for an unknown name, nodes that are not full, sizes outside 1 B to 1 TB, and more GPUs than the
/// cluster has. `change` is optional and requires a machine given by names. A cluster file cannot be changed.
AllReduceTimes all_reduce_times(const AllReduceQuestion& question, const Catalogue& catalogue, int jobs,
                                const WorkloadChange& change = {});

/// Writes a table: GPUs, size, time with its interval, algbw and busbw.
std::string all_reduce_text(const AllReduceTimes& times);
/// Writes schema "lockstep/all_reduce/1": the assumptions, and rows with "gpus", "bytes", "seconds", "low_s", "high_s",
/// "algorithm_bandwidth" and "bus_bandwidth" (both in bytes/s).
Json all_reduce_json(const AllReduceTimes& times);

}  // namespace lockstep::sim::job_prediction
