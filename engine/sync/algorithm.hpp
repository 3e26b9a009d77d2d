#pragma once
// The training algorithms. `train` trains with some of them; `simulate` predicts all. Each is described where it is
// implemented: engine/sync, sim/schedule.
#include "engine/base/choice.hpp"

namespace lockstep {

enum class Algorithm {
  s_sgd,             ///< synchronous SGD with an all-reduce
  parameter_server,  ///< synchronous SGD with parameter servers or sufficient factors
  sma,               ///< synchronous model averaging (Crossbow)
  ea_sgd,            ///< elastic averaging, synchronous
  backup_workers,    ///< N of N + b gradients
  async_sgd,         ///< stale gradients
  async_easgd,       ///< elastic averaging with a centre, asynchronous
  local_sgd,         ///< averaged every few steps
  sharded,           ///< parameters, gradients and state divided among the GPUs
  theano_mpi         ///< bulk-synchronous exchanges of Theano-MPI
};

inline const Choices<Algorithm>& choices_of(Algorithm) {
  static const Choices<Algorithm> all{{Algorithm::s_sgd, "s-sgd", {"ssgd"}},
                                      {Algorithm::parameter_server, "parameter-server"},
                                      {Algorithm::sma, "sma"},
                                      {Algorithm::ea_sgd, "ea-sgd", {"easgd"}},
                                      {Algorithm::backup_workers, "backup-workers", {"backup"}},
                                      {Algorithm::async_sgd, "async-sgd", {"stale"}},
                                      {Algorithm::async_easgd, "async-easgd"},
                                      {Algorithm::local_sgd, "local-sgd"},
                                      {Algorithm::sharded, "sharded"},
                                      {Algorithm::theano_mpi, "theano-mpi"}};
  return all;
}

}  // namespace lockstep
