#pragma once
// Names of the algorithms and protocols among which NCCL chooses.
#include "engine/base/choice.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::collective {

enum class NcclAlgorithm { ring, tree, nvls, nvls_tree };
enum class NcclProtocol { ll, ll128, simple };

/// The names are those of NCCL_ALGO.
inline const Choices<NcclAlgorithm>& choices_of(NcclAlgorithm) {
  static const Choices<NcclAlgorithm> all{{NcclAlgorithm::ring, "ring"},
                                          {NcclAlgorithm::tree, "tree"},
                                          {NcclAlgorithm::nvls, "nvls"},
                                          {NcclAlgorithm::nvls_tree, "nvls-tree"}};
  return all;
}

/// The names are those of NCCL_PROTO.
inline const Choices<NcclProtocol>& choices_of(NcclProtocol) {
  static const Choices<NcclProtocol> all{
      {NcclProtocol::ll, "ll"}, {NcclProtocol::ll128, "ll128"}, {NcclProtocol::simple, "simple"}};
  return all;
}

}  // namespace lockstep::sim::collective
