#pragma once
// Finds the software that a user names. The text may contain a version ("PyTorch 2.5.1", "PyTorch 2.1 FSDP", "NeMo
// 24.07") and other software that is used with it ("FSDP + torch.compile", "Megatron, DeepSpeed").
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job {

/// Returns the names to look up, in order. The first is the text as written. In the second, joints (+ , & "with",
/// "and") become blanks. In the third, versions keep only their first number; in the last, they are removed. A version
/// is digits separated by points, with an optional "v" before and build after ("2.1.0+cu118").
std::vector<std::string> software_spellings(const std::string& text);

struct SoftwareName {
  const StackEntry* entry = nullptr;  ///< null: no spelling is a name
  bool lost_version = false;          ///< the matching spelling lacks a part of the version
};
SoftwareName software_named(const std::string& text, const Catalogue& catalogue);

}  // namespace lockstep::sim::job
