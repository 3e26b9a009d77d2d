#pragma once
// What NCCL may choose, and the generations of GPUs that its tables have.
#include "engine/base/choice.hpp"

namespace lockstep::sim {

enum class NcclGeneration { pascal, volta, ampere, hopper, blackwell };
enum class NcclAlgorithm { ring, tree, nvls, nvls_tree };
enum class NcclProtocol { ll, ll128, simple };

inline const Choices<NcclGeneration>& choices_of(NcclGeneration) {
  static const Choices<NcclGeneration> all{{NcclGeneration::pascal, "pascal"},
                                           {NcclGeneration::volta, "volta"},
                                           {NcclGeneration::ampere, "ampere"},
                                           {NcclGeneration::hopper, "hopper"},
                                           {NcclGeneration::blackwell, "blackwell"}};
  return all;
}

/// As NCCL_ALGO has them.
inline const Choices<NcclAlgorithm>& choices_of(NcclAlgorithm) {
  static const Choices<NcclAlgorithm> all{{NcclAlgorithm::ring, "ring"},
                                          {NcclAlgorithm::tree, "tree"},
                                          {NcclAlgorithm::nvls, "nvls"},
                                          {NcclAlgorithm::nvls_tree, "nvls-tree"}};
  return all;
}

/// As NCCL_PROTO has them.
inline const Choices<NcclProtocol>& choices_of(NcclProtocol) {
  static const Choices<NcclProtocol> all{
      {NcclProtocol::ll, "ll"}, {NcclProtocol::ll128, "ll128"}, {NcclProtocol::simple, "simple"}};
  return all;
}

}  // namespace lockstep::sim
