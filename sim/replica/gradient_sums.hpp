#pragma once
// Computes the time for summing the gradients of weights over micro-batches.
//
// An expert has few rows in a micro-batch, so summing its weights' gradients takes as long as the GEMMs before it. With
// several micro-batches, the gradients of P parameters of experts are read and written: 2 g P bytes at g bytes per
// gradient. With one micro-batch they are only written. All other parameters count by gradient_sum_bytes().
#include <vector>

#include "sim/cost/layer_cost.hpp"
#include "sim/program/split_job.hpp"

namespace lockstep::sim::replica {

/// Whether software sums gradients in arrays of their own, which it sets to zero before an iteration (Megatron-LM's
/// main_grad, nanotron's fp32_grad_buffers).
bool has_gradient_arrays(const SplitJob& job);

/// Whether each rank keeps only its shard of the gradients (ZeRO-2 and ZeRO-3).
bool shards_gradients(const ParallelSpec& spec);

/// Whether a GEMM in half precision adds to the sum instead of writing the gradient (fused accumulation).
bool adds_gradients_in_gemms(const SplitJob& job);

/// Returns the bytes per parameter that a micro-batch reads and writes to sum gradients, outside of experts. The
/// gradient that its GEMM writes is not included. With g bytes per summed gradient, and h = 2:
///   `h + 2 g`  In half precision, with several micro-batches or arrays of gradients (PyTorch's autograd; nanotron):
///              reads the gradient and the sum, writes the sum.
///   `2 g - h`  Likewise, if the GEMM adds to the sum itself (Megatron-LM and Transformer Engine,
///              gradient_accumulation_fusion). The GEMM overlaps this traffic with its arithmetic.
///   `h + g`    With one micro-batch and no such arrays, if the gradient is cast to single precision; else 0.
///   `3 g`      In single precision, if gradients are summed; else 0.
///   `0`        ZeRO-2 and ZeRO-3 sum their shards, which are small.
double gradient_sum_bytes(const SplitJob& job);

/// Returns the seconds in which each layer of a rank's graph sums gradients of weights, apart from sums in its GEMM
/// (DeviceCost::fused_sum_bytes_per_parameter).
std::vector<double> gradient_sum_seconds(const SplitJob& job, const model::Graph& graph, const DeviceCost& device);

}  // namespace lockstep::sim::replica
