#pragma once
// A gradient in buckets that are complete one after the other while the backward pass goes on, as PyTorch's
// DistributedDataParallel has it (Li et al., VLDB 2020, section 3.2.3), so that they are averaged meanwhile. The plan
// needs no GPU.
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/cuda/program.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/cuda/segments.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// Elements [begin, begin + count) of the flat gradient: some neighbours among Packing::unpack.
struct GradientBucket {
  std::int64_t begin, count;
  int first_segment, segments;
  int first_block, blocks;
  std::size_t last_step;  ///< of the program: complete when its backward step is done
};

/// In the order in which they are complete: from the network's end on, each of at least `bucket_bytes` but the last. One
/// for all where bucket_bytes is 0.
std::vector<GradientBucket> gradient_buckets(const model::Graph& graph, const Program& program, const Packing& packing,
                                             std::int64_t bucket_bytes);

/// What a replica tells of its gradient: its buckets, and events that each pass records.
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
