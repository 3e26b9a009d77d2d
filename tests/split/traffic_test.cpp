// Bytes that ranks send, by hand and by laws.
#include "sim/split/traffic.hpp"
#include "sim/collective/collectives.hpp"
#include "tests/catch.hpp"
#include "tests/split/shapes.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// 2 sequences of 16 tokens, 8 wide, 2-byte elements: 512 bytes of hidden state.
TransformerShape tiny() {
  return gpt(4, 8, 4, 40, 16);
}

ParallelSpec split_over(int tensor, bool sequence = false) {
  ParallelSpec spec;
  spec.tensor = tensor;
  spec.sequence = sequence;
  spec.micro_batch = 2;
  spec.data = 1;
  return spec;
}

double count(const TrafficList& list, TrafficKind kind) {
  double times = 0;
  for (const Traffic& traffic : list)
    if (traffic.kind == kind) times += traffic.times;
  return times;
}

double regathered(const TrafficList& list) {
  double bytes = 0;
  for (const Traffic& traffic : list)
    if (traffic.name.part == ", input again") bytes += traffic.sent_bytes();
  return bytes;
}

}  // namespace

TEST_CASE("one GPU sends nothing") {
  for (bool sequence : {false, true}) {
    const ParallelSpec spec = split_over(1, sequence);
    CHECK(iteration_traffic(tiny(), spec, partition(4, 1, 1), 0, 8, {}).empty());
  }
}

TEST_CASE("replicas of one GPU each exchange their gradients and nothing else") {
  ParallelSpec spec;
  spec.data = 6;
  const TrafficList list = iteration_traffic(tiny(), spec, partition(4, 1, 1), 0, 3, {});
  REQUIRE(list.size() == 1);
  CHECK(list[0].kind == TrafficKind::all_reduce);
  CHECK(list[0].ranks == 6);
  CHECK(list[0].bytes == 4.0 * static_cast<double>(parameters_of(tiny()).total()));
}

TEST_CASE("what a rank sends in a collective is what the plans of sim/collective send") {
  for (int n : {2, 3, 8, 16}) {
    const std::int64_t bytes = 4800 * n;
    const auto sent = [&](TrafficKind kind) {
      return Traffic{"", kind, TrafficGroup::tensor, n, static_cast<double>(bytes)}.sent_bytes();
    };
    CHECK(sent(TrafficKind::all_reduce) == static_cast<double>(ring_all_reduce(n, bytes).bytes_sent_by_rank()[0]));
    CHECK(sent(TrafficKind::reduce_scatter) == static_cast<double>(reduce_scatter(n, bytes).bytes_sent_by_rank()[0]));
    CHECK(sent(TrafficKind::all_gather) == static_cast<double>(all_gather(n, bytes).bytes_sent_by_rank()[0]));
  }
}

TEST_CASE("tensor parallelism: two all-reduces forward, two backward, 2 (t-1)/t of the hidden state each") {
  const ParallelSpec spec = split_over(4);
  CHECK(hidden_state_bytes(tiny(), spec, {}) == 512);
  for (const TrafficList& list : {layer_forward(tiny(), spec, 0, {}), layer_backward(tiny(), spec, 0, {})}) {
    CHECK(count(list, TrafficKind::all_reduce) == 2);
    CHECK(sent_bytes(list) == 2 * (2 * 3.0 / 4 * 512));
  }
}

TEST_CASE("sequence parallelism sends the same bytes, and gathers inputs once more for the weights' gradients") {
  for (int tensor : {2, 4, 8}) {
    const TransformerShape shape = gpt(2, 64, 8, 320, 32);
    const TrafficList plain = layer_forward(shape, split_over(tensor), 0, {});
    const TrafficList forward = layer_forward(shape, split_over(tensor, true), 0, {});
    const TrafficList backward = layer_backward(shape, split_over(tensor, true), 0, {});
    CHECK(count(forward, TrafficKind::all_reduce) == 0);
    CHECK(sent_bytes(forward) == Approx(sent_bytes(plain)));
    CHECK(sent_bytes(backward) - regathered(backward) == Approx(sent_bytes(plain)));
    CHECK(regathered(backward) == Approx(sent_bytes(plain) / 2));
  }
}

TEST_CASE("full recomputation repeats the forward pass's traffic") {
  ParallelSpec spec = split_over(4);
  spec.recompute = Recomputation::full;
  CHECK(sent_bytes(layer_backward(tiny(), spec, 0, {})) == 2 * sent_bytes(layer_forward(tiny(), spec, 0, {})));
}

TEST_CASE("embedding and loss over the vocabulary: a hidden state each way, and three numbers a token") {
  const ParallelSpec spec = split_over(4);
  CHECK(sent_bytes(embedding_forward(tiny(), spec, {})) == 2 * 3.0 / 4 * 512);
  CHECK(embedding_backward(tiny(), spec, {}).empty());
  CHECK(sent_bytes(loss_forward(tiny(), spec, {})) == 3 * 2 * 3.0 / 4 * (32 * 4));
  CHECK(sent_bytes(loss_backward(tiny(), spec, {})) == 2 * 3.0 / 4 * 512);
}

TEST_CASE("pipeline: the hidden state per micro-batch and boundary, each way") {
  ParallelSpec spec = split_over(1);
  spec.pipeline = 2;
  const std::vector<ModelPart> two = partition(4, 2, 1);
  for (int stage : {0, 1})
    CHECK(sent_bytes(iteration_traffic(tiny(), spec, two, stage, 3, {}), TrafficGroup::neighbour) == 3 * 512);
  // Two chunks a stage: stage 0 sends 2 forward and 1 backward, stage 1 the other way round.
  spec.virtual_stages = 2;
  const std::vector<ModelPart> four = partition(4, 2, 2);
  for (int stage : {0, 1})
    CHECK(sent_bytes(iteration_traffic(tiny(), spec, four, stage, 4, {}), TrafficGroup::neighbour) == 4 * 3 * 512);
  // The tied embedding sends 40 x 8 gradients of 4 bytes between two stages.
  CHECK(sent_bytes(iteration_traffic(tiny(), spec, four, 0, 4, {}), TrafficGroup::embeddings) == 40 * 8 * 4);
}

TEST_CASE("tensor ranks send whole hidden states to the next stage, or a part each that is gathered there") {
  ParallelSpec spec = split_over(4);
  spec.pipeline = 2;
  TrafficOptions options;
  CHECK(sent_bytes(stage_message(tiny(), spec, options)) == 512);
  options.scatters_to_stages = true;
  CHECK(sent_bytes(stage_message(tiny(), spec, options), TrafficGroup::neighbour) == 128);
  CHECK(sent_bytes(stage_message(tiny(), spec, options), TrafficGroup::tensor) == 3 * 128);
  spec.sequence = true;
  CHECK(sent_bytes(stage_message(tiny(), spec, options)) == 128);
}

TEST_CASE("context parallelism: blocks of keys and values go round, their gradients with them on the way back") {
  ParallelSpec spec = split_over(1);
  spec.context = 4;
  TrafficOptions options;
  // A rank has 2 x 4 tokens, 8 keys and 8 values of 2 bytes: 256 bytes.
  const TrafficList ring = layer_forward(tiny(), spec, 0, options);
  CHECK(sent_bytes(ring) == 3 * 256);
  CHECK(count(ring, TrafficKind::send) == 3);
  CHECK(sent_bytes(layer_backward(tiny(), spec, 0, options)) == 3 * 512);
  // Gathered: the same bytes.
  spec.context_exchange = ContextExchange::all_gather;
  CHECK(sent_bytes(layer_forward(tiny(), spec, 0, options)) == 3 * 256);
  CHECK(sent_bytes(layer_backward(tiny(), spec, 0, options)) == 3 * 512);
  // Exchanging heads for tokens sends 3/4 of queries, keys, values and the output, 4 x 128 bytes.
  spec.context_exchange = ContextExchange::all_to_all;
  CHECK(sent_bytes(layer_forward(tiny(), spec, 0, options)) == 3.0 / 4 * 4 * 128);
  // Keys and values of grouped queries are fewer, tensor ranks share them.
  spec.context_exchange = ContextExchange::ring;
  TransformerShape grouped = tiny();
  grouped.kv_heads = 2;
  CHECK(sent_bytes(layer_forward(grouped, spec, 0, options)) == 3 * 128);
  spec.tensor = 2;
  CHECK(sent_bytes(layer_forward(grouped, spec, 0, options), TrafficGroup::context) == 3 * 64);
  // One head of two on each of four ranks: repeated, not split further.
  spec.tensor = 4;
  CHECK(sent_bytes(layer_forward(grouped, spec, 0, options), TrafficGroup::context) == 3 * 64);
}

TEST_CASE("experts: tokens out and back in both passes, by the experts a token goes to") {
  TransformerShape shape = tiny();
  shape.mixture = mixture(8, 2, 16, 0, 1);
  ParallelSpec spec = split_over(1);
  spec.expert = spec.data = 4;
  TrafficOptions options;
  CHECK(layer_forward(shape, spec, 0, options).empty());  // a dense layer
  const TrafficList forward = layer_forward(shape, spec, 1, options);
  CHECK(count(forward, TrafficKind::all_to_all) == 2);
  CHECK(sent_bytes(forward) == 2 * 3.0 / 4 * (2 * 512));
  CHECK(sent_bytes(layer_backward(shape, spec, 1, options)) == sent_bytes(forward));
  // The busiest rank of an uneven load; with a capacity the imbalance has no effect.
  spec.expert_imbalance = 1.5;
  CHECK(sent_bytes(layer_forward(shape, spec, 1, options)) == 1.5 * sent_bytes(forward));
  spec.expert_capacity = 1.25;
  CHECK(sent_bytes(layer_forward(shape, spec, 1, options)) == 1.25 * sent_bytes(forward));
  // Tensor ranks send their part of the sequence.
  spec.tensor = 2;
  spec.sequence = true;
  spec.expert_capacity = 0;
  spec.expert_imbalance = 1;
  CHECK(sent_bytes(layer_forward(shape, spec, 1, options), TrafficGroup::expert) == sent_bytes(forward) / 2);
}

TEST_CASE("a dispatch sends a token once to each group of ranks with its experts, however many these are") {
  sim::Traffic dispatch{"", TrafficKind::dispatch, sim::TrafficGroup::expert, 4, 512};
  dispatch.choices = 2;
  dispatch.experts = 4;
  // Two of four experts on two nodes: 5 of 6 pairs have one in the first node. All copies of a token are 512 bytes.
  CHECK(dispatched_bytes(dispatch, 2) == Approx(256 * 5.0 / 6));
  CHECK(dispatched_bytes(dispatch, 1) == Approx(256));  // all tokens
  // One expert on each rank, and one expert for each token: as many as an all-to-all sends.
  CHECK(dispatched_bytes(dispatch, 4) == Approx(512 / 4.0));
  CHECK(dispatch.sent_bytes() == Approx(512 * 3.0 / 4));
  dispatch.choices = 1;
  CHECK(dispatched_bytes(dispatch, 2) == Approx(512 / 2.0));
  for (double experts : {8., 16., 64., 256.})
    for (double choices : {1., 2., 4., 8.})
      for (int parts : {1, 2, 4, 8}) {
        dispatch.experts = experts;
        dispatch.choices = choices;
        INFO(experts << " experts, " << choices << " of a token, " << parts << " parts");
        CHECK(dispatched_bytes(dispatch, parts) <= 512.0 / parts * (1 + 1e-12));
        CHECK(dispatched_bytes(dispatch, parts) <= 512 / choices * (1 + 1e-12));
        CHECK(parts * dispatched_bytes(dispatch, parts) >= 512 / choices * (1 - 1e-12));  // at least one has it
      }
}

TEST_CASE("whole experts on tensor ranks need no gathered rows, and send as many out and back") {
  TransformerShape shape = tiny();
  shape.mixture = mixture(8, 2, 16, 0, 0);
  ParallelSpec shared = split_over(2);
  shared.sequence = true;
  shared.data = 4;
  shared.expert = 4;
  ParallelSpec whole = shared;
  whole.expert_tensor = 1;
  const TrafficOptions options;
  for (auto* of_pass : {layer_forward, layer_backward}) {
    const TrafficList with = of_pass(shape, shared, 0, options), without = of_pass(shape, whole, 0, options);
    CHECK(sent_bytes(with, TrafficGroup::expert) == sent_bytes(without, TrafficGroup::expert));
    for (const Traffic& traffic : without) CHECK(traffic.name.text().rfind("experts", 0) != 0);
    CHECK(sent_bytes(without, TrafficGroup::tensor) < sent_bytes(with, TrafficGroup::tensor));
  }
}

TEST_CASE("gradients by stage of sharding: 2, 2, 2 and 3 times (n-1)/n of the parameters") {
  // ZeRO, section 7, with equal bytes for weights and gradients, and one micro-batch.
  TrafficOptions options;
  options.gradient_bytes = options.weight_bytes = 2;
  ParallelSpec spec;
  spec.data = 4;
  const RankParameters parameters{1000, 0};
  const auto sent = [&](ShardingStage sharding, int micro_batches) {
    spec.sharding = sharding;
    return sent_bytes(state_exchange(parameters, spec, micro_batches, options));
  };
  const double part = 3.0 / 4 * 2000;
  CHECK(sent(ShardingStage::none, 1) == 2 * part);
  CHECK(sent(ShardingStage::zero1, 1) == 2 * part);
  CHECK(sent(ShardingStage::zero2, 1) == 2 * part);
  CHECK(sent(ShardingStage::zero3, 1) == 3 * part);
  // Micro-batches: gradients that are kept whole wait for the last one.
  CHECK(sent(ShardingStage::none, 8) == 2 * part);
  CHECK(sent(ShardingStage::zero1, 8) == 2 * part);
  CHECK(sent(ShardingStage::zero2, 8) == 9 * part);
  CHECK(sent(ShardingStage::zero3, 8) == 24 * part);
}

TEST_CASE("FSDP in a pipeline gathers weights once and scatters gradients once, for any number of micro-batches") {
  TrafficOptions options;
  options.gradient_bytes = options.weight_bytes = 2;
  ParallelSpec spec;
  spec.data = 4;
  spec.sharding = ShardingStage::zero3;
  spec.keeping = StateKeeping::fsdp;
  const RankParameters parameters{1000, 0};
  const double part = 3.0 / 4 * 2000;
  CHECK(sent_bytes(state_exchange(parameters, spec, 8, options)) == 24 * part);
  spec.pipeline = 2;
  CHECK(sent_bytes(state_exchange(parameters, spec, 8, options)) == 2 * part);
  spec.sharding = ShardingStage::zero2;  // torchtitan's "never": the same in a pipeline
  CHECK(sent_bytes(state_exchange(parameters, spec, 8, options)) == 2 * part);
  spec.sharding = ShardingStage::zero3;
  spec.keeping = StateKeeping::mixed;
  CHECK(sent_bytes(state_exchange(parameters, spec, 8, options)) == 24 * part);
}

TEST_CASE("a call for each matrix: the same bytes in as many calls, the host before each by the ranks' slices") {
  TrafficOptions options;
  options.gradient_bytes = options.weight_bytes = 2;
  ParallelSpec spec;
  spec.data = 4;
  spec.sharding = ShardingStage::zero3;
  const RankParameters parameters{1000, 0, 5};
  const double of_layers = sent_bytes(state_exchange(parameters, spec, 3, options));
  spec.sharding_calls = ShardingCalls::tensors;
  spec.slice_overhead_s = 10e-6;
  const TrafficList list = state_exchange(parameters, spec, 3, options);
  CHECK(sent_bytes(list) == Approx(of_layers));
  REQUIRE(list.size() == 2);
  CHECK(list[0].times == 3 * 5);      // gradients, every micro-batch
  CHECK(list[1].times == 2 * 3 * 5);  // weights, forward and backward
  for (const Traffic& traffic : list) {
    CHECK(traffic.bytes == 2000.0 / 5);
    CHECK(traffic.host_s == Approx(4 * 10e-6));
  }
}

TEST_CASE("QLoRA gathers quantised layers, and the embedding in half precision") {
  const TransformerShape shape = llama(4, 64, 8, 8, 128, 1000, 32);
  ParallelSpec spec;
  spec.data = 4;
  spec.lora_rank = 8;
  const auto gathered = [&](ShardingStage sharding, double share) {
    spec.sharding = sharding;
    TrafficOptions options;
    options.frozen_share = share;
    double bytes = 0;
    for (const Traffic& one : iteration_traffic(shape, spec, partition(4, 1, 1), 0, 3, options))
      if (one.kind == TrafficKind::all_gather) bytes += one.times * one.bytes;
    return bytes;
  };
  const double layers = 4 * rank_layer_parameters(shape, spec, 0).total();
  const double ends = rank_parameters(shape, spec, partition(4, 1, 1).front()).total() - layers;
  const double adapters = trained_parameters(shape, spec, partition(4, 1, 1).front()).total();
  for (const double share : {1.0, 0.25}) {
    CHECK(gathered(ShardingStage::zero3, share) == Approx(3 * 2 * 2 * (share * layers + ends)));  // forward, backward
    CHECK(gathered(ShardingStage::zero1, share) == Approx(2 * adapters));                         // updated ones alone
  }
}

TEST_CASE("context ranks add up gradients as data ranks do, experts over fewer") {
  ParallelSpec spec;
  spec.data = 4;
  spec.context = 2;
  spec.expert = 2;
  const TrafficList list = state_exchange({1000, 600}, spec, 1, {});
  CHECK(sent_bytes(list, TrafficGroup::gradients) == 2 * 7.0 / 8 * 4000);
  CHECK(sent_bytes(list, TrafficGroup::expert_gradients) == 2 * 3.0 / 4 * 2400);
}

TEST_CASE("hybrid sharding: within a group as sharding has it, between groups an all-reduce of a shard") {
  ParallelSpec spec;
  spec.data = 8;
  spec.sharding = ShardingStage::zero3;
  spec.sharding_group = 4;
  const TrafficList list = state_exchange({1000, 0}, spec, 2, {});
  // 2-byte weights gathered twice a micro-batch, 4-byte gradients once.
  CHECK(sent_bytes(list, TrafficGroup::shards) == 3.0 / 4 * (4 * 2000 + 2 * 4000));
  CHECK(sent_bytes(list, TrafficGroup::shard_copies) == 2 * 1.0 / 2 * (4000.0 / 4));
  // Groups of one are plain data parallelism. Groups of all have no other group with which to sum.
  spec.sharding_group = 1;
  ParallelSpec plain;
  plain.data = 8;
  CHECK(sent_bytes(state_exchange({1000, 0}, spec, 2, {})) == sent_bytes(state_exchange({1000, 0}, plain, 2, {})));
  spec.sharding_group = 8;
  CHECK(sent_bytes(state_exchange({1000, 0}, spec, 2, {}), TrafficGroup::shard_copies) == 0);
}

TEST_CASE("a tiny split by hand: tensor 2, pipeline 2, data 2, three micro-batches") {
  ParallelSpec spec = split_over(2);
  spec.pipeline = 2;
  spec.data = 2;
  const std::vector<ModelPart> parts = partition(4, 2, 1);
  const TrafficList first = iteration_traffic(tiny(), spec, parts, 0, 3, {});
  // Two layers of four all-reduces and the embedding's, 512 bytes each, in three micro-batches.
  CHECK(sent_bytes(first, TrafficGroup::tensor) == 3 * (2 * 4 + 1) * 512);
  CHECK(sent_bytes(first, TrafficGroup::neighbour) == 3 * 512);
  // A layer's 12 h^2 + 7 h elements of matrices and their biases are divided among ranks. The other 6 h are not: norms,
  // and biases after sums.
  const double layer = (12 * 64 + 7 * 8) / 2.0 + 6 * 8;
  CHECK(sent_bytes(first, TrafficGroup::gradients) == 4 * (2 * layer + 40 * 8 / 2.0 + 16 * 8));
  CHECK(sent_bytes(first, TrafficGroup::embeddings) == 4 * 40 * 8 / 2);
  const TrafficList last = iteration_traffic(tiny(), spec, parts, 1, 3, {});
  CHECK(sent_bytes(last, TrafficGroup::tensor) == 3 * (2 * 4 + 1) * 512 + 3 * 3 * 32 * 4);
  CHECK(sent_bytes(last, TrafficGroup::gradients) == 4 * (2 * layer + 40 * 8 / 2.0 + 2 * 8));
}
