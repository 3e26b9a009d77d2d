#pragma once
// The objects of a scenario for algorithms whose exchange is not one all-reduce per iteration: their members, reading
// and writing, and their text in tables. sim/scenario/README.md describes their keys.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/base/object_format.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::scenario {

struct LocalSgdSpec {
  int period = 8;      ///< steps between two averagings; the default if a file gives none
  int group_gpus = 1;  ///< GPUs that train one replica by S-SGD
};

struct ShardingSpec {
  std::int64_t unit_bytes = 0;   ///< parameters that are gathered together, at least; on the wire
  int units_ahead = 1;           ///< gathered while a unit is computed
  bool gathers_again = true;     ///< for the backward pass
  bool keeps_gradients = false;  ///< whole until the last micro-step, and weights from the first on (ZeRO-1)
};

struct TheanoMpiSpec {
  ParameterExchange exchange = ParameterExchange::asa;
  double staging_bytes_per_s = 0;         ///< ar: a copy between a GPU and its host
  double host_copy_bytes_per_s = 0;       ///< ar: one core copying memory
  double host_reduction_bytes_per_s = 0;  ///< ar: one core adding a vector to another
};

/// Members of a scenario that are used by one algorithm each.
struct ExchangeSpecs {
  LocalSgdSpec local_sgd;    ///< of the algorithm "local-sgd"
  ShardingSpec sharding;     ///< of the algorithm "sharded"
  TheanoMpiSpec theano_mpi;  ///< of the algorithm "theano-mpi"
};

struct Scenario;
struct ScenarioProblem;  // check.hpp

/// Describes the source of batches; part of "input".
struct LoadingSpec {
  double file_bytes_per_sample = 0;       ///< 0: reading takes no time
  double disk_bandwidth_bytes_per_s = 0;  ///< per node, shared by its GPUs; 0: not given
  double nfs_bandwidth_bytes_per_s = 0;   ///< of a file server, shared by all GPUs; 0: not given
  bool blocking = false;                  ///< "loading": "blocking"

  /// Seconds for which a GPU waits for the files of its batch. There are `gpus` GPUs in all and `gpus_of_node` on its
  /// node.
  double read_s(int batch, int gpus_of_node, int gpus) const;
};

/// Describes the fields of "input".
const ObjectFormat<LoadingSpec>& loading_format();
/// Adds the objects of ExchangeSpecs, each needed by its algorithm.
void add_exchanges(ObjectFormat<Scenario>& format);
/// Tables of their keys for the document, by the object's name.
std::map<std::string, std::string> exchange_tables();
/// The line above a table: "local SGD, averaged every 8 steps, ring all-reduce, fp32 wire"; empty for other algorithms.
std::string exchange_text(const Scenario& scenario);
/// Finds numbers of GPUs that the algorithm's groups do not divide.
std::optional<ScenarioProblem> find_exchange_problem(int gpus, const Scenario& scenario);
/// Iterations after which the algorithm repeats: those between two averagings of local SGD, otherwise 1.
int iterations_of_round(const Scenario& scenario);

}  // namespace lockstep::sim::scenario
