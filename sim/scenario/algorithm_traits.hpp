#pragma once
// The facts of a training algorithm that other modules need, in one place. A new algorithm gets a row here. The
// compiler then requires a schedule that makes its program (sim/program/programs.cpp).
#include <optional>
#include <string>
#include <vector>

#include "engine/sync/algorithm.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

struct AlgorithmTraits {
  std::string title;                      ///< in tables
  bool has_input;                         ///< its GPUs load batches; false: input is not simulated
  bool may_block;                         ///< may load a batch between two steps ("loading": "blocking")
  bool accumulates;                       ///< may add up the gradients of several micro-steps
  bool has_kernels_beside;                ///< its collectives are kernels that overlap computing (overlap_slowdown)
  bool fuses;                             ///< gathers gradients in a buffer before they are sent
  bool updates_on_servers;                ///< servers keep the optimizer's state
  std::optional<Algorithm> law;           ///< algorithm whose law of convergence it follows; none: no law
  std::vector<std::string> optimised_by;  ///< quantities that --optimise may search for it
};

inline const AlgorithmTraits& traits_of(Algorithm algorithm) {
  using A = Algorithm;
  switch (algorithm) {
    case A::s_sgd: {
      static const AlgorithmTraits traits{"S-SGD", true, true, true, true, true, false, A::s_sgd, {"batch"}};
      return traits;
    }
    case A::parameter_server: {
      static const AlgorithmTraits traits{
          "S-SGD, parameter server", true, false, false, false, false, true, A::s_sgd, {"batch"}};
      return traits;
    }
    case A::sma: {
      static const AlgorithmTraits traits{"SMA", true, false, false, true, false, false, A::sma, {"learners"}};
      return traits;
    }
    case A::ea_sgd: {
      static const AlgorithmTraits traits{"EA-SGD", true, false, false, true, false, false, A::ea_sgd, {"learners"}};
      return traits;
    }
    case A::backup_workers: {
      static const AlgorithmTraits traits{"synchronous SGD with backup workers",
                                          false,
                                          false,
                                          false,
                                          false,
                                          false,
                                          true,
                                          A::backup_workers,
                                          {"backups"}};
      return traits;
    }
    case A::async_sgd: {
      static const AlgorithmTraits traits{"asynchronous SGD", false, false, false, false, false, true,
                                          A::async_sgd,       {}};
      return traits;
    }
    case A::async_easgd: {
      static const AlgorithmTraits traits{"asynchronous EASGD", false, false, false, false, false, false,
                                          A::async_easgd,       {}};
      return traits;
    }
    case A::local_sgd: {
      static const AlgorithmTraits traits{"local SGD", true, true, false, false, true, false, A::local_sgd, {}};
      return traits;
    }
    case A::sharded: {
      static const AlgorithmTraits traits{"sharded", true, true, true, true, false, false, A::s_sgd, {"batch"}};
      return traits;
    }
    case A::theano_mpi: {
      static const AlgorithmTraits traits{"Theano-MPI", true, true, false, false, false, false, A::s_sgd, {"batch"}};
      return traits;
    }
  }
  throw std::logic_error("an algorithm without traits");
}

}  // namespace lockstep::sim::scenario
