#pragma once
// The command line of `simulate kernel`.
#include <CLI/CLI.hpp>

#include "calib/import/log_text.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/base/units.hpp"
#include "sim/job_prediction/kernel_times.hpp"

namespace lockstep::sim::api {

/// One kind of kernel as a subcommand. Its options become cells of a table's row, so that one reader serves both.
struct KernelCommand {
  CLI::App* app = nullptr;
  KernelKind kind = KernelKind::gemm;
  std::map<std::string, std::string> cells;  ///< by column
};

struct KernelOptions {
  std::vector<std::unique_ptr<KernelCommand>> kinds;
  std::string csv, output, json, catalogue;
};

inline KernelCommand& declare_kernel_kind(CLI::App& app, KernelOptions& o, KernelKind kind, const std::string& name,
                                          const std::string& help) {
  o.kinds.push_back(std::make_unique<KernelCommand>());
  KernelCommand& command = *o.kinds.back();
  command.kind = kind;
  command.app = app.add_subcommand(name, help);
  command.app->add_option("--gpu", command.cells["gpu"], "A GPU by its name, such as H100")->required();
  command.app->add_option("--json", o.json, "Writes the time and the law it rests on; - is standard output");
  command.app->add_option("--catalogue", o.catalogue, "Folder of names and laws (default: installed)");
  return command;
}

inline void declare_precision(KernelCommand& command) {
  command.cells["precision"] = "bf16";
  command.app
      ->add_option("--precision", command.cells["precision"], "Precision of the matrix multiplications (default: bf16)")
      ->check(CLI::IsMember(choice_names<KernelPrecision>()));
}

inline void declare_gemm(CLI::App& app, KernelOptions& o) {
  KernelCommand& gemm = declare_kernel_kind(app, o, KernelKind::gemm, "gemm", "y[m,n] = x[m,k] w[k,n]");
  declare_precision(gemm);
  gemm.app->add_option("--m", gemm.cells["m"], "Rows of x, such as tokens")->required();
  gemm.app->add_option("--n", gemm.cells["n"], "Output features")->required();
  gemm.app->add_option("--k", gemm.cells["k"], "Input features")->required();
  gemm.app->footer("Example:\n  simulate kernel gemm --gpu B200 --precision fp8 --m 8192 --n 14336 --k 4096");
}

inline void declare_attention(CLI::App& app, KernelOptions& o) {
  KernelCommand& c = declare_kernel_kind(app, o, KernelKind::attention, "attention", "Fused attention, forward pass");
  declare_precision(c);
  c.app->add_option("--batch", c.cells["batch"], "Sequences")->required();
  c.app->add_option("--seq", c.cells["seq"], "Tokens of a sequence")->required();
  c.app->add_option("--heads", c.cells["heads"], "Heads of queries")->required();
  c.app->add_option("--kv-heads", c.cells["kv_heads"], "Heads of keys and values (default: same as --heads)");
  c.app->add_option("--head-dim", c.cells["head_dim"], "Features of a head")->required();
  c.app->add_option("--window", c.cells["window"],
                    "Sliding window in tokens: to the left if causal, to each side otherwise (default: none)");
  c.app
      ->add_option("--kind", c.cells["kind"],
                   "context: causal, of language models; encoder: no mask (default: context)")
      ->check(CLI::IsMember({"context", "encoder"}));
  c.app->footer(
      "Example:\n  simulate kernel attention --gpu H100 --batch 2 --seq 8192 --heads 32 --kv-heads 8 --head-dim 128");
}

inline void declare_experts(CLI::App& app, KernelOptions& o) {
  KernelCommand& c =
      declare_kernel_kind(app, o, KernelKind::experts, "experts", "A layer of experts on one GPU, forward pass");
  declare_precision(c);
  c.app->add_option("--tokens", c.cells["tokens"], "Tokens of all expert ranks together, before routing")->required();
  c.app->add_option("--hidden", c.cells["hidden"], "Features of a token")->required();
  c.app->add_option("--inter", c.cells["inter"], "Features inside an expert, before division by --tp")->required();
  c.app->add_option("--topk", c.cells["topk"], "Experts per token")->required();
  c.app->add_option("--experts", c.cells["experts"], "Experts of the layer")->required();
  c.app->add_option("--tp", c.cells["tp"], "Tensor ranks (default: 1)");
  c.app->add_option("--ep", c.cells["ep"], "Expert ranks (default: 1)");
  c.app->add_option("--gated", c.cells["gated"], "1: three matrices (SwiGLU); 0: two (default: 1)")
      ->check(CLI::IsMember({"0", "1"}));
  c.app->add_option("--distribution", c.cells["distribution"],
                    "Of tokens over experts: balanced, or power_law_EXPONENT with 0 to 3 (default: balanced)");
  c.app->footer(
      "Example:\n  simulate kernel experts --gpu H100 --tokens 8192 --hidden 4096 --inter 14336 --topk 2 --experts 8 "
      "--ep 8");
}

inline void declare_collective(CLI::App& app, KernelOptions& o) {
  KernelCommand& c = declare_kernel_kind(app, o, KernelKind::collective, "collective", "A collective within a node");
  c.app->add_option("--op", c.cells["op"], "all_reduce, all_gather, reduce_scatter, alltoall")
      ->required()
      ->check(CLI::IsMember(choice_names<CollectiveOperation>()));
  c.app->add_option("--gpus", c.cells["gpus"], "GPUs of one node that take part")->required();
  c.app->add_option("--bytes", c.cells["bytes"], "Full buffer of a rank, such as 64MB (1e6 bytes each) or 64MiB")
      ->required();
  c.app->add_option("--library", c.cells["library"],
                    "nccl; for all_reduce also TRTLLM, vLLM_custom_graph, vLLM_custom_eager (default: nccl)");
  c.app->footer("Example:\n  simulate kernel collective --gpu H100 --op all_reduce --gpus 8 --bytes 64MB");
}

inline CLI::App* declare_kernel(CLI::App& app, KernelOptions& o) {
  CLI::App* const sub = app.add_subcommand("kernel", "Predicts single kernels, and collectives within a node");
  sub->add_option("--csv", o.csv,
                  "CSV of kernels: a column kernel_type and the columns of its kind, see results/kernels/README.md");
  sub->add_option("-o,--output", o.output,
                  "With --csv: writes the table with the columns predicted_s and why (default: standard output)");
  sub->add_option("--catalogue", o.catalogue, "Folder of names and laws (default: installed)");
  declare_gemm(*sub, o);
  declare_attention(*sub, o);
  declare_experts(*sub, o);
  declare_collective(*sub, o);
  sub->footer("Example:\n  simulate kernel --csv kernels.csv -o predicted.csv");
  return sub;
}

/// Converts sizes with a unit to bytes. Options that are not given become no cells.
inline KernelCells kernel_cells(const KernelCommand& command) {
  KernelCells cells;
  for (const auto& [column, text] : command.cells)
    if (!text.empty()) cells[column] = text;
  const auto bytes = cells.find("bytes");
  if (bytes == cells.end()) return cells;
  double size = 0;
  const bool has_unit = bytes->second.find_first_not_of("0123456789.eE+") != std::string::npos;
  if (has_unit) {
    const std::string problem = parse_quantity_or_explain(bytes->second, Dimension::size, size);
    if (!problem.empty()) throw InputError("--bytes " + bytes->second + ": " + problem);
    bytes->second = formatted("%.0f", size);
  }
  return cells;
}

inline void answer_kernel(const KernelOptions& o) {
  const Catalogue catalogue = load_catalogue(o.catalogue.empty() ? default_catalogue_folder() : o.catalogue);
  if (!o.csv.empty()) {
    check_outputs({o.output}, {o.csv});
    const std::string text = predict_kernel_table(KernelTable(calib::log_text(o.csv), o.csv), catalogue);
    if (o.output.empty() || o.output == kStandardOutput)
      print(text);
    else
      write_file_atomically(o.output, text);
    return;
  }
  for (const std::unique_ptr<KernelCommand>& command : o.kinds) {
    if (!command->app->parsed()) continue;
    check_outputs({o.json});
    const KernelPrediction prediction = [&] {
      try {
        return predict_kernel(command->kind, kernel_cells(*command), catalogue);
      } catch (const InputError& e) {
        throw InputError("simulate kernel " + command->app->get_name() + ": " + e.what());
      }
    }();
    if (!o.json.empty()) write_json_atomically(o.json, kernel_json(prediction), 2);
    print_result(o.json, kernel_text(prediction));
    return;
  }
  throw InputError("simulate kernel: no kernel; allowed: gemm, attention, experts, collective, or --csv FILE");
}

}  // namespace lockstep::sim::api
