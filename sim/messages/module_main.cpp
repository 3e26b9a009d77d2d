// The module that programs load when a question needs SimGrid.
#include "engine/base/version.hpp"
#include "sim/messages/engine.hpp"
#include "sim/messages/messages.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char* lockstep_simgrid_version() {
  static const std::string version = lockstep::version_line();
  return version.c_str();
}

EXPORTED const lockstep::sim::replay::SimgridFunctions* lockstep_simgrid_functions() {
  using namespace lockstep::sim::messages;
  static const lockstep::sim::replay::SimgridFunctions functions{choose_flow_updates, simulate_messages,
                                                                 make_simgrid_runtime, simulate_trainings};
  return &functions;
}
