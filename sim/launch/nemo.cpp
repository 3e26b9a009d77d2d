// NeMo 1 and 2, and Megatron-Bridge: Megatron-Core's keys in sections of their own.
#include "sim/launch/nemo.hpp"

#include <algorithm>
#include <map>

#include "engine/base/text.hpp"
#include "sim/job/hub_name.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

void give_count(LaunchSettings& s, Facts& f, const std::string& key,
                void (Facts::*give)(std::int64_t, const Place&, const std::string&)) {
  const auto value = s.whole(key, "--gpus");
  if (!value || *value < 1) return;
  const LaunchSetting* setting = s.take(key);
  (f.*give)(*value, setting->place, setting->written);
}

// The Megatron-LM flag of a precision that Lightning, NeMo or Megatron-Bridge names: "bf16-mixed", 32, "16",
// "transformer-engine" (bf16 weights, fp8 arithmetic). "fp32": no flag. Empty: the name is not known.
std::string flag_of_precision(const std::string& name) {
  const auto contains = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (contains("fp8") || contains("transformer-engine") || contains("transformerengine") || contains("mxfp8"))
    return "fp8";
  if (contains("bf16") || contains("bfloat16")) return "bf16";
  if (contains("fp16") || contains("float16") || name.compare(0, 2, "16") == 0) return "fp16";
  return contains("fp32") || name.compare(0, 2, "32") == 0 ? "fp32" : "";
}

// Adds the flags of a precision; asks for --precision if its name is not known.
void add_precision(LaunchSettings& s, const LaunchSetting& given) {
  const std::string name = lower_case(plain_text(given.value)), flag = flag_of_precision(name);
  s.mark(given.key, Use::read, "");
  if (flag.empty()) return s.require_option(given, "--precision", in_quotes(name) + " is no known precision");
  LaunchSetting setting = given;
  const auto add = [&](const std::string& key, Json value) {
    setting.key = key;
    setting.value = std::move(value);
    s.add(setting);
  };
  if (flag != "fp32") add(flag == "fp16" ? "fp16" : "bf16", true);
  if (flag == "fp8") add("fp8", "hybrid");
}

void give_lightning_precision(LaunchSettings& s, const std::string& key) {
  if (s.text(key, "--precision")) add_precision(s, LaunchSetting(s.at(key)));
}

// Renames NeMo's keys to Megatron-LM's.
void rename_nemo_keys(LaunchSettings& s) {
  s.rename("activations_checkpoint_granularity", "recompute_granularity");
  s.rename("activations_checkpoint_method", "recompute_method");
  s.rename("activations_checkpoint_num_layers", "recompute_num_layers");
  s.rename("bias", "add_bias_linear");
  s.rename("qkv_bias", "add_qkv_bias");
  s.rename("rotary_percentage", "rotary_percent");
  s.rename("ub_tp_comm_overlap", "tp_comm_overlap");
  s.rename("moe_grouped_gemm_nemo", "moe_grouped_gemm");
}

void read_nemo_names(LaunchSettings& s) {
  const std::string norm = lower_case(s.text("normalization", "--model").value_or(""));
  if (!norm.empty()) s.replace("normalization", norm == "rmsnorm" ? "RMSNorm" : "LayerNorm");
  const std::string activation = lower_case(s.text("activation", "--model").value_or(""));
  if (activation.find("swiglu") != std::string::npos) s.replace_key("activation", "swiglu", true);
  if (activation.find("geglu") != std::string::npos) s.replace_key("activation", "quick_geglu", true);
  if (activation.find("squared") != std::string::npos) s.replace_key("activation", "squared_relu", true);
}

// Adapters of PEFT train at most a few matrices. Their keys: NeMo's "peft.peft_scheme", the class in "peft._target_",
// and the method itself, as in Primus. Both NeMo and Megatron-Bridge have rank 32 by default (peft/lora.py).
void read_peft(LaunchSettings& s, Facts& f) {
  for (const char* key : {"peft.peft_scheme", "peft._target_", "peft.name", "peft_scheme", "peft"}) {
    const std::string scheme = lower_case(s.text(key, "--lora-rank").value_or(""));
    if (scheme.empty() || scheme == "false") continue;
    const std::string method = last_part_of(scheme, '.');
    if (method.find("lora") == std::string::npos && method.find("dora") == std::string::npos)
      fail_at(s.at(key), "cannot be predicted", "give lora, or leave it out for full fine-tuning");
    for (const char* rank : {"peft.dim", "peft.lora_tuning.adapter_dim", "peft.rank", "peft_dim", "lora_rank"})
      if (!f.has("--lora-rank") && s.has(rank)) f.give_whole("--lora-rank", s, rank);
    constexpr const char* kDefault = "the default of NeMo's and Megatron-Bridge's LoRA";
    if (!f.has("--lora-rank")) f.give_default("--lora-rank", "32", kDefault);
    return read_lora_target(s, f, "all", kDefault);
  }
}

// "llama3_8b_pretrain_config" -> "llama3_8b".
std::string model_of_recipe(std::string name) {
  for (const char* ending : {"_config", "_pretrain", "_finetune", "_sft", "_peft", "_lora", "_full", "_packed"}) {
    const std::string end = ending;
    if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
      name.resize(name.size() - end.size());
  }
  return name;
}

// Lists options that the recipe sets if the command does not. Recipes are not read, so the search chooses their values.
void leave_to_recipe(Facts& f) {
  f.options_of_recipe = {
      "--precision", "--tensor",          "--pipeline",          "--context",   "--virtual-stages",      "--expert",
      "--sharding",  "--expert-dispatch", "--no-expert-overlap", "--recompute", "--no-sequence-parallel"};
}

// Recipes pre-train and fine-tune with the distributed optimizer (megatron/bridge/recipes/common.py, and NeMo's
// llm/recipes/optim/adam.py). Those with adapters differ.
void finish_recipe(Facts& f) {
  f.options_of_recipe.clear();
  if (!f.has("--lora-rank"))
    f.give_default("--sharding", "zero1", "Megatron-Bridge's recipes use the distributed optimizer");
  std::string open;
  for (const char* option : {"--context", "--virtual-stages", "--sequence-parallel", "--sharding", "--recompute"})
    if (!f.has(option)) open += (open.empty() ? "" : ", ") + std::string(option);
  if (!open.empty()) f.notes.push_back("the recipe is not read; the search chooses what it sets: " + open);
}

// Requires the values that a recipe sets, unless the command overrides them.
void require_values_of_recipe(LaunchSettings& s, Facts& f, const std::string& recipe, const Catalogue& catalogue) {
  LaunchSetting setting;
  for (const LaunchSetting& one : s.all())
    if (one.key == recipe) setting = one;
  const std::string name = model_of_recipe(s.text(recipe).value_or(""));
  if (const ModelEntry* entry = model_named(name, catalogue); entry != nullptr && f.sequence > 0)
    f.give_from("--model", sized_name(entry->id, f.sequence), s, recipe);
  s.mark(recipe, Use::not_simulated, "the values of the recipe are not known");
  const auto require = [&](const std::string& option, const std::vector<std::string>& keys) {
    if (!has_any_key(s, keys) && !f.has(option)) s.require_option(setting, option, "the recipe sets it");
  };
  require("--tensor", {"tensor_model_parallel_size"});
  require("--pipeline", {"pipeline_model_parallel_size"});
  require("--precision", {"bf16", "fp16", "fp8"});
  require("--micro-batch", {"micro_batch_size"});
  require("--global-batch", {"global_batch_size"});
}

void read_nemo_1(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  f.give_default("--software", "NeMo", "its configuration");
  give_count(s, f, "trainer.num_nodes", &Facts::give_nodes);
  give_count(s, f, "trainer.devices", &Facts::give_gpus_per_node);
  give_lightning_precision(s, "trainer.precision");
  s.rename("trainer.max_steps", "train_iters");
  const std::string optimizer = lower_case(s.text("model.optim.name", "--sharding").value_or(""));
  if (optimizer.find("distributed") == 0 || optimizer == "mcore_distributed_optim")
    s.replace_key("model.optim.name", "use_distributed_optimizer", true);
  s.strip_prefix("model.");
  // Fine-tuning: the length of the training data's samples counts.
  for (const char* key : {"data.train_ds.max_seq_length", "data.data.train_ds.max_seq_length"})
    if (s.has(key)) {
      s.rename("encoder_seq_length", "model's encoder_seq_length");
      s.mark("model's encoder_seq_length", Use::overridden, "the training data's max_seq_length counts");
      s.rename(key, "encoder_seq_length");
    }
  read_peft(s, f);
  rename_nemo_keys(s);
  read_nemo_names(s);
  if (s.is_on("fsdp", "--sharding")) {
    const std::string strategy = lower_case(s.text("fsdp_sharding_strategy", "--sharding").value_or("full"));
    f.give_from("--sharding", strategy == "grad" ? "zero2" : "zero3", s, "fsdp");
    f.shards_in_nodes = strategy == "hybrid";
  }
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  give_megatron_defaults(f);
}

// "nemo.collections.llm.gpt.model.llama.Llama31Config8B" -> "Llama3.1 8B".
std::string model_of_class(const std::string& target) {
  std::string name = last_part_of(target, '.');
  const std::size_t config = name.find("Config");
  if (config == std::string::npos || config < 3) return name;
  std::string family = name.substr(0, config);
  const bool has_minor = is_digit(family[family.size() - 1]) && is_digit(family[family.size() - 2]);
  if (has_minor) family.insert(family.size() - 1, ".");
  if (family == "GPT") family = "gpt3";
  return family + " " + name.substr(config + 6);
}

// Gives the model of a class such as Llama3Config8B, whose further keys would change its shape.
void give_model_of_class(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  constexpr const char* kClass = "model.config._target_";
  const auto target = s.text(kClass, "--model");
  if (!target || f.has("--model")) return;
  const std::string name = model_of_class(*target);
  for (const char* key : {"num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups",
                          "kv_channels", "num_moe_experts", "vocab_size"})
    if (s.has(key) && name.find("gpt3 ") != 0)
      return s.require_option(s.at(key), "--model", "it changes the shape of " + name);
  if (const ModelEntry* entry = model_named(name, catalogue))
    return f.give_from("--model", sized_name(entry->id, f.sequence), s, kClass);
  if (!s.has("num_layers"))
    s.require_option(s.at(kClass), "--model",
                     in_quotes(name) + " is no model of the catalogue; --model also takes the path of its config.json");
}

// The precision plugin is one object or one of a list: "trainer.plugins.precision", "trainer.plugins.0.precision".
void give_precision_of_plugins(LaunchSettings& s) {
  const std::string section = "trainer.plugins";
  std::vector<LaunchSetting> found;
  for (const LaunchSetting& setting : s.all()) {
    const std::string text = lower_case(plain_text(setting.value)), last = last_part_of(text, '.');
    const bool is_plugin = setting.key.compare(0, section.size(), section) == 0;
    const std::string key = last_part_of(setting.key, '.');
    const bool names_precision = key == "precision" || setting.key == section;
    if (names_precision && (is_plugin || setting.key == "trainer.precision") && !text.empty()) found.push_back(setting);
    const bool is_class = is_plugin && key == "_target_" && last.find("autocast") == std::string::npos;
    if (is_class && !flag_of_precision(last).empty()) found.push_back(setting);
    if (is_plugin && key == "fp8" && !text.empty() && text != "false" && text != "none" && text != "null")
      found.push_back(setting);
  }
  for (LaunchSetting& setting : found) {
    if (last_part_of(setting.key, '.') == "fp8") setting.value = "fp8";
    if (last_part_of(setting.key, '.') == "_target_")
      setting.value = flag_of_precision(lower_case(plain_text(setting.value)));
    add_precision(s, setting);
  }
}

// Returns the key that NeMo's configurations have for an argument of a recipe function.
std::string key_of_argument(const std::string& name) {
  static const std::map<std::string, std::string> keys{
      {"tensor_parallelism", "tensor_model_parallel_size"},
      {"pipeline_parallelism", "pipeline_model_parallel_size"},
      {"virtual_pipeline_parallelism", "virtual_pipeline_model_parallel_size"},
      {"context_parallelism", "context_parallel_size"},
      {"expert_parallelism", "expert_model_parallel_size"},
      {"sequence_parallelism", "sequence_parallel"},
      {"micro_batch_size", "micro_batch_size"},
      {"global_batch_size", "global_batch_size"},
      {"max_steps", "train_iters"},
      {"seq_length", "seq_length"},
      {"peft_scheme", "peft_scheme"},
      {"peft", "peft"},
      {"num_nodes", "trainer.num_nodes"},
      {"num_gpus_per_node", "trainer.devices"}};
  const auto found = keys.find(name);
  return found == keys.end() ? "factory." + name : found->second;
}

// Divides "llama3_8b(num_nodes=2, peft_scheme='lora')", the call of a recipe function, into its name and a setting for
// each argument.
void read_factory(LaunchSettings& s) {
  const LaunchSetting given = s.at("factory");
  const std::string text = plain_text(given.value), name = text.substr(0, text.find('('));
  std::string unexpanded_argument;  // a shell variable, which may stand for any arguments
  std::string inside = text.size() > name.size() ? text.substr(name.size() + 1) : "";
  inside = inside.substr(0, inside.rfind(')'));
  for (std::size_t begin = 0; begin < inside.size();) {
    const std::size_t end = std::min(inside.find(',', begin), inside.size());
    std::string part;
    for (const char c : inside.substr(begin, end - begin))
      if (std::string(" \t\"'").find(c) == std::string::npos) part += c;
    begin = end + 1;
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    LaunchSetting setting = given;
    setting.key = key_of_argument(part.substr(0, equals));
    setting.written = "--factory " + part.substr(0, equals);
    setting.value = equals < part.size() ? Json(part.substr(equals + 1)) : Json();
    if (lower_case(plain_text(setting.value)) == "none") setting.value = Json();
    const bool is_open = part.find_first_of("$`") != std::string::npos;
    setting.unknown = is_open ? part.substr(equals < part.size() ? equals + 1 : 0) : "";
    if (is_open && equals == part.size()) unexpanded_argument = part;
    setting.use = Use::unread;
    s.add(setting);
  }
  if (s.has("factory.precision")) give_lightning_precision(s, "factory.precision");
  s.replace("factory", name);
  s.set_unknown("factory", name.find('$') == std::string::npos ? unexpanded_argument : name);
}

void read_nemo_2(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  f.give_default("--software", "NeMo", "its configuration");
  const bool is_factory = s.has("factory");
  if (is_factory) read_factory(s);
  give_count(s, f, "trainer.num_nodes", &Facts::give_nodes);
  give_count(s, f, "trainer.devices", &Facts::give_gpus_per_node);
  give_precision_of_plugins(s);
  s.rename("trainer.max_steps", "train_iters");
  f.sequence = s.whole("data.seq_length", "--model").value_or(0);
  if (f.sequence == 0) f.sequence = s.whole("model.config.seq_length", "--model").value_or(0);
  s.rename("model.config._target_", "class of the model");
  for (const char* section : {"trainer.strategy.ddp.", "trainer.strategy.", "optim.config.", "model.config.", "data."})
    s.strip_prefix(section);
  s.rename("class of the model", "model.config._target_");
  rename_nemo_keys(s);
  if (is_factory) f.sequence = f.sequence > 0 ? f.sequence : s.whole("seq_length", "--model").value_or(0);
  if (is_factory) require_values_of_recipe(s, f, "factory", catalogue);
  read_peft(s, f);
  if (is_factory && s.has_argument("finetune") && !has_any_key(s, {"peft_scheme", "peft"}) && !f.has("--lora-rank"))
    s.require_option(s.at("factory"), "--lora-rank", "the recipe trains adapters unless peft_scheme says otherwise");
  if (is_factory) leave_to_recipe(f);
  give_model_of_class(s, f, catalogue);
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  is_factory ? finish_recipe(f) : give_megatron_defaults(f);
}

void rename_mixed_precision(LaunchSettings& s) {
  s.rename("precision_config", "mixed_precision");  // Primus' name
  const std::string mixed = lower_case(s.text("mixed_precision", "--precision").value_or(""));
  if (!mixed.empty()) add_precision(s, LaunchSetting(s.at("mixed_precision")));
  s.strip_prefix("mixed_precision.");
}

}  // namespace

void give_megatron_defaults(Facts& f) {
  if (!f.has("--sharding")) f.give_default("--sharding", "none", "no sharding is given");
  if (!f.has("--recompute")) f.give_default("--recompute", "none", "no recomputation is given");
}

bool is_nemo(const LaunchSettings& s) {
  if (s.has("model.micro_batch_size") && has_any_key(s, {"trainer.devices", "trainer.num_nodes"})) return true;
  if (has_any_key(s, {"data.micro_batch_size", "data.global_batch_size"}) &&
      has_any_key(s, {"trainer.devices", "trainer.num_nodes", "trainer.strategy.tensor_model_parallel_size"}))
    return true;
  return s.has_argument("llm") && s.has("factory");  // "nemo llm pretrain --factory llama3_8b"
}

void read_nemo(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  return s.has("model.micro_batch_size") ? read_nemo_1(s, f, catalogue) : read_nemo_2(s, f, catalogue);
}

void read_bridge(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "Megatron-Bridge", "its configuration");
  rename_mixed_precision(s);
  // Only a whole ConfigContainer lists all values. Others are overrides of a recipe.
  const bool is_whole =
      has_any_key(s, {"_target_", "model._target_", "ddp.use_distributed_optimizer", "model.num_layers"});
  for (const char* section : {"tokenizer.", "dataset.", "optimizer.", "ddp.", "dist.", "train.", "model."})
    s.strip_prefix(section);
  s.rename("sequence_length", "seq_length");
  rename_nemo_keys(s);
  f.sequence = s.whole("seq_length", "--model").value_or(0);
  read_peft(s, f);
  if (!is_whole) leave_to_recipe(f);
  const std::string key = s.has("micro_batch_size") ? "micro_batch_size" : "global_batch_size";
  if (s.has("recipe"))
    require_values_of_recipe(s, f, "recipe", catalogue);
  else if (!has_any_key(s, {"bf16", "fp16", "fp8"}) && s.has(key))
    s.require_option(s.at(key), "--precision", "no key gives it");
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  is_whole ? give_megatron_defaults(f) : finish_recipe(f);
}

}  // namespace lockstep::sim::launch
