#pragma once
// Batch norm's statistics from sums that a convolution's engine computes together with its outputs
// (ConvolutionProblem::has_sums), so that the outputs need not be read again.
//
// The engine sums y and y^2 about 0, in float, in its own order. With sums S and Q, the mean is S / n and the variance
// Q / n - mean^2. If S and Q have relative errors up to d, the variance has a relative error of up to d (2 + 3 mean^2 /
// variance). For d = 2^-20 and a mean of kMostDeviations deviations that is 2e-4, less than the error from rounding the
// outputs to fp16 (2^-11 each). A channel is summed again from its outputs if its mean is farther from 0 or its sums
// are not finite. That sum is about the mean that S gives and in double: slow, and as exact as the separate kernel. The
// self-check verifies that d is small: it refuses an engine whose means or variances have errors of 2^-10
// (self_check.hpp).
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

constexpr float kMostDeviations = 8;

/// Sums of a convolution's outputs. The convolution creates them; the batch norm that follows reads them.
struct OutputSums {
  DeviceBuffer<float> memory;  ///< ConvolutionMemory::sums
  bool are_made = false;       ///< by training passes: an engine computes them faster than a separate kernel
};

/// Does what batch_norm_statistics() does in training, from the sums of x and of its squares.
void batch_norm_statistics_from_sums(Element element, const BatchNormData& data, const void* x, const float* sums,
                                     const float* squares, cudaStream_t stream);

}  // namespace lockstep::cuda
