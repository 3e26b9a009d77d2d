#pragma once
// Computes how much a concurrent collective slows a training iteration, from a profile's samples of `overlap`.
#include <string>
#include <vector>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct Slowdown {
  std::string model, precision, library;
  int devices = 0;
  double batch = 0;
  double bytes = 0;  ///< of each of the consecutive all-reduces
  /// Median time of an iteration that overlaps the all-reduces, divided by the median time of one without all-reduces.
  /// Both are measured alternately.
  double ratio = 0;
};

/// In the order of the samples. Skips overlapped iterations without a matching sample of undisturbed ones.
std::vector<Slowdown> slowdowns(const Profile& profile);

}  // namespace lockstep::calib
