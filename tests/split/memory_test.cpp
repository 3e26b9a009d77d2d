// Memory of a split: Korthikanti's formulas to the byte, ZeRO's table, and activations by the schedule.
#include "tests/split/memory.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("activations of a layer are Korthikanti's, for every tensor size, with and without sequence parallelism") {
  // These are the paper's 22B, 175B, 530B and 1T models (table 3).
  for (const auto& [layers, hidden, heads] :
       {std::tuple{48, 6144, 64}, {96, 12288, 96}, {105, 20480, 128}, {128, 25600, 160}}) {
    const TransformerShape shape = gpt(layers, hidden, heads, 51200, 2048);
    const double s = 2048, b = 4, h = hidden, a = heads;
    for (int tensor : {1, 2, 4, 8}) {
      const double t = tensor;
      ParallelSpec spec = of_tensor(tensor, false);
      CHECK(kept_bytes(shape, spec, 0, 2) == Approx(s * b * h * (10 + 24 / t + 5 * a * s / (h * t))));
      ParallelSpec sequence = of_tensor(tensor, true);
      CHECK(kept_bytes(shape, sequence, 0, 2) == Approx(s * b * h * (34 / t + 5 * a * s / (h * t))));
      sequence.recompute = Recomputation::selective;
      CHECK(kept_bytes(shape, sequence, 0, 2) == Approx(34 * s * b * h / t));
      CHECK(recomputed_bytes(shape, sequence, 0, 2) == Approx(5 * a * s * s * b / t));
      spec.recompute = Recomputation::full;
      CHECK(kept_bytes(shape, spec, 0, 2) == 2 * s * b * h);
    }
  }
}

TEST_CASE("selective recomputation saves the paper's 70 % of GPT-3 and 65 % of MT-NLG's activations") {
  const auto saved = [](int hidden, int heads) {
    const TransformerShape shape = gpt(1, hidden, heads, 51200, 2048);
    ParallelSpec spec = of_tensor(8, true);
    const double all = kept_bytes(shape, spec, 0, 2);
    spec.recompute = Recomputation::selective;
    return 1 - kept_bytes(shape, spec, 0, 2) / all;
  };
  CHECK(saved(12288, 96) == Approx(0.70).margin(0.01));
  CHECK(saved(20480, 128) == Approx(0.65).margin(0.01));
}

TEST_CASE("fused attention keeps no scores, grouped queries fewer keys, context ranks their tokens") {
  TransformerShape shape = llama(1, 64, 8, 2, 192, 100, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  // Kept are inputs of norms and matrices 4 x 64, queries 64, keys and values 2 x 16, heads' outputs 64, gate, up and
  // product 3 x 192, with 2 bytes each; and 8 logarithms of 4 bytes.
  const double token = 2 * (4 * 64 + 64 + 2 * 16 + 64 + 3 * 192) + 8 * 4;
  CHECK(kept_bytes(shape, spec, 0, 2) == 32 * token);
  spec.context = 4;
  CHECK(kept_bytes(shape, spec, 0, 2) == 8 * token);
  spec.recompute = Recomputation::selective;
  CHECK(kept_bytes(shape, spec, 0, 2) == 8 * token);
  shape.has_fused_attention = false;
  spec.recompute = Recomputation::none;
  // Without dropout only the softmax's output is kept: 8 queries with 32 keys on 8 heads.
  CHECK(kept_bytes(shape, spec, 0, 2) == 8 * (token - 8 * 4) + 8 * 32 * 8 * 2);
}

TEST_CASE("norms: four have four inputs, parallel ones share theirs, those of heads have the heads'") {
  TransformerShape shape = llama(1, 64, 8, 2, 192, 100, 32);
  const ParallelSpec spec = of_tensor(1, false, 1);
  const double before = kept_bytes(shape, spec, 0, 2), hidden = 32 * 64 * 2;
  shape.norm_place = model::NormPlace::both;
  CHECK(kept_bytes(shape, spec, 0, 2) - before == 2 * hidden);
  shape.norm_place = model::NormPlace::parallel;
  CHECK(kept_bytes(shape, spec, 0, 2) - before == -hidden);
  shape.norm_place = model::NormPlace::before;
  shape.qk_norm = true;
  CHECK(kept_bytes(shape, spec, 0, 2) - before == 32 * (64 + 16) * 2);
}

TEST_CASE("alternate matrices: a layer's input, queries, values, the attention's output, gate and second matrix") {
  TransformerShape shape = llama(1, 64, 8, 2, 192, 100, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  spec.recompute = Recomputation::alternate_matrices;
  CHECK(kept_bytes(shape, spec, 0, 2) == 32 * (2 * (64 + 64 + 16 + 64 + 192 + 64) + 8 * 4));
  SECTION("with experts: half of all matrices' outputs, the layer's input, the attention's output") {
    shape.mixture = mixture(4, 2, 96, 0, 0);
    const int attention = 64 + 2 * 16 + 64, router = 4, experts = 2 * (2 * 96 + 64);
    CHECK(kept_bytes(shape, spec, 0, 2) == 32 * ((attention + router + experts) + 2 * (64 + 64) + 8 * 4));
  }
  SECTION("less than all is kept and more than a layer's input, with experts or without, fused or not") {
    for (const bool has_experts : {false, true})
      for (const bool is_fused : {false, true}) {
        if (has_experts) shape.mixture = mixture(4, 2, 96, 0, 0);
        shape.has_fused_attention = is_fused;
        const auto kept = [&](Recomputation recompute) {
          spec.recompute = recompute;
          return kept_bytes(shape, spec, 0, 2);
        };
        CHECK(kept(Recomputation::alternate_matrices) < kept(Recomputation::selective));
        CHECK(kept(Recomputation::alternate_matrices) > kept(Recomputation::full));
      }
  }
}

TEST_CASE("uniform recomputation keeps one input of several layers, and computes all of these again at once") {
  const TransformerShape shape = gpt(12, 1024, 16, 128, 2048);
  ParallelSpec spec = of_tensor(1, false, 2);
  const SplitMemory kept = of_stage(shape, spec, 0, 1);
  spec.recompute = Recomputation::full;
  const SplitMemory each = of_stage(shape, spec, 0, 1);
  const double input = 2.0 * 2 * 2048 * 1024;  // of a layer
  for (const int interval : {2, 3, 4, 5, 6}) {
    spec.recompute_interval = interval;
    const SplitMemory memory = of_stage(shape, spec, 0, 1);
    const int inputs = (12 + interval - 1) / interval;
    CHECK(each.activations_bytes - memory.activations_bytes == (12 - inputs) * input);
    CHECK(memory.working_bytes - each.working_bytes ==
          Approx((interval - 1) * kept_bytes(shape, of_tensor(1, false, 2), 0, 2)));
  }
  // All layers at once: everything that they would keep is recomputed together.
  spec.recompute_interval = 12;
  CHECK(of_stage(shape, spec, 0, 1).allocated_bytes() == Approx(kept.allocated_bytes()));
}

TEST_CASE("QLoRA: frozen matrices of 0.516 bytes, the embedding in half precision, one matrix made whole at a time") {
  const TransformerShape shape = llama(4, 1024, 8, 8, 4096, 32000, 512);
  ParallelSpec spec = of_tensor(1, false, 1);
  spec.lora_rank = 8;
  const SplitMemory whole = of_stage(shape, spec, 0, 1);
  const double of_layers = 4 * rank_layer_parameters(shape, spec, 0).total();
  CHECK(quantised_bytes(FrozenWeights::nf4) == Approx(0.516).epsilon(1e-3));
  for (const auto& [weights, bytes] : {std::pair(FrozenWeights::nf4, 0.515869140625), {FrozenWeights::int8, 1.0}}) {
    spec.frozen_weights = weights;
    const SplitMemory memory = of_stage(shape, spec, 0, 1);
    CHECK(whole.weights_bytes - memory.weights_bytes == Approx((2 - bytes) * of_layers));
    CHECK(memory.buffers_bytes - whole.buffers_bytes == 2.0 * 1024 * 4096);
    CHECK(memory.optimizer_bytes == whole.optimizer_bytes);
  }
}

TEST_CASE("narrow optimizer states: bitsandbytes' 8-bit Adam, and Megatron-LM's precision-aware optimizer") {
  ParallelSpec spec;
  SoftwareMemory software;
  const auto bytes = [&](StateKeeping keeping) {
    spec.keeping = keeping;
    return memory_options(spec, software).parameters.total();
  };
  CHECK(bytes(StateKeeping::megatron_core) == 18);
  software.kept.state = model::StatePrecision::eight_bits;  // 2 moments of 1 byte, 1/64 for the scales of 256
  CHECK(bytes(StateKeeping::mixed) == 2 + 2 + 4 + 2 + 2.0 / 64);
  CHECK(bytes(StateKeeping::fsdp) == 4 + 4 + 2 + 2.0 / 64);
  software.kept = {model::StatePrecision::bf16, model::MasterWeights::fp16};
  CHECK(bytes(StateKeeping::megatron_core) == 2 + 4 + 2 + 4);
  CHECK(bytes(StateKeeping::deepspeed) == 16 + 4 - 4 - 2);  // its copy of gradients stays
  CHECK_THROWS_WITH(bytes(StateKeeping::fsdp), Contains("/compute/master_weights"));
}

TEST_CASE("the busiest rank's experts keep its tokens") {
  TransformerShape shape = llama(2, 64, 8, 8, 128, 100, 32);
  shape.mixture = mixture(4, 2, 96, 0, 1);
  ParallelSpec spec = of_tensor(1, false, 1);
  const double dense = kept_bytes(shape, spec, 0, 2), experts = kept_bytes(shape, spec, 1, 2);
  const double sent = 32 * 2 * 2.0 * (64 + 3 * 96);
  CHECK(experts - dense == 32 * 4 * 4 + sent + 32 * 2 * 2 * 64 - 32 * 2 * (64 + 3 * 128));
  spec.expert_imbalance = 1.5;
  CHECK(kept_bytes(shape, spec, 1, 2) == experts);  // one rank has them all
  spec.expert = 2;
  CHECK(kept_bytes(shape, spec, 1, 2) - experts == Approx(0.5 * sent));
}

TEST_CASE("bytes of a parameter: 16 with Adam, 18 with gradients in single precision") {
  CHECK(parameter_bytes(Precision::bf16, Optimizer::adam, false).total() == 16);
  CHECK(parameter_bytes(Precision::fp16, Optimizer::adam, true).total() == 18);
  CHECK(parameter_bytes(Precision::fp32, Optimizer::adam, true).total() == 16);
  CHECK(parameter_bytes(Precision::bf16, Optimizer::sgd, false).total() == 8);
  CHECK(fsdp_parameter_bytes(Optimizer::adam).total() == 16);
  CHECK(half_parameter_bytes(Optimizer::adam).total() == 8);
  CHECK(half_parameter_bytes(Optimizer::sgd).total() == 4);
  CHECK(deepspeed_parameter_bytes(Optimizer::adam).total() == 20);
  CHECK(deepspeed_bf16_parameter_bytes(Optimizer::adam).total() == 20);
}

TEST_CASE("what is kept in single precision: DeepSpeed's sums on every rank in bf16, shards of them in fp16") {
  const TransformerShape shape = llama(1, 64, 8, 8, 192, 100, 32);
  const auto count = static_cast<double>(parameters_of(shape).total());
  ParallelSpec spec;
  spec.data = 4;
  spec.sharding = ShardingStage::zero1;
  const auto bytes_of = [&](const ParameterBytes& parameters) {
    SplitMemoryOptions options;
    options.parameters = parameters;
    const SplitMemory memory = largest_split_memory(shape, spec, partition(1, 1, 1), 1, options);
    return memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes;
  };
  CHECK(bytes_of(deepspeed_parameter_bytes(Optimizer::adam)) == Approx((2 + 2 + 16. / 4) * count));
  CHECK(bytes_of(deepspeed_bf16_parameter_bytes(Optimizer::adam)) == Approx((2 + 2 + 4 + 12. / 4) * count));
  // InternEvo's update: gradients once more, and two arrays of AdamW's.
  CHECK(bytes_of(internevo_parameter_bytes(Optimizer::adam, false)) == Approx((2 + 2 + 26. / 4) * count));
  spec.sharding = ShardingStage::zero3;
  CHECK(bytes_of(internevo_parameter_bytes(Optimizer::adam, true)) == Approx(28. / 4 * count));
}

TEST_CASE("communicators take memory for each kind of group that has more than one rank") {
  ParallelSpec spec;
  spec.data = 1;
  CHECK(communicators_bytes(spec) == 0);
  spec.tensor = 2;
  CHECK(communicators_bytes(spec) == kCommunicatorBytes);
  spec.pipeline = spec.data = 4;
  CHECK(communicators_bytes(spec) == Approx(3 * kCommunicatorBytes));
}

TEST_CASE("ZeRO's table 1: a 7.5B model on 64 GPUs takes 120, 31.4, 16.6 and 1.88 GB") {
  // Nearly all parameters are an embedding: the paper's table depends only on the number of parameters.
  const TransformerShape shape = llama(1, 1000, 10, 10, 1000, 7'492'000 / 2, 8);
  const auto count = static_cast<double>(parameters_of(shape).total());
  REQUIRE(count == Approx(7.5e9).epsilon(0.002));
  ParallelSpec spec;
  spec.data = 64;
  const auto gigabytes = [&](ShardingStage sharding) {
    spec.sharding = sharding;
    const SplitMemory memory = of_stage(shape, spec, 0, 1);
    return (memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes) / 1e9;
  };
  CHECK(gigabytes(ShardingStage::none) == Approx(120).epsilon(0.003));
  CHECK(gigabytes(ShardingStage::zero1) == Approx(31.4).epsilon(0.003));
  CHECK(gigabytes(ShardingStage::zero2) == Approx(16.6).epsilon(0.003));
  CHECK(gigabytes(ShardingStage::zero3) == Approx(1.88).epsilon(0.003));
  spec.sharding_group = 8;
  CHECK(gigabytes(ShardingStage::zero3) == Approx(15.0).epsilon(0.003));
  spec.offloads_optimizer = true;
  CHECK(gigabytes(ShardingStage::none) == Approx(30).epsilon(0.003));
}

TEST_CASE("a stage holds as many layers' activations as its schedule has in flight") {
  const TransformerShape shape = llama(8, 64, 8, 8, 192, 100, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  spec.pipeline = 4;
  const double layer = kept_bytes(shape, spec, 0, 2), indices = 32 * 8;
  spec.schedule = PipelineSchedule::one_f_one_b;
  CHECK(of_stage(shape, spec, 0, 16).activations_bytes == 4 * (2 * layer + indices));
  CHECK(of_stage(shape, spec, 1, 16).activations_bytes == 3 * 2 * layer);
  CHECK(of_stage(shape, spec, 0, 2).activations_bytes == 2 * (2 * layer + indices));
  spec.schedule = PipelineSchedule::gpipe;
  CHECK(of_stage(shape, spec, 1, 16).activations_bytes == 16 * 2 * layer);
  // 2 (4 - 1 - 1) + 4 + 1 chunks of one layer.
  spec.schedule = PipelineSchedule::interleaved;
  spec.virtual_stages = 2;
  CHECK(of_stage(shape, spec, 1, 16).activations_bytes == 9 * layer);
}

TEST_CASE("a stage's activations are those of its ops, for any number of micro-batches") {
  const TransformerShape shape = llama(8, 64, 8, 8, 192, 100, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  spec.pipeline = 4;
  const double layer = kept_bytes(shape, spec, 0, 2);
  for (const PipelineSchedule schedule :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe, PipelineSchedule::interleaved}) {
    const bool is_interleaved = schedule == PipelineSchedule::interleaved;
    spec.schedule = schedule;
    spec.virtual_stages = is_interleaved ? 2 : 1;
    for (int micro_batches = is_interleaved ? 4 : 1; micro_batches < 60; micro_batches += is_interleaved ? 4 : 1)
      for (int stage : {1, 2}) {
        const int held = most_in_flight(stage_ops(schedule, pipeline_shape(spec, micro_batches), stage));
        INFO(name_of(schedule) << " " << micro_batches << " stage " << stage);
        CHECK(of_stage(shape, spec, stage, micro_batches).activations_bytes == held * layer * 2 / spec.virtual_stages);
      }
  }
}

TEST_CASE("interleaving holds 1 + (p-1)/(p v) times what 1F1B does on the first stage") {
  // This is Korthikanti et al. 2022, section 4.2.3, for many micro-batches.
  const TransformerShape shape = llama(24, 64, 8, 8, 192, 0, 32);
  ParallelSpec spec = of_tensor(1, false, 1);
  spec.pipeline = 4;
  const double indices = 32 * 8;
  const double plain = of_stage(shape, spec, 0, 32).activations_bytes - 4 * indices;
  spec.schedule = PipelineSchedule::interleaved;
  spec.virtual_stages = 3;
  const double chunks = of_stage(shape, spec, 0, 32).activations_bytes;
  // Eight of the fifteen chunks in flight are the first one, with the embedding's indices.
  const double first_chunks = std::round((chunks - plain * (1 + 3.0 / 12)) / indices);
  CHECK(first_chunks >= 4);
  CHECK(first_chunks <= 8);
  CHECK(chunks - first_chunks * indices == Approx(plain * (1 + 3.0 / 12)));
}

TEST_CASE("empty gradients: one of every shape of a matrix, whatever the layers") {
  TransformerShape shape = llama(6, 64, 8, 8, 192, 100, 32);
  const ParallelSpec spec = of_tensor(2, true, 1);
  SplitMemoryOptions options;
  const double without = of_stage(shape, spec, 0, 1, options).allocated_bytes();
  options.keeps_empty_gradients = true;
  CHECK(of_stage(shape, spec, 0, 1, options).allocated_bytes() - without == 2 * (4 * 64 + 3 * 192) * 64 / 2);
}

TEST_CASE("parts add up, more of anything needs more, more ranks need less") {
  for (int trial = 0; trial < 100; ++trial) {
    const auto draw = [&](int which, int most) {
      return 1 + static_cast<int>(
                     most * random_uniform(9, static_cast<std::uint64_t>(which), static_cast<std::uint64_t>(trial)));
    };
    TransformerShape shape = llama(8 * draw(1, 3), 128 * draw(2, 8), 16, 16, 512 * draw(3, 4), 1600 * draw(4, 20), 512);
    ParallelSpec spec = of_tensor(1 << (draw(6, 4) - 1), draw(7, 2) == 1, draw(8, 3));
    spec.pipeline = 1 << (draw(9, 3) - 1);
    spec.data = 4;
    spec.recompute = static_cast<Recomputation>(draw(10, 4) - 1);
    shape.has_fused_attention = draw(5, 2) == 1;
    spec.sharding = static_cast<ShardingStage>(draw(11, 4) - 1);
    const auto total = [&] {
      return largest_split_memory(shape, spec, partition(shape.layers, spec.pipeline, 1), 8, {}).total_bytes();
    };
    const SplitMemory memory = of_stage(shape, spec, 0, 8);
    double sum = 0;
    for (const SplitMemoryPart& part : memory.parts()) {
      REQUIRE(part.bytes >= 0);
      sum += part.bytes;
    }
    REQUIRE(sum == Approx(memory.total_bytes()));
    const double before = total();
    ++spec.micro_batch;
    REQUIRE(total() > before);
    --spec.micro_batch;
    spec.tensor *= 2;
    REQUIRE(total() < before);
    spec.tensor /= 2;
    spec.data *= 2;
    REQUIRE(total() <= before);
  }
}

TEST_CASE("parts that are computed again are freed one by one, and all of them leave more than full recomputation") {
  TransformerShape shape = llama(2, 64, 8, 2, 192, 100, 32);
  shape.mixture = mixture(4, 2, 96, 48, 1);  // the first layer is dense
  ParallelSpec spec = of_tensor(1, false, 1);
  const double dense = kept_bytes(shape, spec, 0, 2), experts = kept_bytes(shape, spec, 1, 2);
  const auto freed = [&](int layer, std::set<RecomputeModule> modules) {
    ParallelSpec with = spec;
    with.recompute = Recomputation::selective;
    with.recompute_modules = std::move(modules);
    return (layer == 0 ? dense : experts) - kept_bytes(shape, with, layer, 2);
  };
  const double token = 32 * 2;  // tokens, bytes an element
  // Outputs of both norms; of the MLP's gate and other half times each other; of gate, other half and that.
  CHECK(freed(0, {RecomputeModule::layer_norm}) == token * 2 * 64);
  CHECK(freed(0, {RecomputeModule::activation}) == token * 192);
  CHECK(freed(0, {RecomputeModule::mlp}) == token * 3 * 192);
  CHECK(freed(0, {RecomputeModule::mlp, RecomputeModule::activation}) == token * 3 * 192);
  CHECK(freed(0, {RecomputeModule::moe, RecomputeModule::latent_up, RecomputeModule::core_attention}) == 0);
  // Two experts a token of 96 columns, a shared one of 48; scores of four experts in single precision.
  CHECK(freed(1, {RecomputeModule::activation}) == token * (2 * 96 + 48));
  CHECK(freed(1, {RecomputeModule::shared_experts}) == token * 3 * 48);
  CHECK(freed(1, {RecomputeModule::moe}) == token * (2 * 64 + 2 * 3 * 96 + 2 * 64) + 32 * 4 * 4);
  std::set<RecomputeModule> all;
  for (const Choice<RecomputeModule>& module : choices_of(RecomputeModule())) {
    const double before = freed(1, all);
    all.insert(module.value);
    CHECK(freed(1, all) >= before);
  }
  spec.recompute = Recomputation::full;
  CHECK(experts - freed(1, all) > kept_bytes(shape, spec, 1, 2));
}

TEST_CASE("products of eight bits keep a byte of an input; Megatron-Core and HAI-LLM keep no experts' outputs") {
  TransformerShape shape = llama(1, 64, 8, 8, 192, 100, 32);
  shape.mixture = mixture(4, 2, 96, 0, 0);
  ParallelSpec spec = of_tensor(1, false, 1);
  const auto kept = [&](StateKeeping keeping, Precision precision) {
    spec.keeping = keeping;
    SoftwareMemory software;
    software.precision = precision;
    return kept_bytes(shape, spec, 0, memory_options(spec, software).activations);
  };
  const double inputs = 64 + 2 * 64 + 2 * 96;  // of queries, of experts' first and second matrices; a token
  const double both = kept(StateKeeping::single_gradients, Precision::bf16);
  CHECK(both == kept(StateKeeping::mixed, Precision::fp8));
  CHECK(both - kept(StateKeeping::single_gradients, Precision::fp8) == 32 * inputs);
  CHECK(both - kept(StateKeeping::single_gradients, Precision::fp4) == 32 * inputs * (2 - 0.5625));
  CHECK(both - kept(StateKeeping::megatron_core, Precision::bf16) == 32 * 2 * 64 * 2);
  // In addition, SwiGLU's inputs are kept in one byte each.
  CHECK(kept(StateKeeping::megatron_core, Precision::fp8) - kept(StateKeeping::hai_llm, Precision::fp8) ==
        32 * 2 * 2 * 96);
  CHECK(hai_llm_parameter_bytes(Optimizer::adam).total() == 14);
}

TEST_CASE("nanotron keeps whole inputs that tensor ranks gather, and a transposed copy of the attention's output") {
  const TransformerShape shape = llama(1, 64, 8, 2, 192, 100, 32);
  for (const int tensor : {1, 2, 4}) {
    ParallelSpec spec = of_tensor(tensor, true, 1);
    const auto kept = [&](StateKeeping keeping) {
      spec.keeping = keeping;
      return kept_bytes(shape, spec, 0, memory_options(spec, {}).activations);
    };
    const double inputs = 2 * 64 * (1 - 1.0 / tensor), copy = 64.0 / tensor;
    CHECK(kept(StateKeeping::nanotron) - kept(StateKeeping::mixed) == Approx(32 * 2 * (inputs + copy)));
  }
}

TEST_CASE("a fused loss needs 4 bytes per logit; PyTorch's in single precision needs 12") {
  ParallelSpec spec;
  SoftwareMemory software;
  for (const StateKeeping keeping : {StateKeeping::fsdp, StateKeeping::autocast}) {
    spec.keeping = keeping;
    software.has_loss_in_single = false;
    const LossBytes fused = memory_options(spec, software).loss;
    software.has_loss_in_single = true;
    const LossBytes steps = memory_options(spec, software).loss;
    CHECK(fused.kept + fused.working == 4);
    CHECK(steps.kept + steps.working == 12);
  }
}
