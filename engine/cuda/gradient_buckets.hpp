#pragma once
// Splits a gradient into buckets that complete one after the other during the backward pass, so that averaging overlaps
// it, as in PyTorch's DistributedDataParallel (Li et al., VLDB 2020, section 3.2.3). Planning needs no GPU.
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/cuda/program.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/cuda/segments.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// Elements [begin, begin + count) of the flat gradient, which are consecutive segments of Packing::unpack.
struct GradientBucket {
  std::int64_t begin, count;
  int first_segment, segments;
  int first_block, blocks;
  std::size_t last_step;  ///< step of the program whose backward pass completes the bucket
};

/// Buckets in the order in which they complete, from the network's end to its start. Each has at least `bucket_bytes`,
/// except the last. A single bucket if bucket_bytes is 0.
std::vector<GradientBucket> gradient_buckets(const model::Graph& graph, const Program& program, const Packing& packing,
                                             std::int64_t bucket_bytes);

/// A replica's gradient: its buckets, and the event that each pass records when a bucket is complete.
struct GradientParts {
  struct Part {
    Part(std::int64_t first, std::int64_t elements) : begin(first), count(elements) {}
    std::int64_t begin, count;
    Event complete;
  };
  const float* gradient = nullptr;
  std::deque<Part> parts;
};

}  // namespace lockstep::cuda
