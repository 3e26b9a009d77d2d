#pragma once
// Whether an engine computes what it is asked for. cuDNN's engines are checked by NVIDIA for what its own frontend asks;
// adding to what is there (beta = 1), which every residual merge needs, is not among that. So an engine runs once on
// numbers that every precision holds exactly, and samples of its results are compared with sums by the definition.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cuda/cudnn_plan.hpp"

namespace lockstep::cuda {

constexpr int kCheckedResults = 256;

/// One result of a convolution.
struct CheckedResult {
  float expected;  ///< by the definition, in float, with what was there before
  float spread;    ///< root of the sum of the products' squares
  float found;
};

/// "" where an engine of this precision may have found these; else where they differ most. With u the unit roundoff of
/// what is stored (2^-8 of bf16, 2^-11 of fp16; 2^-10 of TF32's inputs, 2^-20 of fp32 with room for Winograd's
/// transforms), each result may be off by 4 u (|expected| + spread), and all of them together by 2 u in the Euclidean
/// norm: rounding alone is off by 0.4 u there.
std::string disagreement(device::Precision precision, const std::vector<CheckedResult>& results);

/// Images, outputs and weights of a problem, filled with multiples of 1/8 from -1 to 1; whole numbers from -8 to 8 where
/// the result is added to. Sums of such products are exact in float, and in tensor cores.
void fill_for_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// All zeros, as a replica finds its memory.
void clear_after_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// What lies in `memory` after the problem was solved once on what fill_for_check() left there. Waits.
std::vector<CheckedResult> checked_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                           cudaStream_t stream);

/// "" where the sums that a forward convolution's engine has left in `memory` are those of its outputs there: means agree
/// with those of batch norm's own kernel within 2^-10 deviations, variances within 2^-10 of themselves; else what differs
/// most. Room for sums in another order and of values before they were rounded; a thousandth of the rows that is missing
/// shows. Waits.
std::string sums_disagreement(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);
/// Milliseconds of that kernel. Waits.
float time_statistics(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream);

/// Elements whose bits differ. Waits.
std::int64_t count_differing(const float* a, const float* b, std::int64_t count, cudaStream_t stream);

// self_check.cu
void fill_noise(Element element, void* to, std::int64_t count, std::uint64_t seed, float scale, cudaStream_t stream);
/// `samples` results, the first and the last among them. `seed` and `scale` are those of what was added to.
struct AddedTo {
  bool is_added;
  std::uint64_t seed;
  float scale;
};
void sample_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory, const AddedTo& before,
                    int samples, CheckedResult* results, cudaStream_t stream);
void add_differing(const float* a, const float* b, std::int64_t count, std::uint32_t* differing, cudaStream_t stream);

}  // namespace lockstep::cuda
