#pragma once
// How a program is called in messages.
#include <cstdlib>
#include <string>

namespace lockstep {

/// A program as its user calls it: "plan", or "lockstep plan" where the command lockstep started this program.
inline std::string command_of_program(const std::string& program) {
  const char* const command = std::getenv("LOCKSTEP_COMMAND");
  return command == nullptr ? program : std::string(command) + " " + program;
}

}  // namespace lockstep
