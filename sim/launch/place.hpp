#pragma once
// The place where a value was read, so that messages can name it.
#include <string>

#include "sim/modules.hpp"

namespace lockstep::sim::launch {

struct Place {
  std::string file;
  int line = 0;  ///< 0: not known

  /// "train.sh:12"
  std::string text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }
};

}  // namespace lockstep::sim::launch
