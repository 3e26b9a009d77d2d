#pragma once
// The object "parameter_server" of a scenario, for the algorithm of that name; README.md describes its keys.
#include <cstdint>

#include "engine/base/object_format.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::scenario {

struct ParameterServerSpec {
  ServerScheme scheme = ServerScheme::server;
  int servers = 0;              ///< 0: one on every node of workers
  bool separate = false;        ///< servers on nodes of their own
  bool shards_tensors = false;  ///< a whole tensor per server; false: key-value pairs
  std::int64_t pair_bytes = 2'000'000;
  int pairs_per_message = 1;
  int streams = 0;                 ///< concurrent exchanges; 0: 2 of pairs, all of tensors
  bool barrier = false;            ///< the next forward pass waits for all layers
  double staging_bytes_per_s = 0;  ///< of a copy between GPU and host memory, one way; 0: no staging
  bool staging_overlaps = true;    ///< copies overlap computing
  double apply_bytes_per_s = 0;    ///< bytes/s at which a server applies gradients once all have arrived; 0: hidden
};

const ObjectFormat<ParameterServerSpec>& parameter_server_format();

}  // namespace lockstep::sim::scenario
