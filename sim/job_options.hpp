#pragma once
// Options of the command line that describe a job, the same for `simulate job` and `plan job`.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "engine/base/program.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/records/job.hpp"

namespace lockstep::sim {

inline constexpr const char* kModelHelp =
    "A network by its name (see --list), such as resnet50 or \"BERT-large\"; or a .json file: a model of your own, or "
    "a "
    "HuggingFace config.json; with @4096 behind either for sequences of so many tokens";
inline constexpr const char* kGpuHelp = "By its name (see --list), such as H100 or \"A100 40GB\"";
inline constexpr const char* kAlgorithmHelp = "Such as ring, hierarchical or parameter-server (see --list)";

inline std::string network_help() {
  return std::string("Between nodes, ") + kNetworkGrammar +
         ", such as \"8x 400 Gb/s InfiniBand\", \"8x NDR\" or \"25 GbE\" (see --list)";
}

/// Those that have one value in either program. Returns that of the model.
inline CLI::Option* declare_job_facts(CLI::App& app, Job& job) {
  CLI::Option* const model = app.add_option("--model", job.model, kModelHelp);
  app.add_option("--gpus-per-node", job.gpus_per_node, "Default: 8")->check(CLI::Range(1, 1024));
  app.add_option("--rate", job.rate_samples_per_s, "Samples/s that were measured on one GPU at --batch")
      ->check(number_between(1e-6, 1e12));
  app.add_option("--epochs", job.epochs, "Adds the time that so many epochs take")->check(number_between(1e-3, 1e6));
  app.add_option("--link", job.intra_node_link, "Between the GPUs of a node, such as \"PCIe 4\"");
  app.add_option("--precision", job.precision,
                 "Default: what is usual on the GPU; bf16 and fp16 are mixed, bf16-true is without single precision")
      ->check(CLI::IsMember({"fp32", "tf32", "mixed", "bf16", "fp16", "bf16-true", "fp8", "mxfp8", "fp4", "nvfp4"},
                            CLI::ignore_case));
  app.add_option("--software", job.software,
                 "Default: PyTorch; of a split Megatron-LM, PyTorch FSDP or DeepSpeed (see --list)");
  app.add_flag("--channels-last", job.channels_last,
               "Images lie by pixel (PyTorch's channels_last), as tensor cores take them");
  app.add_flag("--decodes-on-host", job.decodes_on_host,
               "A data loader decodes image files on the nodes' processors; otherwise nothing waits for input");
  app.add_flag("--ignore-memory", job.ignores_memory, "Predicts what does not fit into a GPU's memory, too");
  return model;
}

template <class Value>
void declare_choice(CLI::App& app, const char* name, std::optional<Value>& value, const char* help) {
  app.add_option_function<std::string>(
         name, [&value](const std::string& text) { value = find_choice_in_words<Value>(text); }, help)
      ->check(CLI::IsMember(choice_names<Value>(), CLI::ignore_case));
}

/// How a replica is split over GPUs: the keys of a scenario's "parallel".
inline void declare_split(CLI::App& app, Job& job) {
  SplitSpec& split = job.split;
  const auto size = [&](const char* flag, int& value, const char* text) {
    app.add_option(flag, value, text)->check(CLI::Range(1, 16384));
  };
  size("--tensor", split.tensor, "GPUs that share every layer's matrices");
  app.add_flag_callback(
      "--sequence", [&split] { split.sequence_parallel = true; },
      "Norms and residuals split along the sequence over the tensor ranks");
  size("--pipeline", split.pipeline, "Stages of consecutive layers");
  size("--virtual-stages", split.virtual_stages, "Chunks of layers per stage, interleaved");
  size("--context", split.context, "GPUs that share every sequence");
  size("--expert", split.expert, "Ranks that share out the experts");
  size("--expert-tensor", split.expert_tensor,
       "Tensor ranks that share each expert's matrices: 1, or as --tensor (default)");
  app.add_flag_callback(
      "--expert-overlap", [&split] { split.expert_overlap = true; },
      "Tokens travel to experts and back beside the passes of another micro-batch");
  declare_choice(app, "--sharding", split.sharding, "Of state, gradients, weights over the replicas");
  size("--sharding-group", split.sharding_group, "Ranks that share one copy of what is sharded (default: all)");
  declare_choice(app, "--sharding-calls", split.sharding_calls,
                 "Of zero3: a layer's weights in one call, or each matrix in its own (default: layers)");
  size("--micro-batch", split.microbatch, "Sequences that a replica computes at once (default: 1)");
  app.add_option("--global-batch", job.global_batch,
                 "Sequences of an iteration, over all GPUs; needed with a split that is stated")
      ->check(CLI::Range(1, 1 << 28));
  app.add_option_function<std::string>(
         "--optimise", [&job](const std::string&) { job.searches_split = job.lists_splits = true; },
         "split: what is not stated of it is the fastest that fits, at each number of GPUs")
      ->check(CLI::IsMember({"split"}));
  declare_choice(app, "--recompute", split.recompute, "Activations that the backward pass computes again");
  declare_choice(app, "--schedule", split.schedule, "Of micro-batches over the stages");
  declare_choice(app, "--tensor-overlap", split.tensor_overlap,
                 "What of the tensor ranks' exchange travels beside products (default: by software)");
  declare_choice(app, "--context-exchange", split.context_exchange, "Of keys and values between context ranks");
  app.add_option("--expert-capacity", split.expert_capacity, "Rows that an expert takes, over an even share")
      ->check(number_between(0.1, 1000));
  app.add_option("--expert-imbalance", split.expert_imbalance,
                 "Without a capacity, tokens of the busiest expert rank over the mean")
      ->check(number_between(1, 1000));
  app.add_option_function<int>(
         "--lora-rank",
         [&split](int rank) {
           split.lora_rank = rank;
           split.task = kAdapters;
         },
         "Weights are frozen but for adapters of that rank")
      ->check(CLI::Range(1, 65536));
  app.add_flag_callback(
      "--offload-optimizer", [&split] { split.offload = kOffloadedOptimizer; },
      "The optimizer's state lies in host memory, where the processors update it");
  app.add_option_function<std::vector<std::string>>(
         "--order",
         [&split](const std::vector<std::string>& names) {
           split.order.emplace();
           for (const std::string& name : names) split.order->push_back(*find_choice<ParallelDimension>(name));
         },
         "Of the dimensions over the GPUs, innermost first (default: tensor,context,expert,data,pipeline)")
      ->delimiter(',')
      ->expected(5)
      ->check(CLI::IsMember(choice_names<ParallelDimension>()));
}

/// Numbers of GPUs.
inline CLI::Option* declare_gpu_counts(CLI::App& app, Job& job, const char* help) {
  return app.add_option("--gpus", job.gpus, help)->delimiter(',')->allow_extra_args(false)->check(CLI::Range(1, 16384));
}

}  // namespace lockstep::sim
