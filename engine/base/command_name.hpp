#pragma once
// The name under which a program was called, for messages.
#include <cstdlib>
#include <string>

namespace lockstep {

/// "plan"; or "lockstep plan" if the command lockstep started this program.
inline std::string command_of_program(const std::string& program) {
  const char* const command = std::getenv("LOCKSTEP_COMMAND");
  return command == nullptr ? program : std::string(command) + " " + program;
}

}  // namespace lockstep
