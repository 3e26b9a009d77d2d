#pragma once
// The clock for measuring durations: it is monotonic, so changes of the time of day do not affect it.
#include <chrono>

namespace lockstep {

inline double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
