#pragma once
// The objects of a scenario for the algorithms that exchange otherwise than by one all-reduce per iteration; their keys
// are described in sim/scenario/README.md.
#include <cstdint>
#include <string>

#include "engine/base/object_format.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim {

struct LocalSgdSpec {
  int period = 1;  ///< steps from one averaging to the next
};

struct ShardingSpec {
  std::int64_t unit_bytes = 0;  ///< parameters that are gathered together, at least; on the wire
  int units_ahead = 1;          ///< gathered while a unit is computed
  bool gathers_again = true;    ///< for the backward pass
};

struct TheanoMpiSpec {
  ParameterExchange exchange = ParameterExchange::asa;
  double staging_bytes_per_s = 0;         ///< ar: a copy between a GPU and its host
  double host_copy_bytes_per_s = 0;       ///< ar: one core copying memory
  double host_reduction_bytes_per_s = 0;  ///< ar: one core adding a vector to another
};

/// Where batches are read from; part of "input".
struct LoadingSpec {
  double file_bytes_per_sample = 0;       ///< 0: reading takes no time
  double disk_bandwidth_bytes_per_s = 0;  ///< of a node, shared by its GPUs; 0: not stated
  double nfs_bandwidth_bytes_per_s = 0;   ///< of a file server, shared by all GPUs; 0: not stated
  bool blocking = false;                  ///< "loading": "blocking"

  /// Seconds that one of `gpus` GPUs, `gpus_of_node` of them on its node, waits for the files of its batch.
  double read_s(int batch, int gpus_of_node, int gpus) const;
};

/// Fields of "input".
const ObjectFormat<LoadingSpec>& loading_format();
const ObjectFormat<LocalSgdSpec>& local_sgd_format();
const ObjectFormat<ShardingSpec>& sharding_format();
const ObjectFormat<TheanoMpiSpec>& theano_mpi_format();

}  // namespace lockstep::sim
