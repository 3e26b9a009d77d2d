// Activations in host memory, frozen weights, and what sharded weights gather.
#include <algorithm>

#include "sim/split/software_memory.hpp"
#include "tests/catch.hpp"
#include "tests/split/shapes.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

ParallelSpec one_gpu(int micro_batch) {
  ParallelSpec spec;
  spec.micro_batch = micro_batch;
  spec.data = 1;
  return spec;
}

SplitMemory first_stage(const TransformerShape& shape, const ParallelSpec& spec) {
  return split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), 0, 1, {});
}

}  // namespace

TEST_CASE("offloaded activations: two of the first layers are on the GPU, as they are computed and copied") {
  const TransformerShape shape = llama(12, 1024, 8, 8, 4096, 32000, 512);
  ParallelSpec spec = one_gpu(2);
  const SplitMemory all = first_stage(shape, spec);
  const double layer = kept_bytes(shape, spec, 0, 2);
  for (int offloaded : {1, 2, 3, 11}) {
    spec.offload_layers = offloaded;
    const double gone = std::max(0, offloaded - kOffloadedInFlight) * layer;
    CHECK(first_stage(shape, spec).activations_bytes == Approx(all.activations_bytes - gone));
  }
  spec.offload_layers = 12;
  CHECK_THROWS_WITH(check_fits(shape, spec), Contains("12 of 12 layers") && Contains("up to 11"));
}

TEST_CASE("frozen matrices keep no inputs, and adapters keep theirs") {
  const TransformerShape shape = llama(1, 1024, 8, 8, 4096, 32000, 512);
  ParallelSpec spec = one_gpu(1);
  const double trained = kept_bytes(shape, spec, 0, 2);
  spec.lora_rank = 8;
  // The second matrix of the MLP has an input of 4096 elements per token, the first two one of 1024.
  CHECK(trained - kept_bytes(shape, spec, 0, 2) == 512. * (4096 + 1024) * 2);
  // Separate kernels for SwiGLU keep the output of its non-linearity. It is as large as the second matrix's input.
  SoftwareMemory software;
  spec.keeping = StateKeeping::autocast;
  const ActivationBytes eager = memory_options(spec, software).activations;
  CHECK(trained - kept_bytes(shape, spec, 0, eager) == 512. * 1024 * 2);
  spec.lora_rank = 0;
  CHECK(kept_bytes(shape, spec, 0, eager) == trained);
}

TEST_CASE("frozen weights in eight bits that GEMMs read take a byte, and one matrix is transposed at a time") {
  const TransformerShape shape = llama(4, 1024, 8, 8, 4096, 32000, 512);
  ParallelSpec spec = one_gpu(1);
  spec.lora_rank = 8;
  const SplitMemory whole = first_stage(shape, spec);
  spec.frozen_weights = FrozenWeights::fp8;
  const SplitMemory memory = first_stage(shape, spec);
  CHECK(whole.weights_bytes - memory.weights_bytes == Approx(4 * rank_layer_parameters(shape, spec, 0).total()));
  CHECK(memory.buffers_bytes - whole.buffers_bytes == 1024. * 4096);
}

TEST_CASE("a collective for each matrix gathers one matrix at a time, and a collective for each layer two layers") {
  const TransformerShape shape = gpt(4, 1024, 16, 512, 256);
  ParallelSpec spec = one_gpu(1);
  spec.data = 8;
  spec.sharding = ShardingStage::zero3;
  const double layer = rank_layer_parameters(shape, spec, 0).total();
  CHECK(first_stage(shape, spec).buffers_bytes == Approx((2 * 2 + 2) * layer));
  spec.sharding_calls = ShardingCalls::tensors;
  CHECK(first_stage(shape, spec).buffers_bytes == Approx((2 + 2) * 4. * 1024 * 1024));
}
