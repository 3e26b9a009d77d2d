#pragma once
// The object "workers" of a scenario, for algorithms whose workers run different programs: backup workers, asynchronous
// SGD and asynchronous EASGD. README.md describes its keys.

#include "engine/base/object_format.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/delay_spec.hpp"

namespace lockstep::sim::scenario {

struct WorkersSpec {
  int backups = 0;                ///< b of the point's N + b GPUs
  int aggregate = 0;              ///< N, the gradients that an update averages; 0: the GPUs minus `backups`
  double timeout_s = 0;           ///< 0: none
  bool is_interrupted = false;    ///< late workers abandon their work
  int servers = 1;                ///< M
  bool separate = true;           ///< servers on nodes of their own; false: on the workers' nodes in turn
  double apply_bytes_per_s = 0;   ///< rate at which a server sums or applies gradients; 0: takes no time
  bool by_module = false;         ///< async-sgd: a shard per module of the model; false: an equal one per server
  bool reads_in_forward = true;   ///< async-sgd: as the forward pass needs them; false: all at the beginning
  bool sends_in_backward = true;  ///< async-sgd: as they are ready; false: all at the end
  double elastic_rate = 0.5;      ///< async-easgd: alpha
  int period = 1;                 ///< async-easgd: tau
  DelaySpec delay;                ///< of a worker's step

  /// N at a number of GPUs that check_workers() allows.
  int aggregate_of(int gpus) const;
  /// Nodes that separate servers occupy.
  int server_nodes() const { return separate ? servers : 0; }
};

/// True for algorithms that use the object.
bool has_workers(Algorithm algorithm);

/// Reads and checks the keys that concern `algorithm`. Throws InputError.
WorkersSpec read_workers(const JsonNode& node, Algorithm algorithm);

const ObjectFormat<WorkersSpec>& workers_format();

}  // namespace lockstep::sim::scenario
