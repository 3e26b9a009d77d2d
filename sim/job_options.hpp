#pragma once
// Options of the command line that describe a job, the same for `simulate job` and `plan job`.
#include <CLI/CLI.hpp>

#include "engine/base/program.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/records/job.hpp"

namespace lockstep::sim {

inline constexpr const char* kModelHelp =
    "A network by its name (see --list), such as resnet50 or \"BERT-large\"; or a .json file: a model of your own, or "
    "a "
    "HuggingFace config.json, with @4096 behind it for sequences of so many tokens";
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
  app.add_option("--precision", job.precision, "Default: what is usual on the GPU; bf16 and fp16 are mixed")
      ->check(CLI::IsMember({"fp32", "tf32", "mixed", "bf16", "fp16", "fp8"}));
  app.add_option("--software", job.software, "Default: PyTorch (see --list)");
  app.add_flag("--ignore-memory", job.ignores_memory, "Predicts what does not fit into a GPU's memory, too");
  return model;
}

/// Numbers of GPUs.
inline CLI::Option* declare_gpu_counts(CLI::App& app, Job& job, const char* help) {
  return app.add_option("--gpus", job.gpus, help)->delimiter(',')->allow_extra_args(false)->check(CLI::Range(1, 16384));
}

}  // namespace lockstep::sim
