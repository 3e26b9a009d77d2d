#pragma once
// Tests that need a GPU begin with LOCKSTEP_NEEDS_GPUS(1). Without a GPU they print that and return, and ctest counts
// them as skipped. (Catch2 2 cannot skip tests.)
#include <iostream>
#include <string>

#include "engine/cuda/cuda_backend.hpp"

namespace lockstep::cuda {

/// If there are fewer than `wanted` usable GPUs, prints the line that ctest looks for.
inline bool has_gpus(int wanted) {
  std::string why;
  const int visible = visible_gpus(why);
  if (visible >= wanted) return true;
  if (why.empty()) why = std::to_string(visible) + " here";
  std::cout << "skipped (gpu): needs " << wanted << ": " << why << std::endl;
  return false;
}

}  // namespace lockstep::cuda

#define LOCKSTEP_NEEDS_GPUS(count)                  \
  do {                                              \
    if (!::lockstep::cuda::has_gpus(count)) return; \
  } while (false)

/// For tests of failures, which may end a real GPU's context.
#ifdef LOCKSTEP_EMULATED_GPU
#define LOCKSTEP_NEEDS_AN_EMULATED_GPU() LOCKSTEP_NEEDS_GPUS(2)
#else
#define LOCKSTEP_NEEDS_AN_EMULATED_GPU()                            \
  do {                                                              \
    std::cout << "skipped (gpu): needs emulated ones" << std::endl; \
    return;                                                         \
  } while (false)
#endif

/// For tests that are too large for the emulated GPU of tests/cuda_emulated.
#ifdef LOCKSTEP_EMULATED_GPU
#define LOCKSTEP_NEEDS_A_REAL_GPU()                                  \
  do {                                                               \
    std::cout << "skipped (gpu): needs one of silicon" << std::endl; \
    return;                                                          \
  } while (false)
#else
#define LOCKSTEP_NEEDS_A_REAL_GPU() LOCKSTEP_NEEDS_GPUS(1)
#endif
