#include "sim/scenario/parallel_spec.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace {

using Problem = std::optional<ScenarioProblem>;

std::string text(int value) {
  return std::to_string(value);
}

Problem find_schedule_problem(const ParallelSpec& spec) {
  const bool is_interleaved = spec.schedule == PipelineSchedule::interleaved;
  if (spec.has_two_chunks() && spec.virtual_stages > 2)
    return {{"/parallel/virtual_stages",
             "schedule \"" + name_of(spec.schedule) + "\" has two chunks of layers per stage", "allowed: 2, or none"}};
  if (spec.schedule == PipelineSchedule::dual_pipe && spec.pipeline > 1 && spec.pipeline % 2 != 0)
    return {{"/parallel/pipeline", "schedule \"dualpipe\" has a copy of each stage's layers on the stage across",
             "allowed: even numbers"}};
  if (spec.virtual_stages > 1 && !is_interleaved && !spec.has_two_chunks())
    return {{"/parallel/virtual_stages",
             "schedule \"" + name_of(spec.schedule) + "\" has one chunk of layers per stage",
             "allowed: 1, or \"schedule\": \"interleaved\""}};
  if (is_interleaved && spec.virtual_stages == 1)
    return {{"/parallel/schedule", "interleaving needs several chunks of layers per stage",
             "allowed: with \"virtual_stages\" of 2 or more"}};
  if (is_interleaved && spec.pipeline == 1)
    return {{"/parallel/schedule", "nothing to interleave on one stage", "allowed: with \"pipeline\" of 2 or more"}};
  return {};
}

Problem find_sharding_problem(const ParallelSpec& spec) {
  if (spec.sharding_group > 0 && spec.sharding == ShardingStage::none)
    return {{"/parallel/sharding_group", "nothing is sharded", "allowed: with \"sharding\" of zero1, zero2 or zero3"}};
  if (spec.waits_for_shards() && spec.sharding != ShardingStage::zero3)
    return {{"/parallel/sharding_calls", "weights are not sharded", "allowed: layers, or \"sharding\": \"zero3\""}};
  if (spec.waits_for_shards() && (spec.lora_rank > 0 || spec.splits_backward()))
    return {{"/parallel/sharding_calls",
             "calls for each matrix are not modelled beside adapters, or where the schedule splits the backward pass",
             "allowed: layers"}};
  return {};
}

Problem find_expert_problem(const ParallelSpec& spec) {
  if (spec.expert_capacity > 0 && spec.expert_imbalance > 1)
    return {{"/parallel/expert_imbalance", "a capacity bounds what the busiest expert takes",
             "allowed: 1, or no \"expert_capacity\""}};
  if (spec.expert_imbalance > 1 && spec.expert == 1)
    return {{"/parallel/expert_imbalance", "one rank has all experts", "allowed: 1, or \"expert\" of 2 or more"}};
  if (spec.expert_overlap && spec.expert == 1)
    return {{"/parallel/expert_overlap", "one rank has all experts", "allowed: false, or \"expert\" of 2 or more"}};
  if (spec.expert_dispatch != ExpertDispatch::all_to_all && spec.expert == 1)
    return {
        {"/parallel/expert_dispatch", "one rank has all experts", "allowed: all-to-all, or \"expert\" of 2 or more"}};
  if (spec.expert_tensor > 1 && spec.expert_tensor != spec.tensor)
    return {{"/parallel/expert_tensor", text(spec.expert_tensor) + " of " + text(spec.tensor) + " tensor ranks",
             "allowed: 1, or " + text(spec.tensor) + " as \"tensor\""}};
  if (spec.folds_experts() && spec.expert % spec.tensor != 0)
    return {{"/parallel/expert",
             text(spec.expert) + " ranks with whole experts are not divided by " + text(spec.tensor) + " tensor ranks",
             "allowed: multiples of " + text(spec.tensor) + ", or no \"expert_tensor\""}};
  return {};
}

Problem find_recompute_problem(const ParallelSpec& spec) {
  if (spec.recompute_layers > 0 && spec.recompute != Recomputation::full)
    return {{"/parallel/recompute_layers", "recompute " + name_of(spec.recompute) + " is not by whole layers",
             "allowed: with \"recompute\": \"full\""}};
  if (spec.recompute_interval > 1 && spec.recompute != Recomputation::full)
    return {{"/parallel/recompute_interval", "recompute " + name_of(spec.recompute) + " is not by whole layers",
             "allowed: with \"recompute\": \"full\""}};
  if (spec.recompute_interval > 1 && spec.recompute_layers > 0)
    return {{"/parallel/recompute_interval", "recompute_layers chooses single layers", "allowed: one of the two"}};
  if (spec.frozen_weights != FrozenWeights::whole && spec.lora_rank == 0)
    return {{"/parallel/frozen_weights", "no weights are frozen", "allowed: with \"lora_rank\""}};
  if (spec.lora_target != LoraTarget::attention && spec.lora_rank == 0)
    return {{"/parallel/lora_target", "there are no adapters", "allowed: with \"lora_rank\""}};
  if (spec.recompute_modules.empty() || spec.recompute == Recomputation::selective) return {};
  return {{"/parallel/recompute_modules", "recompute " + name_of(spec.recompute) + " is not by parts of a layer",
           "allowed: with \"recompute\": \"selective\""}};
}

Problem find_offload_problem(const ParallelSpec& spec) {
  if (spec.offload_layers == 0 || spec.pipeline == 1) return {};
  return {{"/parallel/offload_layers", "copies of activations to the host are not modelled beside stages",
           "allowed: \"pipeline\": 1, or without it"}};
}

Problem find_order_problem(const ParallelSpec& spec) {
  for (const Choice<ParallelDimension>& one : choices_of(ParallelDimension()))
    if (std::count(spec.order.begin(), spec.order.end(), one.value) != 1)
      return {{"/parallel/order", "\"" + one.name + "\" must stand in it once",
               "allowed: all of " + joined(choice_names<ParallelDimension>()) + ", innermost first"}};
  return {};
}

// `spec.data` is known.
Problem find_data_problem(const ParallelSpec& spec) {
  if (spec.data % spec.expert_replicas() != 0) {
    const bool would_fold = spec.tensor > 1 && !spec.folds_experts() && spec.expert % spec.tensor == 0 &&
                            spec.data % (spec.expert / spec.tensor) == 0;
    const int most = spec.folds_experts() ? spec.data * spec.tensor : spec.data;
    return {
        {"/parallel/expert",
         text(spec.data) + " data-parallel ranks do not divide into expert groups of " + text(spec.expert_replicas()),
         "allowed: divisors of " + text(most) +
             (would_fold ? ", or \"expert_tensor\": 1, with whole experts on tensor ranks" : "")}};
  }
  if (spec.sharding_group == 0) return {};
  if (spec.gradient_ranks() % spec.sharding_group != 0)
    return {{"/parallel/sharding_group",
             "groups of " + text(spec.sharding_group) + " do not divide the " + text(spec.gradient_ranks()) +
                 " data and context ranks",
             "allowed: divisors of " + text(spec.gradient_ranks())}};
  if (spec.expert > 1 && spec.sharding_group < spec.gradient_ranks())
    return {{"/parallel/sharding_group", "groups of sharding beside groups of experts are not modelled",
             "allowed: " + text(spec.gradient_ranks()) + ", or \"expert\": 1"}};
  return {};
}

[[noreturn]] void fail(const ScenarioProblem& problem) {
  throw InputError(problem.pointer + ": " + problem.wrong + "; " + problem.allowed);
}

std::vector<ParallelDimension> read_order(const JsonNode& node) {
  std::vector<ParallelDimension> order;
  for (const JsonNode& item : node.items()) order.push_back(read_choice<ParallelDimension>(item));
  return order;
}

std::set<RecomputeModule> read_modules(const JsonNode& node) {
  std::set<RecomputeModule> modules;
  for (const JsonNode& item : node.items()) modules.insert(read_choice<RecomputeModule>(item));
  return modules;
}

Json modules_json(const ParallelSpec& spec) {
  Json json = Json::array();
  for (RecomputeModule module : spec.recompute_modules) json.push_back(name_of(module));
  return json;
}

Json order_json(const ParallelSpec& spec) {
  Json json = Json::array();
  for (ParallelDimension dimension : spec.order) json.push_back(name_of(dimension));
  return json;
}

}  // namespace

std::optional<ScenarioProblem> find_problem(const ParallelSpec& spec) {
  if (const Problem problem = find_schedule_problem(spec)) return problem;
  if (const Problem problem = find_sharding_problem(spec)) return problem;
  if (const Problem problem = find_expert_problem(spec)) return problem;
  if (const Problem problem = find_order_problem(spec)) return problem;
  if (const Problem problem = find_recompute_problem(spec)) return problem;
  if (const Problem problem = find_offload_problem(spec)) return problem;
  return spec.data > 0 ? find_data_problem(spec) : Problem();
}

std::optional<ScenarioProblem> find_problem(const ParallelSpec& spec, int gpus) {
  if (const Problem problem = find_problem(spec)) return problem;
  const std::int64_t of_replica = std::int64_t{spec.tensor} * spec.context * spec.pipeline;
  if (gpus % of_replica != 0)
    return {{"/parallel",
             "tensor " + text(spec.tensor) + " x context " + text(spec.context) + " x pipeline " + text(spec.pipeline) +
                 " do not divide " + gpus_text(gpus),
             "allowed: multiples of " + std::to_string(of_replica) + " GPUs"}};
  ParallelSpec filled = spec;
  filled.data = static_cast<int>(gpus / of_replica);
  if (spec.data > 0 && spec.data != filled.data)
    return {{"/parallel/data",
             text(spec.data) + " replicas of " + gpus_text(of_replica) + " are not " + gpus_text(gpus),
             "allowed: " + text(filled.data) + ", or none"}};
  return find_data_problem(filled);
}

ParallelSpec on_gpus(const ParallelSpec& spec, int gpus) {
  if (const Problem problem = find_problem(spec, gpus)) fail(*problem);
  ParallelSpec filled = spec;
  filled.data = gpus / spec.gpus_of_replica();
  return filled;
}

std::int64_t global_batch_of(const ParallelSpec& spec, int replicas) {
  if (spec.global_batch > 0) return spec.global_batch;
  return std::int64_t{spec.micro_batches} * spec.micro_batch * replicas;
}

std::optional<ScenarioProblem> find_batch_problem(const ParallelSpec& spec, int replicas) {
  const std::int64_t batch = global_batch_of(spec, replicas), together = std::int64_t{replicas} * spec.micro_batch;
  if (together < 1 || batch < 1 || batch % together != 0)
    return {{"/parallel/micro_batch",
             "a batch of " + std::to_string(batch) + " is not divided by " + text(replicas) +
                 " data-parallel ranks with " + text(spec.micro_batch) + " a micro-batch",
             "allowed: multiples of " + std::to_string(together)}};
  const std::int64_t count = batch / together;
  if (spec.schedule == PipelineSchedule::interleaved && count % spec.pipeline != 0)
    return {{"/parallel/virtual_stages",
             std::to_string(count) + " micro-batches cannot be interleaved over " + text(spec.pipeline) + " stages",
             "allowed: micro-batches in multiples of " + text(spec.pipeline)}};
  const bool enters_at_both_ends = spec.has_two_chunks() && spec.schedule != PipelineSchedule::zb_v;
  const bool is_even = count % 2 == 0 || !spec.has_two_copies();
  if (spec.pipeline > 1 && enters_at_both_ends && (count < 2 * std::int64_t{spec.pipeline} || !is_even))
    return {{"/parallel/schedule",
             std::to_string(count) + " micro-batches of a " + name_of(spec.schedule) + " with " + text(spec.pipeline) +
                 " stages",
             "allowed: " + std::string(spec.has_two_copies() ? "even numbers from " : "") + text(2 * spec.pipeline) +
                 (spec.has_two_copies() ? " on" : " or more")}};
  return {};
}

int micro_batches(const ParallelSpec& spec, int global_batch) {
  ParallelSpec with_batch = spec;
  with_batch.global_batch = global_batch;
  with_batch.micro_batches = 0;
  if (const Problem problem = find_batch_problem(with_batch, spec.data)) fail(*problem);
  return static_cast<int>(global_batch / (std::int64_t{spec.data} * spec.micro_batch));
}

const ObjectFormat<ParallelSpec>& parallel_format() {
  static const ObjectFormat<ParallelSpec> format = [] {
    ObjectFormat<ParallelSpec> f("parallel");
    f.whole("tensor", &ParallelSpec::tensor, 1, 1024).otherwise(1).means("GPUs that share every layer's matrices");
    f.boolean("sequence", &ParallelSpec::sequence)
        .otherwise(false)
        .means(
            "norms, dropouts and residuals are split along the sequence over the tensor ranks; over one rank it "
            "changes nothing");
    f.whole("pipeline", &ParallelSpec::pipeline, 1, 1024).otherwise(1).means("stages of consecutive layers");
    f.whole("virtual_stages", &ParallelSpec::virtual_stages, 1, 256)
        .otherwise(1)
        .means(
            "chunks of layers per stage, of the schedule `interleaved`; `zb-v`, `dualpipe` and `dualpipe-v` have two");
    f.whole("context", &ParallelSpec::context, 1, kMostGpus).otherwise(1).means("GPUs that share every sequence");
    f.whole("expert", &ParallelSpec::expert, 1, kMostGpus)
        .otherwise(1)
        .means(
            "ranks that share out the experts of a layer: data-parallel ones, or also tensor ranks (`expert_tensor`)");
    f.whole("expert_tensor", &ParallelSpec::expert_tensor, 1, 1024)
        .optional("`tensor`")
        .means(
            "tensor ranks that share each expert's matrices: all of `tensor`, or 1, where they hold whole experts and "
            "count as ranks of `expert`");
    f.whole("data", &ParallelSpec::data, 1, kMostGpus)
        .optional("what the GPUs leave")
        .means("replicas; GPUs = tensor x context x data x pipeline");
    f.choice("sharding", &ParallelSpec::sharding)
        .otherwise("none")
        .means(
            "over data and context ranks: nothing; the optimizer's state; also the gradients; also the weights (FSDP)");
    f.whole("sharding_group", &ParallelSpec::sharding_group, 1, kMostGpus)
        .optional("all data and context ranks")
        .means("ranks that share one copy of what is sharded (hybrid sharding)");
    f.choice("sharding_calls", &ParallelSpec::sharding_calls)
        .otherwise("layers")
        .means(
            "of zero3: a layer's weights in one call, beside the passes; each matrix in a call of its own, for which "
            "the GPU waits (DeepSpeed up to 0.5.4)");
    f.quantity("slice_overhead", &ParallelSpec::slice_overhead_s, Dimension::time, {0, 1e-2})
        .assumed(
            "12 us",
            "default: 5 us to cut and list a slice (PyTorch 1.13, one process of an EPYC server), 7 us to launch its "
            "copy")
        .means("with `sharding_calls` of `tensors`, of the host for each rank's slice of a call")
        .needed_where([](const Json& holder) { return holder.value("sharding_calls", Json()) == "tensors"; });
    auto order = f.custom("order", "array of text", format_text::names(choice_names<ParallelDimension>()),
                          {{"type", "array"},
                           {"items", {{"enum", choice_names<ParallelDimension>()}}},
                           {"minItems", 5},
                           {"maxItems", 5},
                           {"uniqueItems", true}});
    order.otherwise(order_json(ParallelSpec()))
        .means("of the dimensions over ranks, innermost first; Megatron-LM's unless stated");
    order.reads([](const JsonNode& node, ParallelSpec& spec) { spec.order = read_order(node); });
    order.writes(order_json);
    f.whole("global_batch", &ParallelSpec::global_batch, 1, kLargestGlobalBatch)
        .optional("what `micro_batches` give")
        .means("sequences of an iteration, of all replicas together; this or `micro_batches`");
    f.whole("micro_batches", &ParallelSpec::micro_batches, 1, kLargestBatch)
        .optional("what `global_batch` gives")
        .means("of each replica's iteration, so that the batch grows with the replicas");
    f.whole("micro_batch", &ParallelSpec::micro_batch, 1, kLargestBatch)
        .otherwise(1)
        .means("sequences that a data-parallel rank computes at once");
    f.choice("schedule", &ParallelSpec::schedule)
        .otherwise("1f1b")
        .means("of micro-batches over the stages; no effect on one stage");
    f.choice("recompute", &ParallelSpec::recompute)
        .otherwise("none")
        .means(
            "activations computed again in the backward pass: none; the attention's core; all but a layer's input, the "
            "attention's output and those of every other matrix; all but a layer's input");
    auto modules = f.custom("recompute_modules", "array of text", format_text::names(choice_names<RecomputeModule>()),
                            {{"type", "array"},
                             {"items", {{"enum", choice_names<RecomputeModule>()}}},
                             {"minItems", 1},
                             {"uniqueItems", true}});
    modules.optional("core_attn")
        .means("with `recompute` of `selective`, the parts of a layer that are computed again, by Megatron-LM's names");
    modules.reads([](const JsonNode& node, ParallelSpec& spec) { spec.recompute_modules = read_modules(node); });
    modules.writes(modules_json);
    f.whole("recompute_layers", &ParallelSpec::recompute_layers, 1, 4096)
        .optional("all layers")
        .means(
            "with `recompute` of `full`, the first layers of each chunk that are recomputed; the others keep all "
            "activations (Megatron-LM's --recompute-method block --recompute-num-layers)");
    f.whole("recompute_interval", &ParallelSpec::recompute_interval, 1, 4096)
        .otherwise(1)
        .means(
            "with `recompute` of `full`, layers of a chunk from one kept input to the next; the backward pass computes "
            "all of them again at once (Megatron-LM's --recompute-method uniform --recompute-num-layers)");
    f.choice("keeping", &ParallelSpec::keeping)
        .otherwise("mixed")
        .means(
            "what software keeps of a parameter in half precision, in bytes with Adam: 16; 16, weights and gradients "
            "in "
            "single precision; 18, gradients in single precision; 18, as Megatron-Core; 16, as PyTorch's FSDP; 20, as "
            "DeepSpeed; 28 or 30, as "
            "InternEvo; 14, as HAI-LLM; 18, as nanotron");
    f.choice("partition", &ParallelSpec::partition)
        .otherwise("even")
        .means(
            "layers of each stage: as many on each; or until the operations of all layers so far exceed the stage's "
            "share (nanotron)");
    f.choice("tensor_overlap", &ParallelSpec::tensor_overlap)
        .otherwise("none")
        .means(
            "what of the tensor ranks' exchange travels beside matrix products: nothing; in the backward pass what a "
            "matrix's input needs; all");
    f.whole("lora_rank", &ParallelSpec::lora_rank, 1, 65536)
        .optional("all weights are trained")
        .means(
            "weights are frozen but for two matrices of that rank for each matrix of `lora_target` (LoRA: Hu et al. "
            "2021)");
    f.choice("lora_target", &ParallelSpec::lora_target)
        .otherwise("attention")
        .means("matrices with adapters: those of the attention, or `all` of dense layers; experts have none");
    f.choice("frozen_weights", &ParallelSpec::frozen_weights)
        .otherwise("whole")
        .means(
            "precision of the frozen matrices of layers with adapters: `whole` as the layers compute, `int8` 1 byte, "
            "`nf4` 0.516 bytes (QLoRA: Dettmers et al. 2023), `gptq` 0.52 bytes (AutoGPTQ), which passes make whole "
            "again, those of `gptq` the forward pass alone; `fp8` 1 byte, which GEMMs read (NeMo's `fp8_params`)");
    f.boolean("offload_optimizer", &ParallelSpec::offloads_optimizer)
        .otherwise(false)
        .means(
            "the optimizer's state lies in host memory, where the processors update it (ZeRO-Offload: Ren et al. "
            "2021): "
            "gradients leave the GPU beside the last backward pass, weights come back beside the update, which host "
            "memory bounds");
    f.whole("offload_layers", &ParallelSpec::offload_layers, 1, 4096)
        .optional("none")
        .means(
            "first layers whose activations lie in host memory between the passes (Megatron-LM's "
            "--cpu-offloading-num-layers): copies overlap the passes, which wait for what takes longer");
    f.choice("context_exchange", &ParallelSpec::context_exchange)
        .otherwise("ring")
        .means(
            "of keys and values between context ranks: around a ring beside the attention; gathered before it; heads "
            "for tokens");
    f.boolean("expert_overlap", &ParallelSpec::expert_overlap)
        .otherwise(false)
        .means(
            "tokens travel to experts and back beside the passes of another micro-batch (DeepSeek's DualPipe; "
            "Megatron-LM's --overlap-moe-expert-parallel-comm)");
    f.number("expert_overlap_share", &ParallelSpec::expert_overlap_share, {0, 0.9})
        .assumed(ParallelSpec().expert_overlap_share,
                 "default: 20 of 132 (DeepSeek-V3 report, section 3.2.2; DeepEP's default)")
        .means("with `expert_overlap`, the share of the multiprocessors that the exchange holds, so that passes wait")
        .needed_where([](const Json& holder) { return holder.value("expert_overlap", false); });
    f.choice("expert_dispatch", &ParallelSpec::expert_dispatch)
        .otherwise("all-to-all")
        .means(
            "how tokens travel to experts on other ranks: a copy for each expert; or by DeepEP or HybridEP, one "
            "copy for each node, which NVLink passes on once to each GPU with its experts");
    f.number("expert_capacity", &ParallelSpec::expert_capacity, {0.1, 1000})
        .optional("none is dropped")
        .means("rows that an expert takes, over an even share: more are dropped, fewer padded");
    f.number("expert_imbalance", &ParallelSpec::expert_imbalance, {1, 1000})
        .optional("every rank has as many")
        .means("without a capacity, tokens of the busiest expert rank over the mean; all wait for it");
    f.then([](const JsonNode& node, ParallelSpec& spec) {
      const Problem problem = find_problem(spec);
      if (!problem) return;
      const std::string key = problem->pointer.substr(problem->pointer.rfind('/') + 1);
      (node.has(key) ? node.at(key) : node).fail(problem->wrong, problem->allowed);
    });
    return f;
  }();
  return format;
}

}  // namespace lockstep::sim::scenario
