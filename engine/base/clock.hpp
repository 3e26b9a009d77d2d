#pragma once
// The clock of measured times: it runs evenly, whatever sets the time of day.
#include <chrono>

namespace lockstep {

inline double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
