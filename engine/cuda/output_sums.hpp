#pragma once
// Batch norm's statistics from sums that a convolution's engine makes beside its outputs (ConvolutionProblem::has_sums), so
// that nobody reads the outputs for them once more.
//
// The engine sums y and y^2 about 0, in float, in an order of its own. With S and Q, the mean is S / n and the variance
// Q / n - mean^2. Where S and Q are off by a share d of what they sum, the variance is off by a share of up to
// d (2 + 3 mean^2 / variance): 2e-4 for d = 2^-20 and a mean of kMostDeviations deviations, less than the outputs' own
// rounding to fp16 (2^-11 each) may do. A channel whose mean is farther from 0, or whose sums are not finite, is summed again
// from its outputs, about the mean that S gives and in double: slow, and as good as the kernel of its own. That d is small is
// not taken on trust: the self-check refuses an engine whose means or variances are off by 2^-10 (self_check.hpp).
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

constexpr float kMostDeviations = 8;

/// Of a convolution's outputs; made by its operation, read by that of the batch norm behind it.
struct OutputSums {
  DeviceBuffer<float> memory;  ///< ConvolutionMemory::sums
  bool are_made = false;       ///< by training passes: an engine does, and in less time than the sums take apart
};

/// batch_norm_statistics() in training, from the sums of x and of its squares.
void batch_norm_statistics_from_sums(Element element, const BatchNormData& data, const void* x, const float* sums,
                                     const float* squares, cudaStream_t stream);

}  // namespace lockstep::cuda
