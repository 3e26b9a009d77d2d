#pragma once
// What keys of "collective" say of the numbers that are exchanged.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// "fp32" where the key does not say: profiles up to now, and logs of tools, have floats.
inline std::string element_of_collective(const Json& key) {
  return key.value("precision", "fp32");
}
/// Collectives of half precision have their own curves; gradients are floats.
inline bool is_of_floats(const Json& key) {
  return element_of_collective(key) == "fp32";
}

}  // namespace lockstep::calib
