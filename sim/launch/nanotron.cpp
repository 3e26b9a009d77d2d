// Reads nanotron's YAML: sections model.model_config (a HuggingFace configuration), parallelism and tokens.
#include "engine/base/text.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/own_model.hpp"

namespace lockstep::sim::launch {
namespace {

void read_nanotron_ranks(LaunchSettings& s, Facts& f) {
  std::int64_t gpus = 1;
  for (const auto& [key, option] : {std::pair<const char*, const char*>{"parallelism.tp", "--tensor"},
                                    {"parallelism.pp", "--pipeline"},
                                    {"parallelism.context_parallel_size", "--context"}}) {
    const std::int64_t ranks = s.whole(key, option).value_or(1);
    gpus *= ranks >= 1 && ranks < 100'000 ? ranks : 1;
    s.has(key) ? f.give_from(option, std::to_string(ranks), s, key) : f.give_default(option, "1", "nanotron's default");
  }
  if (s.whole("parallelism.expert_parallel_size", "--expert").value_or(1) > 1)
    f.give_whole("--expert", s, "parallelism.expert_parallel_size");
  const auto replicas = s.whole("parallelism.dp", "--gpus");
  if (replicas && *replicas >= 1 && *replicas < 1'000'000)
    f.give_gpus(*replicas * gpus, s.take("parallelism.dp")->place, "parallelism");
  if (f.number_of("--tensor", 1) > 1) {
    const std::string mode = lower_case(s.text("parallelism.tp_mode", "--sequence-parallel").value_or("all_reduce"));
    f.give_from(mode == "reduce_scatter" ? "--sequence-parallel" : "--no-sequence-parallel", "", s,
                "parallelism.tp_mode");
  }
  const std::string schedule = lower_case(s.text("parallelism.pp_engine", "--schedule").value_or("1f1b"));
  if (f.number_of("--pipeline", 1) > 1) {
    f.give_from("--schedule", schedule == "afab" ? "gpipe" : "1f1b", s, "parallelism.pp_engine");
    f.give_default("--virtual-stages", "1", "nanotron's default");
  }
  const std::int64_t stage = s.whole("optimizer.zero_stage", "--sharding").value_or(0);
  f.give_from("--sharding", stage == 0 ? "none" : "zero" + std::to_string(stage), s, "optimizer.zero_stage");
  const bool sums_in_single = s.boolean("optimizer.accumulate_grad_in_fp32", "--precision").value_or(true);
  if (stage > 0 && sums_in_single) f.give_from("--no-overlap-gradients", "", s, "optimizer.zero_stage");
}

void read_nanotron_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const std::string prefix = "model.model_config.";
  Json config{{"model_type", s.is_on(prefix + "is_qwen2_config") ? "qwen2" : "llama"}};
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
                          "intermediate_size", "vocab_size", "max_position_embeddings"})
    if (const auto value = s.whole(prefix + key, "--model")) config[key] = *value;
  config["tie_word_embeddings"] = s.is_on(prefix + "tie_word_embeddings", "--model");
  const std::string activation = s.text(prefix + "hidden_act", "--model").value_or("silu");
  config["hidden_act"] = activation;
  const LaunchSetting* const setting = s.take(prefix + "num_hidden_layers");
  if (setting == nullptr) return;
  for (const char* other : {"is_mamba_config", "moe_config.num_experts", "moe_num_experts"})
    if (s.has(prefix + other)) return s.require_option(*setting, "--model", "only dense transformers are read");
  try {
    const ModelOption option = model_of_config(config, f.sequence, catalogue, "its shape");
    f.give("--model", option.text, setting->place, "model.model_config");
  } catch (const InputError& error) {
    s.require_option(*setting, "--model", error.what());
  }
}

void read_nanotron(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.sequence = s.whole("tokens.sequence_length", "--model").value_or(0);
  f.micro_batch = s.whole("tokens.micro_batch_size", "--micro-batch");
  f.accumulation = s.whole("tokens.batch_accumulation_per_replica", "--accumulation").value_or(1);
  f.iterations = s.whole("tokens.train_steps", "--tokens");
  read_nanotron_ranks(s, f);
  const std::string type = s.text("model.dtype", "--precision").value_or("bfloat16");
  const bool keeps_single = s.boolean("optimizer.accumulate_grad_in_fp32", "--precision").value_or(true);
  f.give_from("--precision", type == "float32" ? "fp32" : keeps_single ? "bf16" : "bf16-true", s, "model.dtype");
  f.give_default("--optimizer", "adam", "nanotron's default");
  f.give_default("--software", "nanotron", "the file's format");
  const bool recomputes = s.is_on("parallelism.recompute_layer", "--recompute");
  f.give_default("--recompute", recomputes ? "full" : "none", "parallelism.recompute_layer");
  read_nanotron_model(s, f, catalogue);
}

const std::vector<UnreadKeys>& nanotron_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, logs, checkpoints and numbers on which no kernel's time depends",
       "checkpoints.* data_stages* data.* general.* lighteval* logging.* metrics_logging* profiler* s3_upload* "
       "tokenizer.* optimizer.clip_grad optimizer.learning_rate_scheduler.* optimizer.optimizer_factory.* "
       "optimizer.weight_decay* optimizer.adam_* tokens.limit_* tokens.val_check_interval model.init_method.* doremi.* "
       "model.model_config.*_token_id model.model_config.initializer_range model.model_config.rms_norm_eps "
       "model.model_config.rope_* model.model_config.pretraining_tp model.model_config.use_cache "
       "model.model_config.z_loss* model.make_vocab_size_divisible_by"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "model.ddp_bucket_cap_mb optimizer.torch_adam_is_fused optimizer.accumulate_grad_in_fp32 "
       "parallelism.tp_mode parallelism.tp_linear_async_communication parallelism.tp_recompute_allgather "
       "parallelism.pp_engine model.model_config.is_*_config model.model_config.attention_* "
       "model.model_config._attn_implementation model.model_config._fused_* model.model_config._use_* "
       "model.model_config.flex_attention_mask model.model_config.sliding_window_size model.model_config.*_pdrop "
       "model.model_config.no_rope_layer model.model_config.log_attn_probs model.model_config.ring_attn_* "
       "model.model_config.moe_config* model.model_config.scale_* model.model_config.multi_query "
       "model.model_config.grouped_query model.model_config.global_attn_layers model.model_config.num_kv_heads "
       "model.model_config.use_*_embeddings model.model_config.activation_function "
       "model.model_config.layer_norm_epsilon model.model_config.torch_dtype"},
  };
  return all;
}

}  // namespace

LaunchReader nanotron_reader() {
  return {LaunchFormat::nanotron, "nanotron's configuration",
          [](const LaunchSettings& s) { return s.has("tokens.micro_batch_size") && s.has("parallelism.tp"); },
          read_nanotron, nanotron_unread()};
}

}  // namespace lockstep::sim::launch
