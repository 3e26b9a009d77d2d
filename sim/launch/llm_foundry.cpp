// Reads LLM Foundry's YAML for MosaicML's Composer: MPT by its sizes, or a model of the hub.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/own_model.hpp"

namespace lockstep::sim::launch {
namespace {

// MPT has no biases, and its output shares the embedding table.
void read_mpt(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const auto hidden = s.whole("model.d_model", "--model"), heads = s.whole("model.n_heads", "--model");
  const auto layers = s.whole("model.n_layers", "--model"), vocabulary = s.whole("model.vocab_size", "--model");
  if (!hidden || !heads || !layers || !vocabulary) return;
  const LaunchSetting& setting = s.at("model.d_model");
  if (s.has("model.ffn_config.moe_num_experts"))
    return s.require_option(setting, "--model", "experts of LLM Foundry are not read");
  const double share = s.number("model.expansion_ratio", "--model").value_or(4);
  const bool has_alibi = s.is_on("model.attn_config.alibi", "--model");
  const Json config{{"model_type", "megatron"},
                    {"num_layers", *layers},
                    {"hidden_size", *hidden},
                    {"num_attention_heads", *heads},
                    {"ffn_hidden_size", static_cast<std::int64_t>(share * double(*hidden))},
                    {"max_position_embeddings", std::max<std::int64_t>(1, f.sequence)},
                    {"vocab_size", *vocabulary},
                    {"swiglu", false},
                    {"add_bias_linear", false},
                    {"position_embedding_type", has_alibi ? "none" : "learned_absolute"}};
  try {
    f.give("--model", model_of_config(config, f.sequence, catalogue, "its shape").text, setting.place, "model");
  } catch (const InputError& error) {
    s.require_option(setting, "--model", error.what());
  }
}

// Units: "124000ba" is batches, "300000000tok" tokens, "2ep" epochs (number of tokens unknown).
void read_duration(LaunchSettings& s, Facts& f) {
  const std::string text = s.text("max_duration", "--tokens").value_or("");
  const std::size_t unit = text.find_first_not_of("0123456789");
  if (unit == std::string::npos || unit == 0 || unit > 15) return;
  const std::int64_t count = std::stoll(text.substr(0, unit));
  if (text.substr(unit) == "ba") f.iterations = count;
  if (text.substr(unit) == "tok") f.tokens = double(count);
  if (text.substr(unit) == "ep")
    s.mark("max_duration", Use::not_simulated, "the length of the training in tokens is not known; give --tokens");
}

void read_llm_foundry(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "LLM Foundry", "its configuration");
  f.sequence = s.whole("max_seq_len", "--model").value_or(0);
  f.global_batch = s.whole("global_train_batch_size", "--global-batch");
  if (s.text("device_train_microbatch_size", "--micro-batch").value_or("auto") == "auto")
    s.mark("device_train_microbatch_size", Use::not_simulated, "Composer finds it on the machine");
  else
    f.micro_batch = s.whole("device_train_microbatch_size", "--micro-batch");
  read_duration(s, f);
  const std::string precision = lower_case(s.text("precision", "--precision").value_or("amp_bf16"));
  const bool is_fp8 = precision.find("fp8") != std::string::npos, is_fp16 = precision.find("fp16") != std::string::npos;
  const std::string value = is_fp8 ? "fp8" : is_fp16 ? "fp16" : precision == "fp32" ? "fp32" : "bf16";
  f.give_from("--precision", value, s, "precision");
  const std::string strategy = lower_case(s.text("fsdp_config.sharding_strategy", "--sharding").value_or(""));
  if (strategy.empty())
    f.give_default("--sharding", "none", "no sharding is given");
  else
    f.give_from("--sharding",
                strategy == "no_shard" ? "none"
                : strategy.find("grad_op") != std::string::npos || strategy.find("zero2") != std::string::npos
                    ? "zero2"
                    : "zero3",
                s, "fsdp_config.sharding_strategy");
  f.shards_in_nodes = strategy.find("hybrid") != std::string::npos;
  f.give_default("--recompute", s.is_on("fsdp_config.activation_checkpointing", "--recompute") ? "full" : "none",
                 "fsdp_config.activation_checkpointing");
  const std::string optimizer = lower_case(s.text("optimizer.name", "--optimizer").value_or("adamw"));
  if (optimizer.find("adam") != std::string::npos)
    f.give_default("--optimizer", "adam", "optimizer.name");
  else
    s.mark("optimizer.name", Use::not_simulated, "the software's default is predicted");
  if (s.has("model.peft_config.r")) f.give_whole("--lora-rank", s, "model.peft_config.r");
  read_lora_target(s, f);
  give_named_model(s, f, "model.pretrained_model_name_or_path", catalogue);
  read_mpt(s, f, catalogue);
}

const std::vector<UnreadKeys>& llm_foundry_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, logs, checkpoints and numbers on which no kernel's time depends",
       "variables.* run_name tokenizer.* train_loader.* eval_loader.* scheduler.* optimizer.* algorithms.* eval_* seed "
       "global_seed device_eval_batch_size progress_bar log_* console_log_* callbacks.* loggers* save_* load_* "
       "autoresume icl_* dist_timeout model.pretrained model.use_auth_token model.name model.init_device "
       "model.max_seq_len python_log_level dataset.* model.peft_config.lora_* expandable_segments "
       "model.config_overrides.max_* model.config_overrides.n_positions fsdp_config.state_dict_type "
       "fsdp_config.verbose"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "model.* fsdp_config.* compile_config* tp_config*"},
  };
  return all;
}

}  // namespace

LaunchReader llm_foundry_reader() {
  return {LaunchFormat::llm_foundry, "LLM Foundry's configuration",
          [](const LaunchSettings& s) { return s.has("global_train_batch_size") && s.has("model.name"); },
          read_llm_foundry, llm_foundry_unread()};
}

}  // namespace lockstep::sim::launch
