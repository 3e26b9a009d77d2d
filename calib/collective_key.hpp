#pragma once
// Reads the number format from keys of "collective".
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// Returns "fp32" if the key does not name a precision, as in older profiles and in logs of tools.
inline std::string element_of_collective(const Json& key) {
  return key.value("precision", "fp32");
}
/// Whether the key is for floats, as gradients are. Collectives in half precision have separate curves.
inline bool is_of_floats(const Json& key) {
  return element_of_collective(key) == "fp32";
}

}  // namespace lockstep::calib
