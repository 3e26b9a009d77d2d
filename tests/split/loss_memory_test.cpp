// Memory of the loss: logits as each kind of software keeps them, all at once or in chunks.
#include "tests/catch.hpp"
#include "tests/split/memory.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("the loss: logits in single precision and once more in half") {
  const TransformerShape shape = llama(2, 64, 8, 8, 192, 50000, 32);
  const ParallelSpec spec = of_tensor(1, false, 1);
  CHECK(loss_kept_bytes(shape, spec, 2) == 32 * (2 * 64 * 2 + 50000 * 4));
  const SplitMemory memory = of_stage(shape, spec, 0, 4);
  CHECK(memory.working_bytes == 32 * 50000 * 2);
  CHECK(memory.activations_bytes == 2 * kept_bytes(shape, spec, 0, 2) + loss_kept_bytes(shape, spec, 2) + 32 * 8);
}

TEST_CASE("PyTorch's loss needs twice as much of a logit as Megatron's") {
  const TransformerShape shape = llama(2, 64, 8, 8, 192, 50000, 32);
  const ParallelSpec spec = of_tensor(1, false, 1);
  SplitMemoryOptions options;
  const double megatron = of_stage(shape, spec, 0, 1, options).allocated_bytes();
  options.loss = kTorchLoss;
  CHECK(of_stage(shape, spec, 0, 1, options).allocated_bytes() - megatron == 32 * 50000 * 6);
}

TEST_CASE("a chunk of the loss has Liger's tokens: those of all hidden states, rounded up to a power of 2") {
  // Llama 3 8B: 128,256 / 4,096 is 31.3, so 32 chunks; 8,192 / 32 is a power of 2.
  CHECK(tokens_of_loss_chunk(8192, 128256, 4096) == 256);
  CHECK(tokens_of_loss_chunk(8193, 128256, 4096) == 512);
  CHECK(tokens_of_loss_chunk(3, 128256, 4096) == 1);
  CHECK(tokens_of_loss_chunk(5, 100, 4096) == 5);  // a small vocabulary: one chunk
  for (const double tokens : {100.0, 1000.0, 4096.0, 30000.0}) {
    const double chunk = tokens_of_loss_chunk(tokens, 151936, 2048);
    CHECK(chunk * 151936 >= tokens * 2048 * 0.98);  // at least the size of the hidden states
    CHECK(chunk * 151936 <= 2 * (tokens + 75) * 2048);
  }
}

TEST_CASE("a loss in chunks keeps no logits, and adds up the output matrix's gradient unless it is frozen") {
  const TransformerShape shape = llama(2, 64, 8, 8, 192, 50000, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  SplitMemoryOptions options;
  const SplitMemory whole = of_stage(shape, spec, 0, 1, options);
  options.loss = {0, 2, true};
  const SplitMemory chunked = of_stage(shape, spec, 0, 1, options);
  CHECK(whole.activations_bytes - chunked.activations_bytes == 32 * 50000 * kMegatronLoss.kept);
  // 50,000 / 64 is 781.25: more chunks than tokens, so that a chunk is one token.
  CHECK(loss_working_bytes(shape, spec, 2, options.loss, true) == 50000 * 2 + 50000 * 64 * 2);
  CHECK(loss_working_bytes(shape, spec, 2, options.loss, false) == 50000 * 2);
  CHECK(chunked.allocated_bytes() < whole.allocated_bytes());
}

TEST_CASE("the layers of Transformers under DeepSpeed have PyTorch's loss and DeepSpeed's bytes per parameter") {
  ParallelSpec spec = of_tensor(1, false, 1);
  const auto options = [&](StateKeeping keeping, bool is_in_single) {
    spec.keeping = keeping;
    SoftwareMemory software;
    software.has_loss_in_single = is_in_single;
    return memory_options(spec, software);
  };
  const SplitMemoryOptions mixed = options(StateKeeping::mixed, true);
  const SplitMemoryOptions torch = options(StateKeeping::mixed_torch, true);
  CHECK(torch.loss.working == kTorchLoss.working);
  CHECK(options(StateKeeping::mixed_torch, false).loss.kept == kFusedLoss.kept);
  CHECK(torch.parameters.weight + torch.parameters.gradient == mixed.parameters.weight + mixed.parameters.gradient);
  CHECK(torch.parameters.master + torch.parameters.state == mixed.parameters.master + mixed.parameters.state);
  CHECK(torch.activations.multiplied == options(StateKeeping::autocast, true).activations.multiplied);
}

TEST_CASE("a job's loss in chunks reaches the memory of splits, for every software") {
  for (const StateKeeping keeping : {StateKeeping::mixed, StateKeeping::megatron_core, StateKeeping::fsdp,
                                     StateKeeping::autocast, StateKeeping::deepspeed}) {
    ParallelSpec spec = of_tensor(1, false, 1);
    spec.keeping = keeping;
    SoftwareMemory software;
    CHECK(!memory_options(spec, software).loss.is_chunked);
    software.has_loss_in_chunks = true;
    CHECK(memory_options(spec, software).loss.is_chunked);
    CHECK(memory_options(spec, software).loss.kept == 0);
  }
}
