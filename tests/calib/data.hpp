#pragma once
// Files of tests/calib/data.
#include <sstream>
#include <string>

#include "engine/base/atomic_file.hpp"

namespace lockstep::tests {

inline std::string data(const std::string& file) {
  return read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/calib/data/" + file);
}

/// Lines `begin` to `end` - 1, from 0.
inline std::string lines_of(const std::string& text, int begin, int end) {
  std::istringstream all(text);
  std::string part, line;
  for (int i = 0; i < end && std::getline(all, line); ++i)
    if (i >= begin) part += line + "\n";
  return part;
}

}  // namespace lockstep::tests
