#pragma once
// Bisects [low, high]: `holds` is true below the value sought and false above it. Stops at the relative `tolerance` or
// after 200 steps.

namespace lockstep {

template <class Holds>
double bisect(double low, double high, const Holds& holds, double tolerance = 1e-14) {
  for (int step = 0; step < 200 && high - low > tolerance * high; ++step) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace lockstep
