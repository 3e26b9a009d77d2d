#pragma once
// How much a collective that goes on beside it slows a training iteration down, from a profile's samples of `overlap`.
#include <string>
#include <vector>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct Slowdown {
  std::string model, precision, library;
  int devices = 0;
  double batch = 0;
  double bytes = 0;  ///< of the all-reduces that followed one another
  /// Median time of an iteration beside them over the median of one alone, taken in turns with it.
  double ratio = 0;
};

/// In the order of the samples. Samples of iterations beside a collective without any alone give nothing.
std::vector<Slowdown> slowdowns(const Profile& profile);

}  // namespace lockstep::calib
