#pragma once
// How long all-reduces take, without a model: of a machine in words, by the constants that published all-reduces gave and
// with the bounds that they were tested with; or of a cluster file, as its links and NCCL's tables say it.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::job_prediction {

/// Either `cluster` or `gpu`. An empty text or 0 leaves a fact open.
struct AllReduceQuestion {
  std::string cluster;             ///< a cluster file
  std::string gpu, link, network;  ///< names as job_names.hpp has them
  std::string algorithm;           ///< an all-reduce by its name, such as ring; empty: NCCL's choice
  int gpus_per_node = 0;           ///< in words; 0: 8, as is usual of servers
  std::vector<int> gpus;           ///< empty, of a cluster file: all of it
  std::vector<std::string> sizes;  ///< of what is summed, such as "100MB"
};

struct AllReduceTime {
  int gpus = 0;
  std::int64_t bytes = 0;  ///< of what every GPU contributes
  double seconds = 0;
  double low_s = 0, high_s = 0;  ///< 80 % prediction interval; both `seconds` of a cluster file

  /// nccl-tests' algbw: bytes/s.
  double algorithm_bandwidth() const { return static_cast<double>(bytes) / seconds; }
  /// nccl-tests' busbw, which does not fall with the number of ranks n of a ring: 2(n-1)/n bytes/s.
  double bus_bandwidth() const { return 2.0 * (gpus - 1) / gpus * algorithm_bandwidth(); }
};

struct AllReduceTimes {
  std::vector<AllReduceTime> rows;  ///< by GPUs, then by size, as asked for
  std::string read;                 ///< what the question was read as, a line
  bool has_bounds = false;
  std::vector<Assumption> assumptions;
  std::map<std::string, std::string> inputs{};  ///< file -> SHA-256
};

/// Changes a workload before it is timed: a machine with a fault, a reduce-scatter in place of an all-reduce.
using WorkloadChange = std::function<void(Workload&)>;

/// Throws InputError: a name that is not known, nodes that are not full, sizes outside 1 B to 1 TB, more GPUs than the
/// cluster has. `change`, if there is one, applies to a machine in words; to a cluster file nothing can be changed.
AllReduceTimes all_reduce_times(const AllReduceQuestion& question, const Catalogue& catalogue, int jobs,
                                const WorkloadChange& change = {});

/// GPUs, size, time with bounds, algbw and busbw.
std::string all_reduce_text(const AllReduceTimes& times);
/// Schema "lockstep/all_reduce/1": rows with "gpus", "bytes", "seconds", "low_s", "high_s", "algorithm_bandwidth" and
/// "bus_bandwidth" in bytes/s, beside them the assumptions.
Json all_reduce_json(const AllReduceTimes& times);

}  // namespace lockstep::sim::job_prediction
