#pragma once
// What DistributedDataParallel's copies of gradients into buckets and back take, from a profile's samples of `step`.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

struct BucketCopies {
  double seconds = 0;  ///< of all gradients in and back, an iteration; 0: not measured, or too little to be seen
  int devices = 0;     ///< that were busy
};

/// How much longer a step of DistributedDataParallel with one process ("how": "ddp", "ranks": 1) takes than an iteration
/// without it on as many busy devices: the median over the batches. Its one process sums with nobody, and copies all the
/// same. Of several numbers of devices the largest counts.
BucketCopies bucket_copies(const Profile& profile, const std::string& model, const std::string& precision);

}  // namespace lockstep::calib
