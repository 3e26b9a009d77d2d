#pragma once
// The time that DistributedDataParallel spends copying gradients to its buckets and back, from a profile's samples of
// `step`.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct BucketCopies {
  double seconds = 0;  ///< per iteration, for all gradients, both ways; 0: not measured, or too small to detect
  int devices = 0;     ///< number of busy devices
};

/// The excess time of a step of DistributedDataParallel with one process ("how": "ddp", "ranks": 1) over an iteration
/// without it, on the same number of busy devices; the median over the batches. With one process, there are copies but
/// no all-reduce. If several numbers of devices were measured, uses the largest.
BucketCopies bucket_copies(const Profile& profile, const std::string& model, const std::string& precision);

}  // namespace lockstep::calib
