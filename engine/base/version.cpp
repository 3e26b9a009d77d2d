#include "engine/base/version.hpp"

#include "lockstep_version.hpp"

namespace lockstep {

std::string version() {
  return LOCKSTEP_VERSION;
}
std::string git_revision() {
  return LOCKSTEP_GIT;
}
std::string simgrid_version() {
  return LOCKSTEP_SIMGRID_VERSION;
}
std::string cuda_version() {
  return LOCKSTEP_CUDA_VERSION;
}

std::string version_line() {
  std::string line = "lockstep " + version() + " (git " + git_revision() + ")";
  if (!simgrid_version().empty()) line += ", SimGrid " + simgrid_version();
  if (!cuda_version().empty()) line += ", CUDA " + cuda_version();
  return line;
}

}  // namespace lockstep
