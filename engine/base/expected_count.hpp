#pragma once
#include <string>

#include "engine/base/text.hpp"

namespace lockstep {

/// Writes a mean number of events; below 10 with two significant digits: "31", "0.42".
inline std::string expected_count_text(double count) {
  return count < 10 ? formatted("%.2g", count) : with_thousands(count);
}

}  // namespace lockstep
