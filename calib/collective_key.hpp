#pragma once
// Reads the number format from keys of "collective".
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// Precision that the key names; "fp32" if it names none, as in older profiles and in logs of tools.
inline std::string precision_of_collective(const Json& key) {
  return key.value("precision", "fp32");
}
/// Whether the key is for fp32. Collectives in half precision have separate curves.
inline bool is_of_floats(const Json& key) {
  return precision_of_collective(key) == "fp32";
}

}  // namespace lockstep::calib
