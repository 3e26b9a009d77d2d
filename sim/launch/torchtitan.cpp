#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/pretraining_configs.hpp"

namespace lockstep::sim::launch {
namespace {

// Returns the key with the section in which this version of torchtitan has it.
std::string section_key(const LaunchSettings& s, const std::string& name) {
  for (const char* section : {"parallelism.", "training.", "experimental."})
    if (s.has(section + name)) return section + name;
  return "";
}

std::int64_t degree_of(LaunchSettings& s, const std::string& name, const std::string& option, std::int64_t otherwise) {
  const std::string key = section_key(s, name);
  return key.empty() ? otherwise : s.whole(key, option).value_or(otherwise);
}

void give_degree(LaunchSettings& s, Facts& f, const std::string& name, const std::string& option) {
  const std::int64_t degree = degree_of(s, name, option, 1);
  const std::string key = section_key(s, name);
  if (key.empty())
    f.give_default(option, "1", "torchtitan's default");
  else
    f.give_from(option, std::to_string(degree), s, key);
}

void read_titan_ranks(LaunchSettings& s, Facts& f) {
  give_degree(s, f, "tensor_parallel_degree", "--tensor");
  give_degree(s, f, "pipeline_parallel_degree", "--pipeline");
  give_degree(s, f, "context_parallel_degree", "--context");
  for (const auto& [name, option] : {std::pair<std::string, std::string>{"expert_parallel_degree", "--expert"},
                                     {"expert_tensor_parallel_degree", "--expert-tensor"}})
    if (!section_key(s, name).empty() && degree_of(s, name, option, 1) > 1)
      f.give_from(option, std::to_string(degree_of(s, name, option, 1)), s, section_key(s, name));
  const bool sequence = s.boolean("parallelism.enable_sequence_parallel", "--sequence-parallel").value_or(true);
  if (f.number_of("--tensor", 1) > 1)
    f.give_default(sequence ? "--sequence-parallel" : "--no-sequence-parallel", "", "torchtitan's default");
  for (const char* key : {"parallelism.enable_async_tensor_parallel", "compile.enable_async_tensor_parallel",
                          "experimental.enable_async_tensor_parallel"})
    if (s.is_on(key, "--tensor-overlap")) f.give_from("--tensor-overlap", "all", s, key);
}

// Shards per copy; -1: all that remain.
void read_titan_sharding(LaunchSettings& s, Facts& f) {
  const std::int64_t copies = degree_of(s, "data_parallel_replicate_degree", "--sharding-group", 1);
  const std::int64_t shards = degree_of(s, "data_parallel_shard_degree", "--sharding", -1);
  const std::string key = section_key(s, "data_parallel_shard_degree");
  const std::string reshards = s.text("parallelism.fsdp_reshard_after_forward", "--sharding").value_or("default");
  if (shards == 1 && copies != 1) return f.give_from("--sharding", "none", s, key);
  const char* const stage = reshards == "never" ? "zero2" : "zero3";
  const bool is_pipeline = degree_of(s, "pipeline_parallel_degree", "--pipeline", 1) > 1;
  if (reshards == "always" && is_pipeline)
    s.mark("parallelism.fsdp_reshard_after_forward", Use::not_simulated,
           "in a pipeline, weights are predicted as gathered once per iteration");
  if (key.empty())
    f.give_default("--sharding", stage, "torchtitan's default");
  else
    f.give_from("--sharding", stage, s, key);
  if (copies > 1 && shards > 1)
    f.give_from("--sharding-group", std::to_string(shards * f.number_of("--context", 1)), s, key);
  else if (copies > 1)
    f.sharded_copies = copies;
}

// Chunks of layers per rank. torchtitan makes two, or as many as pipeline_parallel_layers_per_stage asks for, and divides
// layers unevenly (torchtitan/distributed/pipeline_parallel.py).
std::int64_t chunks_of_rank(LaunchSettings& s, const Facts& f, const Catalogue& catalogue) {
  constexpr const char* kKey = "parallelism.pipeline_parallel_layers_per_stage";
  const auto number = [&](const char* end) {
    const auto less = s.whole(std::string("parallelism.pipeline_parallel_") + end + "_stage_less_layers", "--schedule");
    return less.value_or(1);
  };
  const std::int64_t weights = number("first") + number("last"), stages = f.number_of("--pipeline", 1);
  const auto of_stage = s.whole(kKey, "--virtual-stages");
  if (!of_stage || *of_stage < 1) return 2;
  const std::int64_t layers = layers_of(f.value_of("--model"), catalogue);
  if (layers == 0) {
    s.require_option(s.at(kKey), "--virtual-stages", "the number of layers is not known");
    return 0;
  }
  const std::int64_t chunks = (layers + weights + *of_stage - 1) / *of_stage;
  if (stages < 1 || chunks % stages != 0)
    fail_at(s.at(kKey),
            std::to_string(chunks) + " stages of " + std::to_string(layers) + " layers do not divide into " +
                std::to_string(stages) + " ranks",
            "give a number that makes a multiple");
  return chunks / stages;
}

void read_titan_schedule(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const std::string key = section_key(s, "pipeline_parallel_schedule");
  if (f.number_of("--pipeline", 1) == 1) {
    if (!key.empty()) s.mark(key, Use::no_effect, "one stage");
    return;
  }
  const std::string schedule = key.empty() ? "1F1B" : s.text(key, "--schedule").value_or("1F1B");
  if (lower_case(schedule) == "1f1b" || lower_case(schedule) == "gpipe") {
    f.give_default("--virtual-stages", "1", "one chunk of layers per stage");
    return key.empty() ? f.give_default("--schedule", "1f1b", "torchtitan's default")
                       : f.give_from("--schedule", lower_case(schedule), s, key);
  }
  if (lower_case(schedule) == "zbvzerobubble" || lower_case(schedule) == "dualpipev")
    return f.give_from("--schedule", lower_case(schedule) == "dualpipev" ? "dualpipe-v" : "zb-v", s, key);
  if (lower_case(schedule) == "interleaved1f1b") {
    const std::int64_t chunks = chunks_of_rank(s, f, catalogue);
    if (chunks == 1) fail_at(s.at(key), "needs two chunks of layers per rank or more", "give smaller stages");
    if (chunks > 1) f.give_default("--virtual-stages", std::to_string(chunks), "chunks of layers per rank");
    return f.give_from("--schedule", "interleaved", s, key);
  }
  s.mark(key, Use::not_simulated, "the fastest of torchtitan's other schedules is predicted");
}

void read_titan_batch(LaunchSettings& s, Facts& f) {
  std::optional<std::int64_t> local;
  for (const char* key : {"training.local_batch_size", "training.batch_size"})
    if (!local) local = s.whole(key, "--micro-batch");
  if (const auto tokens = s.whole("training.num_tokens_per_microbatch_per_dp_rank", "--micro-batch");
      tokens && f.sequence > 0)
    local = std::max<std::int64_t>(1, *tokens / f.sequence);
  auto global = s.whole("training.global_batch_size", "--global-batch");
  if (const auto tokens = s.whole("training.num_tokens_per_train_step", "--global-batch");
      tokens && *tokens > 0 && f.sequence > 0)
    global = *tokens / f.sequence;
  if (global && *global > 0) f.global_batch = *global;
  if (!local && !f.options_of_recipe.empty())
    return s.require_option(s.at("config"), "--micro-batch", "the configuration in Python sets it");
  const std::int64_t of_rank = local.value_or(8);  // torchtitan's default
  const std::string key = section_key(s, "pipeline_parallel_microbatch_size");
  const std::int64_t of_stage = key.empty() ? 1 : s.whole(key, "--micro-batch").value_or(1);
  const auto stages = s.whole("parallelism.num_pp_microbatches", "--accumulation");
  const bool has_stages = f.number_of("--pipeline", 1) > 1;
  f.micro_batch = has_stages && !stages ? of_stage : of_rank;
  if (!f.global_batch)
    f.accumulation = has_stages ? (stages ? *stages : std::max<std::int64_t>(1, of_rank / of_stage)) : 1;
}

void read_titan_recomputation(LaunchSettings& s, Facts& f) {
  const bool is_given = s.has("activation_checkpoint.mode");  // text() treats the mode "none" as an absent value
  const std::string mode =
      lower_case(s.text("activation_checkpoint.mode", "--recompute").value_or(is_given ? "none" : "selective"));
  const std::string option =
      lower_case(s.text("activation_checkpoint.selective_ac_option", "--recompute").value_or("op"));
  if (mode == "selective" && option != "op" && option != "2")
    s.mark("activation_checkpoint.selective_ac_option", Use::not_simulated, "predicted as its option \"op\"");
  const std::string value = mode == "full" ? "full" : mode == "none" ? "none" : "selective";
  if (s.has("activation_checkpoint.mode"))
    f.give_from("--recompute", value, s, "activation_checkpoint.mode");
  else
    f.give_default("--recompute", value, "torchtitan's default");
}

void read_titan_precision(LaunchSettings& s, Facts& f) {
  const std::string type = s.text("training.mixed_precision_param", "--precision").value_or("bfloat16");
  const bool is_pure = s.text("training.dtype", "--precision").value_or("float32") == "bfloat16";
  if (f.has("--precision")) return;
  for (const char* key : {"model.converters", "model.converters.0"}) {
    const std::string converters = lower_case(s.text(key, "--precision").value_or(""));
    if (converters.find("nvfp4") != std::string::npos) return f.give_from("--precision", "fp4", s, key);
    if (converters.find("float8") != std::string::npos || converters.find("mxfp8") != std::string::npos ||
        converters.find("mx") != std::string::npos)
      return f.give_from("--precision", "fp8", s, key);
  }
  if (s.is_on("float8.enable_float8_linear", "--precision"))
    return f.give_from("--precision", "fp8", s, "float8.enable_float8_linear");
  const char* const precision = type == "float32" ? "fp32" : is_pure ? "bf16-true" : "bf16";
  for (const char* key : {"training.mixed_precision_param", "training.dtype"})
    if (s.has(key)) return f.give_from("--precision", precision, s, key);
  f.give_default("--precision", precision, "torchtitan's default");
}

// Maps torchtitan's own flavor names to models of the catalogue.
std::string model_of_flavor(const std::string& name, const std::string& flavor) {
  if (name == "llama4" && flavor == "17bx16e") return "llama4_scout";
  if (name == "llama4" && flavor == "17bx128e") return "llama4_maverick";
  // deepseek_v3's small flavors have the shapes of DeepSeek-V2 (torchtitan/models/deepseek_v3/__init__.py), and llama3's
  // those of Llama 3.2.
  if (name == "deepseek_v3" && flavor == "16B") return "deepseek_v2_lite";
  if (name == "deepseek_v3" && flavor == "236B") return "deepseek_v2";
  if (name == "llama3" && flavor == "1B") return "llama3_2_1b";
  if (name == "llama3" && flavor == "3B") return "llama3_2_3b";
  return "";
}

void read_titan_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  for (const std::string section : {"model.", "model_spec."}) {
    const auto name = s.text(section + "name", "--model"), flavor = s.text(section + "flavor", "--model");
    if (!name || !flavor || f.has("--model")) continue;
    const ModelEntry* const alias = model_named(model_of_flavor(*name, *flavor), catalogue);
    if (alias != nullptr)
      f.give_from("--model", sized_name(alias->id, f.sequence), s, section + "flavor");
    else if (const ModelEntry* entry = model_named(*name + " " + *flavor, catalogue))
      f.give_from("--model", sized_name(entry->id, f.sequence), s, section + "flavor");
    else if (*name == "flux" && *flavor == "flux-dev")
      f.give_from("--model", "flux1_dev", s, section + "flavor");
    else
      s.require_option(s.at(section + "flavor"), "--model",
                       in_quotes(*name + " " + *flavor) +
                           " is no model of the catalogue; --model also takes the path of its config.json");
  }
}

// "--module llama3 --config llama3_8b": a configuration in Python, which is not read. Only its name and what the command
// overrides are known.
void read_python_configuration(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  if (!s.has("config") || has_any_key(s, {"model.flavor", "model_spec.flavor"})) return;
  give_named_model(s, f, "config", catalogue);
  s.mark("module", Use::no_effect, "where the configuration in Python lies, which is not read");
  f.options_of_recipe = {"--tensor", "--pipeline", "--context", "--sharding", "--recompute", "--precision"};
  if (!s.has("training.mixed_precision_param") && !s.has("training.dtype"))
    s.require_option(s.at("config"), "--precision", "the configuration in Python sets it");
  if (f.sequence == 0) s.require_option(s.at("config"), "--seq-length", "the configuration in Python sets it");
  f.notes.push_back("the configuration in Python is not read; the search chooses ranks, sharding and recomputation");
}

}  // namespace

bool is_torchtitan(const LaunchSettings& s) {
  if (s.has("module") && s.has("config")) return true;
  const bool has_training = s.has("training.seq_len") || s.has("training.max_context_length") ||
                            s.has("training.local_batch_size") || s.has("training.batch_size");
  return has_training &&
         (s.has("model.flavor") || s.has("model_spec.flavor") || s.has("parallelism.tensor_parallel_degree") ||
          s.has("training.tensor_parallel_degree") || s.has("activation_checkpoint.mode"));
}

void read_torchtitan(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "torchtitan", "its configuration");
  f.sequence = s.whole("training.seq_len", "--model").value_or(0);
  if (f.sequence == 0) f.sequence = s.whole("training.max_context_length", "--model").value_or(0);
  read_python_configuration(s, f, catalogue);
  if (f.sequence == 0 && f.options_of_recipe.empty()) f.sequence = 2048;  // torchtitan's default
  f.iterations = s.whole("training.steps", "--tokens");
  read_titan_ranks(s, f);
  read_titan_sharding(s, f);
  read_titan_model(s, f, catalogue);
  read_titan_schedule(s, f, catalogue);
  read_titan_batch(s, f);
  read_titan_recomputation(s, f);
  read_titan_precision(s, f);
  const std::string optimizer = lower_case(s.text("optimizer.name", "--optimizer").value_or("adamw"));
  if (optimizer.find("adam") == 0)
    f.give_default("--optimizer", "adam", "optimizer.name");
  else
    s.mark("optimizer.name", Use::not_simulated, "the software's default is predicted");
  if (s.is_on("training.enable_cpu_offload", "--offload-optimizer"))
    f.give_from("--offload-optimizer", "", s, "training.enable_cpu_offload");
}

const std::vector<UnreadKeys>& torchtitan_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "learning rate, data, logs and checkpoints, which the rate leaves out",
       "job.* profiling.* profiler.* metrics.* lr_scheduler.* optimizer.lr optimizer.eps optimizer.beta* "
       "optimizer.weight_decay optimizer.param_groups* optimizer.early_step* checkpoint.* validation.* validator.* "
       "dataloader.* training.dataset* "
       "training.max_norm training.seed training.gc_* training.debug* training.deterministic training.warmup_steps "
       "tokenizer.* hf_assets_path model.hf_assets_path model.tokenizer_path model.tokenizer* debug.* dump_folder "
       "comm.* "
       "description print_config training.data_parallel_type eval.* fault_tolerance.* argument"},
      {Use::not_simulated, "predicted as torchtitan's defaults, with overlap and compiled kernels",
       "compile.* training.compile model.norm_type model.print_after_conversion model.use_flex_attn model.attn* "
       "training.mixed_precision_reduce optimizer.fused optimizer.foreach optimizer.implementation optimizer.name "
       "parallelism.disable_loss_parallel training.disable_loss_parallel float8.* quantize.* mx.* "
       "memory_estimation.* activation_checkpoint.mode activation_checkpoint.selective_ac_option "
       "activation_checkpoint.per_op_sac_* activation_checkpoint.early_stop activation_checkpoint.memory_budget "
       "activation_checkpoint.visualize_memory_budget_pareto activation_checkpoint.preserve_rng_state "
       "activation_checkpoint.determinism_check activation_checkpoint.debug "
       "parallelism.context_parallel_rotate_method parallelism.context_parallel_load_balancer "
       "parallelism.pipeline_parallel_split_points parallelism.pipeline_parallel_schedule* "
       "parallelism.pipeline_parallel_microbatch_size parallelism.pipeline_parallel_layers_per_stage "
       "parallelism.pipeline_parallel_first_stage_less_layers parallelism.pipeline_parallel_last_stage_less_layers "
       "parallelism.pipeline_parallel_expert_parallel_overlap parallelism.expert_parallel_comm_backend "
       "parallelism.enable_* parallelism.fsdp_reshard_after_forward parallelism.module_fqns_per_model_part "
       "parallelism.spmd_backend parallelism.full_dtensor "
       "experimental.* override.* loss.* "
       "training.disable_cuda_graphs "
       "model.converters* model.name model.flavor model_spec.* custom_model.*"},
      {Use::not_simulated, "the shape of the model is that of its flavor", "model.*"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
