#pragma once
// Finds the software that a user names. The name may contain a version ("PyTorch 2.5.1", "PyTorch 2.1 FSDP", "NeMo
// 24.07") and further software that is used with it ("FSDP + torch.compile", "Megatron, DeepSpeed").
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job {

/// The names to look up, in order. The first is the text as written. Then joints (+ , & "with", "and") become blanks,
/// then a version keeps only its first number, then it is removed. A version is digits separated by points, with an
/// optional "v" before and build after ("2.1.0+cu118").
std::vector<std::string> software_spellings(const std::string& text);

struct SoftwareName {
  const StackEntry* entry = nullptr;  ///< null: no spelling is a name
  bool lost_version = false;          ///< the matching spelling lacks a part of the version
};
SoftwareName software_named(const std::string& text, const Catalogue& catalogue);

}  // namespace lockstep::sim::job
