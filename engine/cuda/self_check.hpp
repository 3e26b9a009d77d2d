#pragma once
// Checks that an engine computes correctly. NVIDIA checks cuDNN's engines for the operations of its own frontend.
// Adding to existing values (beta = 1), which every residual merge needs, is not among them. So each engine runs once
// on numbers that every precision represents exactly, and samples of its results are compared with sums by the
// definition.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cuda/cudnn_plan.hpp"

namespace lockstep::cuda {

constexpr int kCheckedResults = 256;

/// One result of a convolution.
struct CheckedResult {
  float expected;  ///< by the definition, in float, including the previous value
  float spread;    ///< root of the sum of squared products
  float found;
};

/// Returns "" if an engine of this precision may have computed these results, else the largest difference. Let u be the
/// unit roundoff of the stored type: 2^-8 for bf16, 2^-11 for fp16, 2^-10 for TF32's inputs, and 2^-20 for fp32, which
/// allows for Winograd's transforms. Each result may differ by 4 u (|expected| + spread), and all together by 2 u in
/// the Euclidean norm. Rounding alone gives 0.4 u there.
std::string disagreement(device::Precision precision, const std::vector<CheckedResult>& results);

/// Fills images, outputs and weights of a problem with multiples of 1/8 from -1 to 1. If the result is added to, uses
/// whole numbers from -8 to 8. Sums of such products are exact in float and in tensor cores.
void fill_for_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// Sets all to zero, as a replica's memory is at first.
void clear_after_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// Samples the results in `memory` after the problem was solved once on the data of fill_for_check(). Waits.
std::vector<CheckedResult> checked_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                           cudaStream_t stream);

/// Returns "" if the sums that a forward convolution's engine left in `memory` match its outputs, else the largest
/// difference. Means must agree with batch norm's own kernel within 2^-10 deviations, variances within 2^-10 of their
/// value. That allows for another order of summation and for sums of unrounded values. It detects one missing row in a
/// thousand. Waits.
std::string sums_disagreement(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// Returns the milliseconds that batch norm's own kernel takes for these sums, the mean of four runs. Waits.
float measure_batch_norm_sums_ms(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                 cudaStream_t stream);

/// The number of elements whose bits differ. Waits.
std::int64_t count_differing(const float* a, const float* b, std::int64_t count, cudaStream_t stream);

// self_check.cu
void fill_noise(Element element, void* to, std::int64_t count, std::uint64_t seed, float scale, cudaStream_t stream);
/// Takes `samples` results, including the first and the last. `seed` and `scale` describe the previous values, if any.
struct AddedTo {
  bool is_added;
  std::uint64_t seed;
  float scale;
};
void sample_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory, const AddedTo& before,
                    int samples, CheckedResult* results, cudaStream_t stream);
void add_differing(const float* a, const float* b, std::int64_t count, std::uint32_t* differing, cudaStream_t stream);

}  // namespace lockstep::cuda
