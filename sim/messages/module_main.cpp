// The module that programs load when a question needs SimGrid.
#include "engine/base/version.hpp"
#include "sim/messages/engine.hpp"
#include "sim/messages/messages.hpp"

extern "C" __attribute__((visibility("default"))) lockstep::sim::replay::SimgridFunctions lockstep_simgrid_functions() {
  using namespace lockstep::sim::messages;
  return {lockstep::version(), choose_flow_updates, simulate_messages, make_simgrid_runtime, simulate_trainings};
}
