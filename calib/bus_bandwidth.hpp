#pragma once
// Measured collectives as NVIDIA's nccl-tests prints its own, so that the two are compared line by line.
//
//   algbw = bytes / seconds, busbw = algbw x factor of the operation over n ranks: all-reduce 2 (n - 1) / n; all-gather,
//   reduce-scatter and all-to-all (n - 1) / n; reduce, broadcast and send-receive 1 (nccl-tests, PERFORMANCE.md). GB/s are
//   1e9 B/s.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Of an operation as keys name it; 0 for one that nccl-tests does not have.
double bus_factor(const std::string& operation, int ranks);
/// A table for each operation, library, number of ranks and precision with samples of its own measuring; empty without any.
std::string bus_bandwidth_text(const Profile& profile);

}  // namespace lockstep::calib
