#pragma once
// Returns the message that a reader prints, the text of its InputError, or "" if it accepts the input.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep {

template <typename Read>
std::string error_of(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep
