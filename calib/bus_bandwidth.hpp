#pragma once
// Prints measured collectives in the format of NVIDIA's nccl-tests, so that both can be compared line by line.
//
//   algbw = bytes / seconds, busbw = algbw x factor of the operation over n ranks: all-reduce 2 (n - 1) / n;
//   all-gather, reduce-scatter and all-to-all (n - 1) / n; reduce, broadcast and send-receive 1 (nccl-tests,
//   PERFORMANCE.md). GB/s are 1e9 B/s.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Bus bandwidth of an all-reduce over its algorithm bandwidth, on n ranks: the bytes that cross each rank's link, each
/// way, over those summed.
inline double all_reduce_bus_factor(double ranks) {
  return 2 * (ranks - 1) / ranks;
}
/// The bus factor of an operation, named as in keys; 0 if nccl-tests has no such operation.
double bus_factor(const std::string& operation, int ranks);
/// One table for each operation, library, number of ranks and precision with samples that calibrate measured; empty
/// without any.
std::string bus_bandwidth_text(const Profile& profile);

}  // namespace lockstep::calib
