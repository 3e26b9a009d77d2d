#pragma once
// The versions that made a result, and the state of the source tree at build time.
#include <string>

namespace lockstep {

std::string version();          ///< "1.0.0"
std::string git_revision();     ///< "1a2b3c4d5e6f" or "1a2b3c4d5e6f-dirty"; "unknown" outside git
std::string simgrid_version();  ///< "" when built without
std::string cuda_version();     ///< "" when built without
/// The text that --version prints: "lockstep 1.0.0 (git 1a2b3c4d5e6f), SimGrid 3.32, CUDA 13.0.88".
std::string version_line();

}  // namespace lockstep
