#include "sim/launch/megatron.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/megatron_model.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

struct Direct {
  const char* key;
  const char* option;
};

// Numbers that `simulate job` has as options.
constexpr Direct kDirectNumbers[] = {
    {"tensor_model_parallel_size", "--tensor"},         {"model_parallel_size", "--tensor"},
    {"pipeline_model_parallel_size", "--pipeline"},     {"context_parallel_size", "--context"},
    {"expert_model_parallel_size", "--expert"},         {"moe_expert_parallel_size", "--expert"},
    {"expert_tensor_parallel_size", "--expert-tensor"}, {"expert_tensor_model_parallel_size", "--expert-tensor"},
};

// Gives Megatron-LM's behaviour for absent arguments.
void give_defaults(LaunchSettings& s, Facts& f, MegatronKeys kind) {
  for (const char* option : {"--tensor", "--pipeline", "--context"})
    if (!f.has(option)) f.give_default(option, "1", "Megatron-LM's default");
  if (f.number_of("--pipeline", 1) > 1 && !f.has("--virtual-stages"))
    f.give_default("--virtual-stages", "1", "Megatron-LM's default");
  const bool has_experts = s.has("num_experts") || s.has("num_moe_experts");
  if (has_experts && !f.has("--expert")) f.give_default("--expert", "1", "Megatron-LM's default");
  if (f.number_of("--tensor", 1) > 1 && !f.has("--sequence-parallel"))
    f.give_default("--no-sequence-parallel", "", "Megatron-LM's default");
  if (f.number_of("--expert", 1) > 1 && !f.has("--expert-overlap"))
    f.give_default("--no-expert-overlap", "", "Megatron-LM's default");
  const bool is_fsdp = f.value_of("--sharding") == "zero3" || f.value_of("--sharding") == "zero2";
  const bool is_deepspeed = s.has("deepspeed") || s.has("deepspeed_config");
  if (kind == MegatronKeys::arguments && !f.has("--overlap-gradients") && !is_fsdp && !is_deepspeed)
    f.give_default("--no-overlap-gradients", "", "Megatron-LM's default");
  if (f.number_of("--expert", 1) > 1 && !f.has("--expert-dispatch"))
    f.give_default("--expert-dispatch", "all-to-all", "Megatron-LM's default is an all-gather, which is not simulated");
}

// The flexible dispatcher uses DeepEP by default, or HybridEP. Other dispatchers ignore its settings.
void read_dispatch(LaunchSettings& s, Facts& f) {
  constexpr const char *kKind = "moe_token_dispatcher_type", *kBackend = "moe_flex_dispatcher_backend";
  const std::string kind = s.text(kKind, "--expert-dispatch").value_or("");
  const std::string backend = s.text(kBackend, "--expert-dispatch").value_or("deepep");
  const bool is_deepep = s.is_on("moe_enable_deepep", "--expert-dispatch");
  const bool is_flexible = kind == "flex" || (kind.empty() && is_deepep);
  if (!is_flexible) s.mark(kBackend, Use::no_effect, "of the flexible dispatcher");
  if (kind == "allgather") s.mark(kKind, Use::not_simulated, "an all-to-all is predicted");
  if ((kind.empty() && !is_deepep) || f.number_of("--expert", 1) <= 1) return;
  const LaunchSetting* setting = s.take(kind.empty() ? "moe_enable_deepep" : kKind);
  const std::string flexible = backend == "hybridep" ? "hybridep" : "deepep";
  f.give("--expert-dispatch", is_flexible ? flexible : "all-to-all", setting->place, setting->written);
}

void read_ranks(LaunchSettings& s, Facts& f) {
  for (const Direct& number : kDirectNumbers) f.give_whole(number.option, s, number.key);
  if (const auto size = s.whole("ds_sequence_parallel_size", "--context"); size && *size > 1) {
    const LaunchSetting* setting = s.take("ds_sequence_parallel_size");
    f.give("--context", std::to_string(*size), setting->place, setting->written);
    f.give("--context-exchange", "all-to-all", setting->place, setting->written);
  }
  f.give_flag("--sequence-parallel", s, "sequence_parallel");
  f.give_flag("--expert-overlap", s, "overlap_moe_expert_parallel_comm");
  f.give_flag("--overlap-gradients", s, "overlap_grad_reduce");
  read_dispatch(s, f);
  if (s.is_on("tp_comm_overlap", "--tensor-overlap")) {
    const LaunchSetting* setting = s.take("tp_comm_overlap");
    f.give("--tensor-overlap", "all", setting->place, setting->written);
  }
  if (s.is_on("use_tp_pp_dp_mapping", "--order")) {
    const LaunchSetting* setting = s.take("use_tp_pp_dp_mapping");
    f.give("--order", "tensor,context,expert,pipeline,data", setting->place, setting->written);
  }
}

void read_context_exchange(LaunchSettings& s, Facts& f) {
  const std::vector<std::string> kinds = s.words("cp_comm_type", "--context-exchange");
  if (kinds.empty()) return;
  const LaunchSetting* setting = s.take("cp_comm_type");
  const bool is_one = std::all_of(kinds.begin(), kinds.end(), [&](const std::string& k) { return k == kinds.front(); });
  const std::string kind = is_one ? kinds.front() : "";
  const std::string value = kind == "p2p"         ? "ring"
                            : kind == "a2a"       ? "all-to-all"
                            : kind == "allgather" ? "all-gather"
                                                  : "";
  if (value.empty()) return s.mark("cp_comm_type", Use::not_simulated, "a mix of exchanges; the default is predicted");
  if (f.number_of("--context", 1) > 1) f.give("--context-exchange", value, setting->place, setting->written);
}

// Reads the number of layer chunks per stage.
void read_virtual_stages(LaunchSettings& s, Facts& f) {
  const std::int64_t stages = f.number_of("--pipeline", 1);
  std::optional<std::int64_t> chunks = s.whole("num_virtual_stages_per_pipeline_rank", "--virtual-stages");
  if (!chunks) chunks = s.whole("virtual_pipeline_model_parallel_size", "--virtual-stages");
  std::string key = "num_virtual_stages_per_pipeline_rank";
  if (!s.has(key)) key = "virtual_pipeline_model_parallel_size";
  if (const auto layers = s.whole("num_layers_per_virtual_pipeline_stage", "--virtual-stages"); layers && *layers > 0) {
    key = "num_layers_per_virtual_pipeline_stage";
    const std::int64_t all = s.whole("num_layers", "--model").value_or(0);
    const bool is_known = all != 0;
    if (is_known && (stages < 1 || stages > all || all % stages != 0))
      fail_at(s.at(key),
              std::to_string(all) + " layers do not divide into " + std::to_string(stages) + " pipeline stages",
              "give a number of stages that divides the layers");
    const std::int64_t of_stage = is_known ? all / stages : 0;
    if (is_known && (*layers > of_stage || of_stage % *layers != 0))
      fail_at(s.at(key), "the " + std::to_string(of_stage) + " layers of a stage do not divide into such chunks",
              "give a divisor of " + std::to_string(of_stage));
    chunks = is_known ? all / (stages * *layers) : 0;
  }
  if (!chunks || *chunks <= 1 || stages == 1) return;
  const LaunchSetting* setting = s.take(key);
  f.give("--virtual-stages", std::to_string(*chunks), setting->place, setting->written);
}

// Reads the sharding of Megatron-LM's optimizer and of the FSDPs that it supports.
void read_sharding(LaunchSettings& s, Facts& f) {
  const auto give = [&](const char* key, const char* value) {
    const LaunchSetting* setting = s.take(key);
    f.give("--sharding", value, setting->place, setting->written);
  };
  const std::string strategy = s.text("data_parallel_sharding_strategy", "--sharding").value_or("optim_grads_params");
  const bool has_optimizer = s.is_on("use_distributed_optimizer", "--sharding");
  const bool has_fsdp = s.is_on("use_megatron_fsdp", "--sharding") || s.is_on("use_custom_fsdp", "--sharding");
  if (s.is_on("use_torch_fsdp2", "--sharding")) return give("use_torch_fsdp2", "zero3");
  if (has_fsdp)
    return give(s.has("use_megatron_fsdp") ? "use_megatron_fsdp" : "use_custom_fsdp",
                strategy == "optim_grads_params" ? "zero3"
                : strategy == "optim_grads"      ? "zero2"
                : strategy == "optim"            ? "zero1"
                                                 : "none");
  if (has_optimizer) give("use_distributed_optimizer", "zero1");
}

void read_recomputed_modules(LaunchSettings& s, Facts& f) {
  std::string modules;
  for (std::string module : s.words("recompute_modules", "--recompute-modules")) {
    if (module == "moe_act") module = "act";
    modules += (modules.empty() ? "" : ",") + module;
  }
  if (modules.empty()) return;
  const LaunchSetting* setting = s.take("recompute_modules");
  f.give("--recompute-modules", modules, setting->place, setting->written);
}

void read_recomputation(LaunchSettings& s, Facts& f) {
  // In older versions, a method without a granularity means full recomputation.
  if (s.has("activations_checkpoint_method") && !s.has("recompute_granularity")) {
    s.rename("activations_checkpoint_method", "recompute_method");
    s.rename("activations_checkpoint_num_layers", "recompute_num_layers");
    if (const auto method = s.text("recompute_method", "--recompute")) {
      const LaunchSetting* setting = s.take("recompute_method");
      f.give("--recompute", "full", setting->place, setting->written);
    }
  }
  const auto give = [&](const std::string& key, const char* value) {
    const LaunchSetting* setting = s.take(key);
    f.give("--recompute", value, setting->place, setting->written);
  };
  const std::string granularity = s.text("recompute_granularity", "--recompute").value_or("");
  const bool by_activations = s.is_on("recompute_activations", "--recompute");
  const bool recomputes_all = s.is_on("checkpoint_activations", "--recompute");
  (void)s.is_on("deepspeed_activation_checkpointing");  // only chooses the implementation, not whether to recompute
  if (!granularity.empty() && granularity != "full" && granularity != "selective")
    fail_at(s.at("recompute_granularity"), "is not known", "give full or selective");
  if (granularity == "full") {
    give("recompute_granularity", "full");
  } else if (granularity == "selective" || by_activations) {
    give(granularity.empty() ? "recompute_activations" : "recompute_granularity", "selective");
    read_recomputed_modules(s, f);
  } else if (recomputes_all) {
    give("checkpoint_activations", "full");
  }
  const std::string method = s.text("recompute_method", "--recompute").value_or("");
  const auto layers = s.whole("recompute_num_layers", "--recompute");
  if (granularity == "full" && method == "block" && layers && *layers > 0) {
    const LaunchSetting* setting = s.take("recompute_num_layers");
    f.give("--recompute-layers", std::to_string(*layers), setting->place, setting->written);
  } else if (granularity == "full" && layers && *layers > 1) {
    const LaunchSetting* setting = s.take("recompute_num_layers");
    f.give("--recompute-interval", std::to_string(*layers), setting->place, setting->written);
  }
}

void read_precision(LaunchSettings& s, Facts& f) {
  const auto give = [&](const char* key, const char* value) {
    const LaunchSetting* setting = s.take(key);
    f.give("--precision", value, setting->place, setting->written);
  };
  const bool is_bf16 = s.is_on("bf16", "--precision"), is_fp16 = s.is_on("fp16", "--precision");
  const auto eight = s.text("fp8_format", "--precision"), hybrid = s.text("fp8", "--precision");
  const auto four = s.text("fp4_format", "--precision"), other_four = s.text("fp4", "--precision");
  if (four || (other_four && *other_four != "false")) return give(four ? "fp4_format" : "fp4", "fp4");
  if (eight || s.is_on("fp8_hybrid", "--precision") || s.is_on("fp8_e4m3", "--precision") ||
      (hybrid && *hybrid != "false"))
    return give(eight                 ? "fp8_format"
                : s.has("fp8_hybrid") ? "fp8_hybrid"
                : s.has("fp8_e4m3")   ? "fp8_e4m3"
                                      : "fp8",
                "fp8");
  if (is_bf16) return give("bf16", "bf16");
  if (is_fp16) return give("fp16", "fp16");
  f.give_default("--precision", "fp32", "neither --bf16 nor --fp16");
}

// Returns "bf16" for "torch.bfloat16" and "bfloat16", and likewise for other precisions.
std::string precision_name(const std::string& written) {
  const std::string name = lower_case(written.rfind("torch.", 0) == 0 ? written.substr(6) : written);
  return name == "float32" ? "fp32" : name == "float16" ? "fp16" : name == "bfloat16" ? "bf16" : name;
}

// Megatron-LM's precision-aware optimizer (megatron/core/optimizer/optimizer_config.py). With bf16 and Transformer
// Engine, it stores only the 16 bits of master weights that bf16 lacks (store_param_remainders, true by default).
void read_kept_precisions(LaunchSettings& s, Facts& f) {
  constexpr const char *kSwitch = "use_precision_aware_optimizer", *kFirst = "exp_avg_dtype",
                       *kSecond = "exp_avg_sq_dtype", *kMaster = "main_params_dtype";
  const bool is_aware = s.is_on(kSwitch, "--optimizer-state");
  const std::string first = precision_name(s.text(kFirst, "--optimizer-state").value_or("fp32"));
  const std::string second = precision_name(s.text(kSecond, "--optimizer-state").value_or("fp32"));
  const std::string master = precision_name(s.text(kMaster, "--master-weights").value_or("fp32"));
  const bool keeps_remainders = s.boolean("store_param_remainders", "--master-weights").value_or(true);
  if (!is_aware) return;
  const bool is_known = first == "fp32" || first == "bf16" || first == "fp16" || first == "fp8" || first == "uint8";
  if (first != second || !is_known) {
    for (const char* key : {kFirst, kSecond})
      s.mark(key, Use::not_simulated, "both moments are predicted in one precision, single");
  } else if (first != "fp32") {
    f.give_from("--optimizer-state", first == "uint8" ? "fp8" : first == "fp16" ? "bf16" : first, s, kFirst);
  }
  if (master == "fp16")
    f.give_from("--master-weights", "fp16", s, kMaster);
  else if (keeps_remainders && s.is_on("bf16", "--precision"))
    f.give_from("--master-weights", "fp16", s, kSwitch);
}

void read_optimizer(LaunchSettings& s, Facts& f) {
  const auto optimizer = s.text("optimizer", "--optimizer");
  if (s.is_on("optimizer_cpu_offload", "--offload-optimizer") || s.is_on("cpu_optimizer", "--offload-optimizer")) {
    const LaunchSetting* setting = s.take(s.has("optimizer_cpu_offload") ? "optimizer_cpu_offload" : "cpu_optimizer");
    f.give_flag("--offload-optimizer", setting->place, setting->written);
  }
  if (!optimizer) return;
  const LaunchSetting* setting = s.take("optimizer");
  if (*optimizer == "adam" || *optimizer == "adamw")
    return f.give("--optimizer", "adam", setting->place, setting->written);
  if (*optimizer == "sgd") return f.give("--optimizer", "momentum", setting->place, setting->written);
  s.mark("optimizer", Use::not_simulated, "Adam is predicted");
}

// START STEP SAMPLES: the batch grows by STEP from START to the global batch, which it has after SAMPLES samples.
void read_rampup(LaunchSettings& s, Facts& f) {
  std::vector<std::string> words = s.words("rampup_batch_size", "--batch-ramp");
  if (words.empty()) return;
  for (std::string& word : words) word.erase(std::remove(word.begin(), word.end(), '_'), word.end());
  const auto is_positive = [](const std::string& word) { return is_count(word, 12) && std::stoll(word) > 0; };
  const bool is_rampup = words.size() == 3 && std::all_of(words.begin(), words.end(), is_positive);
  const std::int64_t start = is_rampup ? std::stoll(words[0]) : 0, step = is_rampup ? std::stoll(words[1]) : 0;
  if (!is_rampup || start >= f.global_batch.value_or(0) || (*f.global_batch - start) % step != 0)
    return s.mark("rampup_batch_size", Use::not_simulated,
                  "no START STEP SAMPLES that lead to the global batch, which is predicted throughout");
  f.rampup = words[0] + "+" + words[1];
  f.rampup_samples = std::stoll(words[2]);
}

void read_batch(LaunchSettings& s, Facts& f) {
  f.micro_batch = s.whole("micro_batch_size", "--micro-batch");
  if (!f.micro_batch) f.micro_batch = s.whole("batch_size", "--micro-batch");
  f.global_batch = s.whole("global_batch_size", "--global-batch");
  if (const auto steps = s.whole("gradient_accumulation_steps", "--accumulation"); steps && !f.global_batch)
    f.accumulation = *steps;
  if (!f.global_batch && f.micro_batch && !f.accumulation)
    f.accumulation = 1;  // as in Megatron-LM: one micro-batch per replica
  read_rampup(s, f);
}

void read_length(LaunchSettings& s, Facts& f) {
  f.sequence = s.whole("seq_length", "--model").value_or(0);
  if (f.sequence == 0) f.sequence = s.whole("encoder_seq_length", "--model").value_or(0);
  f.iterations = s.whole("train_iters", "--tokens");
  f.samples = s.whole("train_samples", "--tokens");
  f.tokens = s.number("train_tokens", "--tokens");
}

// Activations of the first layers go to the host (megatron/core/transformer/transformer_config.py, cpu_offloading).
void read_offloaded_layers(LaunchSettings& s, Facts& f) {
  const std::int64_t layers = s.whole("cpu_offloading_num_layers", "--offload-layers").value_or(0);
  const bool is_on = s.boolean("cpu_offloading", "--offload-layers").value_or(true) &&
                     s.boolean("cpu_offloading_activations", "--offload-layers").value_or(true);
  if (layers > 0 && is_on) f.give_from("--offload-layers", std::to_string(layers), s, "cpu_offloading_num_layers");
}

void read_capacity(LaunchSettings& s, Facts& f) {
  const auto capacity = s.number("moe_expert_capacity_factor", "--expert-capacity");
  if (!capacity) return;
  const LaunchSetting* setting = s.take("moe_expert_capacity_factor");
  f.give("--expert-capacity", short_number(*capacity), setting->place, setting->written);
}

}  // namespace

void read_megatron(LaunchSettings& s, Facts& f, const Catalogue& catalogue, MegatronKeys kind) {
  read_ranks(s, f);
  read_context_exchange(s, f);
  read_virtual_stages(s, f);
  read_sharding(s, f);
  read_recomputation(s, f);
  read_precision(s, f);
  read_optimizer(s, f);
  read_kept_precisions(s, f);
  read_batch(s, f);
  read_length(s, f);
  read_capacity(s, f);
  read_offloaded_layers(s, f);
  if (!s.has("ffn_hidden_size")) s.rename("intermediate_size", "ffn_hidden_size");  // name in Pai-Megatron-Patch
  read_megatron_model(s, f, catalogue, kind);
  give_defaults(s, f, kind);
}

}  // namespace lockstep::sim::launch
