#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/pretraining_configs.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::launch {
namespace {

// Ranks of one axis of the mesh, between slices and within a slice. -1: all that remain.
struct Axis {
  std::int64_t between = 1, within = 1;
  bool is_open() const { return between < 0 || within < 0; }
  std::int64_t ranks() const { return is_open() ? -1 : between * within; }
};

Axis axis_of(LaunchSettings& s, const std::string& name, const std::string& option, std::int64_t between = 1,
             std::int64_t within = 1) {
  return {s.whole("dcn_" + name + "_parallelism", option).value_or(between),
          s.whole("ici_" + name + "_parallelism", option).value_or(within)};
}

std::string axis_key(const LaunchSettings& s, const std::string& name) {
  return s.has("ici_" + name + "_parallelism") ? "ici_" + name + "_parallelism" : "dcn_" + name + "_parallelism";
}

void give_axis(LaunchSettings& s, Facts& f, const std::string& option, const std::vector<std::string>& names) {
  std::int64_t ranks = 1;
  std::string key;
  for (const std::string& name : names) {
    const Axis axis = axis_of(s, name, option);
    if (axis.is_open()) s.require_option(s.at(axis_key(s, name)), option, "-1: MaxText chooses the ranks");
    if (axis.is_open()) continue;
    if (s.has(axis_key(s, name))) key = axis_key(s, name);
    ranks *= axis.ranks();
  }
  if (key.empty())
    f.give_default(option, "1", "MaxText's default");
  else
    f.give_from(option, std::to_string(ranks), s, key);
}

// Axes within a slice give the GPUs per node; axes between slices give the nodes. These stay unknown if an axis is -1,
// or if ici_fsdp_parallelism is absent.
void give_machine_of_mesh(LaunchSettings& s, Facts& f, const Axis& data, const Axis& fsdp, const Axis& expert) {
  std::int64_t within = 1, between = 1;
  std::vector<Axis> axes{data, fsdp, expert};
  for (const char* name : {"tensor", "tensor_sequence", "pipeline", "context"}) axes.push_back(axis_of(s, name, ""));
  for (const Axis& axis : axes) {
    within = axis.within > 0 && within > 0 ? within * axis.within : -1;
    between = axis.between > 0 && between > 0 ? between * axis.between : -1;
  }
  const LaunchSetting* const setting = s.take("ici_fsdp_parallelism");
  if (setting == nullptr || within < 1 || within > kMostGpusOfRack) return;
  f.give_gpus_per_node(within, setting->place, "ici_*_parallelism");
  for (const Axis& axis : axes) f.has_unknown_nodes = f.has_unknown_nodes || (between < 0 && axis.between > 1);
  if (between > 0 && between < (1 << 20)) f.give_nodes(between, setting->place, "dcn_*_parallelism");
}

void read_mesh(LaunchSettings& s, Facts& f) {
  give_axis(s, f, "--tensor", {"tensor", "tensor_sequence"});
  give_axis(s, f, "--pipeline", {"pipeline"});
  give_axis(s, f, "--context", {"context"});
  const Axis expert = axis_of(s, "expert", "--expert");
  if (expert.ranks() > 1) f.give_from("--expert", std::to_string(expert.ranks()), s, axis_key(s, "expert"));
  const Axis data = axis_of(s, "data", "--sharding", -1), fsdp = axis_of(s, "fsdp", "--sharding", 1, -1);
  const bool is_sharded = fsdp.is_open() || fsdp.ranks() > 1;
  const std::string key = axis_key(s, "fsdp");
  if (s.has(key))
    f.give_from("--sharding", is_sharded ? "zero3" : "none", s, key);
  else
    f.give_default("--sharding", is_sharded ? "zero3" : "none", "MaxText's default");
  const bool has_copies = data.is_open() ? !fsdp.is_open() : data.ranks() > 1;
  if (is_sharded && has_copies && !fsdp.is_open() && data.ranks() != 1) {
    if (data.ranks() > 1) f.give_from("--sharding-group", std::to_string(fsdp.ranks()), s, key);
  }
  give_machine_of_mesh(s, f, data, fsdp, expert);
}

void read_maxtext_batch(LaunchSettings& s, Facts& f) {
  const double of_device = s.number("per_device_batch_size", "--micro-batch").value_or(12);
  const std::int64_t ranks = f.number_of("--tensor", 1) * f.number_of("--pipeline", 1) * f.number_of("--context", 1);
  const std::int64_t stages = f.number_of("--pipeline", 1);
  std::int64_t parts = s.whole("num_pipeline_microbatches", "--accumulation").value_or(-1);
  if (parts < 1) parts = stages;
  const double micro = of_device * double(ranks) / double(parts);
  if (micro < 1 || micro != std::floor(micro) || micro > 1e6)
    throw InputError(
        (s.has("per_device_batch_size") ? s.take("per_device_batch_size")->text() : std::string("MaxText")) +
        ": a micro-batch of " + short_number(micro) + " sequences; give --micro-batch and --global-batch");
  f.micro_batch = static_cast<std::int64_t>(micro);
  f.accumulation = parts * s.whole("gradient_accumulation_steps", "--accumulation").value_or(1);
}

void read_remat(LaunchSettings& s, Facts& f) {
  const std::string policy = lower_case(s.text("remat_policy", "--recompute").value_or("full"));
  const bool keeps_all = policy.find("minimal") == 0 || policy == "none";
  const std::string value = policy == "full" ? "full" : keeps_all ? "none" : "alternate-matrices";
  if (!s.has("remat_policy")) return f.give_default("--recompute", "full", "MaxText's default");
  f.give_from("--recompute", value, s, "remat_policy");
  if (policy != "full" && !keeps_all)
    f.notes.push_back("remat_policy " + policy + ": predicted as every other matrix computed again");
}

void read_maxtext_precision(LaunchSettings& s, Facts& f) {
  const std::string quantization = lower_case(s.text("quantization", "--precision").value_or(""));
  if (quantization.find("fp8") != std::string::npos) return f.give_from("--precision", "fp8", s, "quantization");
  if (!quantization.empty()) s.mark("quantization", Use::not_simulated, "matrices are predicted in half precision");
  const std::string type = s.text("dtype", "--precision").value_or("bfloat16");
  const bool is_pure = s.text("weight_dtype", "--precision").value_or("float32") == "bfloat16";
  f.give_default("--precision", type == "float32" ? "fp32" : is_pure ? "bf16-true" : "bf16", "dtype");
}

// Returns the setting that changes the shape of the named model: a scale, or some of the shape's numbers. A file with
// all of these numbers is a copy of MaxText's base.yml; the model's name overrides it.
const LaunchSetting* setting_of_changed_shape(LaunchSettings& s) {
  if (s.number("global_parameter_scale", "--model").value_or(1) != 1) return s.take("global_parameter_scale");
  const LaunchSetting* found = nullptr;
  std::size_t count = 0;
  const std::vector<std::string> kNumbers{"base_num_decoder_layers", "base_emb_dim", "base_num_query_heads",
                                          "base_num_kv_heads", "base_mlp_dim"};
  for (const std::string& key : kNumbers)
    if (s.has(key)) {
      found = s.take(key);
      ++count;
    }
  const bool overrides = s.is_on("override_model_config", "--model");
  return count == kNumbers.size() && !overrides ? nullptr : found;
}

void read_maxtext_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const std::string name = s.text("model_name", "--model").value_or("default");
  const LaunchSetting* const changed = setting_of_changed_shape(s);
  if (changed != nullptr && (name != "default" || changed->key == "global_parameter_scale"))
    return s.require_option(*changed, "--model", "it changes the shape of model " + name);
  if (name != "default") {
    if (const ModelEntry* entry = model_named(name, catalogue))
      return f.give_from("--model", sized_name(entry->id, f.sequence), s, "model_name");
    s.require_option(s.at("model_name"), "--model",
                     in_quotes(name) + " is no model of the catalogue; --model also takes the path of its config.json");
    return;
  }
  Json config{{"model_type", "megatron"},
              {"swiglu", true},
              {"normalization", "RMSNorm"},
              {"add_bias_linear", false},
              {"position_embedding_type", "rope"}};
  const std::vector<std::pair<const char*, const char*>> kKeys{{"base_num_decoder_layers", "num_layers"},
                                                               {"base_emb_dim", "hidden_size"},
                                                               {"base_num_query_heads", "num_attention_heads"},
                                                               {"base_num_kv_heads", "num_query_groups"},
                                                               {"head_dim", "kv_channels"},
                                                               {"base_mlp_dim", "ffn_hidden_size"},
                                                               {"vocab_size", "vocab_size"}};
  int found = 0;
  for (const auto& [key, to] : kKeys)
    if (const auto value = s.whole(key, "--model")) {
      config[to] = *value;
      ++found;
    }
  if (found < 7) return;
  config["max_position_embeddings"] = std::max<std::int64_t>(1, f.sequence);
  config["untie_embeddings_and_output_weights"] = !s.is_on("logits_via_embedding", "--model");
  const std::string activations = s.text("mlp_activations", "--model").value_or("silu linear");
  if (activations.find("linear") == std::string::npos) config["swiglu"] = false;
  if (const auto experts = s.whole("num_experts", "--model"); experts && *experts > 1) {
    config["num_experts"] = *experts;
    config["moe_router_topk"] = s.whole("num_experts_per_tok", "--model").value_or(1);
    if (const auto inner = s.whole("base_moe_mlp_dim", "--model")) config["moe_ffn_hidden_size"] = *inner;
  }
  f.give("--model", model_of_config(config, f.sequence, catalogue, s.take("base_emb_dim")->place.file + ": model").text,
         s.take("base_emb_dim")->place, "base_*");
}

}  // namespace

bool is_maxtext(const LaunchSettings& s) {
  return (s.has("per_device_batch_size") &&
          (s.has("max_target_length") || s.has("base_config") || s.has("model_name"))) ||
         s.has("base_emb_dim") || s.has("ici_fsdp_parallelism");
}

void read_maxtext(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "MaxText", "its configuration");
  f.sequence = s.whole("max_target_length", "--model").value_or(2048);
  if (const auto steps = s.whole("steps", "--tokens"); steps && *steps > 0) f.iterations = *steps;
  read_mesh(s, f);
  read_maxtext_batch(s, f);
  read_remat(s, f);
  read_maxtext_precision(s, f);
  read_maxtext_model(s, f, catalogue);
  const std::string optimizer = lower_case(s.text("opt_type", "--optimizer").value_or("adamw"));
  if (optimizer.find("adam") == 0)
    f.give_default("--optimizer", "adam", "opt_type");
  else
    s.mark("opt_type", Use::not_simulated, "the software's default is predicted");
  if (s.is_on("optimizer_memory_host_offload", "--offload-optimizer"))
    f.give_from("--offload-optimizer", "", s, "optimizer_memory_host_offload");
}

}  // namespace lockstep::sim::launch
