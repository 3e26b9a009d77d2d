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
  CHECK_THROWS_WITH(check_divisible(shape, spec), Contains("12 of 12 layers") && Contains("up to 11"));
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

TEST_CASE("FSDP in a pipeline keeps the stage's weights and the sums of its gradients whole") {
  const TransformerShape shape = llama(4, 64, 8, 8, 128, 100, 32);
  ParallelSpec spec = one_gpu(1);
  spec.pipeline = 2;
  spec.data = 4;
  spec.sharding = ShardingStage::zero3;
  spec.keeping = StateKeeping::fsdp;
  SplitMemoryOptions options = memory_options(spec, {});
  const SplitMemory kept =
      split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), 1, 4, options);
  const double parameters =
      rank_parameters(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages).at(1)).total();
  // Shards of 4 bytes; the whole in half precision gathered, in single precision summed.
  CHECK(kept.weights_bytes == Approx(parameters * (4.0 / 4 + 2)));
  CHECK(kept.gradients_bytes == Approx(parameters * (4.0 / 4 + 4)));
  CHECK(kept.optimizer_bytes == Approx(parameters * 8.0 / 4));
  // Frozen weights are gathered as they are kept, and have no gradients.
  spec.lora_rank = 8;
  spec.frozen_weights = FrozenWeights::nf4;
  const SplitMemory adapted = split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), 1,
                                           4, memory_options(spec, {}));
  CHECK(adapted.weights_bytes < 0.5 * kept.weights_bytes);
  CHECK(adapted.gradients_bytes < 0.1 * kept.gradients_bytes);
  spec.lora_rank = 0;
  spec.frozen_weights = FrozenWeights::whole;
  // One data rank shards nothing.
  spec.data = 1;
  const SplitMemory alone =
      split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), 1, 4, options);
  CHECK(alone.weights_bytes == Approx(parameters * 4.0));
  spec.data = 4;
  spec.keeping = StateKeeping::mixed;
  const SplitMemory resharded =
      split_memory(shape, spec, partition(shape.layers, spec.pipeline, spec.virtual_stages), 1, 4, options);
  CHECK(resharded.weights_bytes == Approx(parameters * 4.0 / 4));
  CHECK(resharded.buffers_bytes > kept.buffers_bytes);
}

TEST_CASE("QLoRA with sharded weights: frozen layers are gathered packed, only adapters have gradients to scatter") {
  const TransformerShape shape = llama(4, 1024, 8, 8, 4096, 1000, 512);
  ParallelSpec spec = one_gpu(1);
  spec.data = 4;
  spec.lora_rank = 8;
  spec.keeping = StateKeeping::fsdp;
  const auto buffers = [&](ShardingStage sharding, FrozenWeights frozen) {
    spec.sharding = sharding;
    spec.frozen_weights = frozen;
    return split_memory(shape, spec, partition(shape.layers, 1, 1), 0, 1, memory_options(spec, {})).buffers_bytes;
  };
  // One layer computes while the next one is gathered; bitsandbytes makes one matrix whole at a time.
  const double layer = rank_layer_parameters(shape, spec, 0).total();
  const double adapters = trained_layer_parameters(shape, spec, 0).total();
  const double whole_matrix = 2.0 * 1024 * 4096;
  const auto more = [&](FrozenWeights frozen) {
    return buffers(ShardingStage::zero3, frozen) - buffers(ShardingStage::none, frozen);
  };
  CHECK(more(FrozenWeights::whole) == Approx(2 * 2 * (layer + adapters) + 4 * adapters));
  CHECK(more(FrozenWeights::nf4) ==
        Approx(2 * (quantised_bytes(FrozenWeights::nf4) * layer + 2 * adapters) + 4 * adapters));
  CHECK(buffers(ShardingStage::none, FrozenWeights::nf4) == Approx(whole_matrix));
}

TEST_CASE("AutoGPTQ keeps weights that it made whole: all of them, or a layer's where it is recomputed") {
  const TransformerShape shape = llama(4, 64, 8, 8, 128, 100, 32);
  ParallelSpec spec = one_gpu(1);
  spec.lora_rank = 8;
  const auto allocated = [&](FrozenWeights frozen, Recomputation recompute) {
    spec.frozen_weights = frozen;
    spec.recompute = recompute;
    return first_stage(shape, spec).allocated_bytes();
  };
  const double layer = rank_layer_parameters(shape, spec, 0).total();
  const double packed = layer * 4 * (quantised_bytes(FrozenWeights::gptq) - quantised_bytes(FrozenWeights::nf4));
  for (const Recomputation recompute : {Recomputation::none, Recomputation::full}) {
    const double more = allocated(FrozenWeights::gptq, recompute) - allocated(FrozenWeights::nf4, recompute);
    CHECK(more == Approx(packed + 2 * layer * (recompute == Recomputation::none ? 4 : 1)));
  }
}
