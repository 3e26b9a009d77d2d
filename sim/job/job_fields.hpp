#pragma once
// Describes every fact of a job once: its key in records, its option on command lines, its range, its meaning. This
// table defines how records are read and written, the command-line options with their help, and how jobs are compared.
// The facts of a split, the keys of a scenario's "parallel", are in given_split.hpp.
//
//   `gpus, gpus_per_node, batch_per_gpu, global_batch, accumulation`   Numbers; "batch" is read as "batch_per_gpu".
//   `software, model, gpu, link, network`       Ids or names of the catalogue. A network may also be a text, "8x
//                                               InfiniBand NDR", or {"id", "count", "rate"}.
//   algorithm                                   A name that `simulate job --list` prints: "ring", "sharded", "kvstore".
//                                               It sets transport, all_reduce, scheme and overlap where not given.
//   params, layers, hidden, heads, vocab, seq   The numbers of a transformer.
//   tp, pp, dp, cp, ep, etp, microbatch, ...    How a transformer is split: the keys of "parallel", or shorter names.
//   task                                        "lora" or "sft".
//   assumed                                     {key: why} for each fact that was assumed.
#include <string>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job {

/// The names of a fact.
struct FieldName {
  const char* key;               ///< in records
  const char* option = nullptr;  ///< on command lines; null: only records give it
  const char* help = "";
};

/// A key of "parallel" with its names in records and on command lines.
struct SplitFieldName {
  std::string key;     ///< of parallel_format()
  std::string record;  ///< in records, which may also use `key`; empty: not in records
  std::string option;  ///< empty: no option of its own
  std::string help;
  bool says_what_trains = false;  ///< adapters, frozen weights, tokens of experts; false: how the model is divided
};
const std::vector<SplitFieldName>& split_fields();
/// Returns the option of a key of the split, such as "--tensor"; empty: it has none.
std::string split_option(const std::string& key);
/// Returns the key of Job::assumed for a key of the split that was chosen.
inline std::string chosen_key(const std::string& key) {
  return "split/" + key;
}

inline const Range kCount{1, 1 << 20}, kNumbers{1, 1e15};
inline const Range kBatchBeforeRounding{0.01, kLargestBatch};  ///< for a batch that is rounded later (read_batch())

/// Calls visit(FieldName, a's fact, b's fact[, Range]) for every fact except those of splits.
template <class Visit, class A, class B>
void visit_job_fields(Visit& visit, A& a, B& b) {
  using Name = FieldName;
  visit(Name{"software", "--software",
             "Default: PyTorch; with adapters HuggingFace Transformers; for a split job Megatron-LM, PyTorch FSDP or "
             "DeepSpeed "
             "(see --list)"},
        a.software, b.software);
  visit(Name{"model", "--model",
             "A network by its name (see --list), such as resnet50 or \"BERT-large\"; or a .json file: a model of your "
             "own, or a HuggingFace config.json; or its text, {\"model_type\": ...}; with @4096 behind each for "
             "sequences of so "
             "many tokens"},
        a.model, b.model);
  visit(Name{"gpu", "--gpu",
             "By its name (see --list), such as H100 or \"A100 40GB\", or FILE.json: one's own, as an entry of "
             "scenarios/catalogue/gpus.json"},
        a.gpu, b.gpu);
  visit(Name{"gpus"}, a.gpus, b.gpus, Range{1, kMostGpus});
  visit(Name{"gpus_per_node", "--gpus-per-node", "Default: by the GPU, usually 8"}, a.gpus_per_node, b.gpus_per_node,
        Range{1, kMostGpusOfRack});
  visit(Name{"link", "--link", "Between the GPUs of a node, such as \"PCIe 4\""}, a.link, b.link);
  visit(Name{"network", "--network", "Between nodes"}, a.network, b.network);
  visit(Name{"bytes"}, a.bytes, b.bytes, kNumbers);
  visit(Name{"seq", "--seq-length", "Tokens of a sequence, instead of @4096 behind the model's name"}, a.shape.sequence,
        b.shape.sequence, Range{1, 1 << 24});
  visit(Name{"params"}, a.shape.parameters, b.shape.parameters, kNumbers);
  visit(Name{"layers"}, a.shape.layers, b.shape.layers, Range{1, 10000});
  visit(Name{"hidden"}, a.shape.hidden, b.shape.hidden, kCount);
  visit(Name{"heads"}, a.shape.heads, b.shape.heads, Range{1, 10000});
  visit(Name{"vocab"}, a.shape.vocabulary, b.shape.vocabulary, Range{1, 1 << 24});
  visit(Name{"precision", "--precision",
             "Default: what is usual on the GPU; bf16 and fp16 are mixed, bf16-true is without single precision"},
        a.precision, b.precision);
  visit(Name{"batch_per_gpu", "--batch", "Samples per GPU"}, a.batch_per_gpu, b.batch_per_gpu, kBatchBeforeRounding);
  visit(
      Name{"global_batch", "--global-batch", "Sequences of an iteration, over all GPUs; required if you give a split"},
      a.global_batch, b.global_batch, Range{1, double(std::int64_t{1} << 40)});
  visit(Name{"accumulation", "--accumulation",
             "Micro-batches that a replica adds up before it updates the weights, instead of --global-batch"},
        a.accumulation, b.accumulation, kCount);
  visit(Name{"optimizer", "--optimizer", "Default: by software, such as adam"}, a.optimizer, b.optimizer);
  visit(Name{"optimizer_state", "--optimizer-state",
             "Precision of each array of the optimizer's state (default: by software, usually fp32): 8bit is that of "
             "bitsandbytes"},
        a.optimizer_state, b.optimizer_state);
  visit(Name{"master_weights", "--master-weights",
             "Precision of the weights that the update works on, which are kept in addition to the layers' "
             "half-precision ones "
             "(default: by software, usually fp32)"},
        a.master_weights, b.master_weights);
  visit(Name{"fused_attention", "--fused-attention",
             "Attention that keeps its scores on the chip (FlashAttention; default: by software and GPU)"},
        a.fused_attention, b.fused_attention);
  visit(Name{"fused_norms", "--fused-norms", "Each RMS norm is one kernel, as with Liger (default: by software)"},
        a.fused_norms, b.fused_norms);
  visit(Name{"fused_rotary", "--fused-rotary",
             "Rotary positions are one kernel each, as FlashAttention's and Liger's (default: by software)"},
        a.fused_rotary, b.fused_rotary);
  visit(Name{"fused_gelu", "--fused-gelu", "Each GELU is one kernel (default: by software)"}, a.fused_gelu,
        b.fused_gelu);
  visit(Name{"fused_loss", "--fused-loss",
             "The loss reads and writes scores in half precision, once a pass, as Liger's (default: by software)"},
        a.fused_loss, b.fused_loss);
  visit(Name{"chunked_loss", "--chunked-loss",
             "The output matrix and the loss process some tokens at a time, so that all scores are never in memory "
             "(Liger's fused linear cross-entropy, cut cross-entropy, torchtune's LinearCrossEntropyLoss). Implies "
             "--fused-loss"},
        a.chunked_loss, b.chunked_loss);
  visit(Name{"fast_convolutions"}, a.fast_convolutions, b.fast_convolutions);
  visit(Name{"channels_last", "--channels-last",
             "Images lie by pixel (PyTorch's channels_last), as tensor cores take them"},
        a.channels_last, b.channels_last);
  visit(Name{"decodes_on_host", "--decodes-on-host",
             "A data loader decodes image files on the nodes' processors; otherwise nothing waits for input"},
        a.decodes_on_host, b.decodes_on_host);
  visit(Name{"epochs", "--epochs", "Adds the time that so many epochs take"}, a.epochs, b.epochs, Range{1e-3, 1e6});
  visit(Name{"algorithm", "--algorithm", "Such as ring, hierarchical or parameter-server (see --list)"}, a.algorithm,
        b.algorithm);
  visit(Name{"other_algorithm"}, a.other_algorithm, b.other_algorithm);
  visit(Name{"transport"}, a.transport, b.transport);
  visit(Name{"all_reduce"}, a.all_reduce, b.all_reduce);
  visit(Name{"wire"}, a.wire, b.wire);
  visit(Name{"overlap", "--overlap-gradients",
             "Replicas exchange gradients during the backward pass, not after it (Megatron-LM's --overlap-grad-reduce, "
             "DeepSpeed's overlap_comm; default: by software). With zero2 and zero3, only gathers of weights change"},
        a.overlap, b.overlap);
  visit(Name{"fusion"}, a.fusion, b.fusion);
  visit(Name{"tree_slices"}, a.tree_slices, b.tree_slices, Range{1, 10000});
  visit(Name{"in_switch"}, a.in_switch, b.in_switch);
  visit(Name{"scheme"}, a.scheme, b.scheme);
  visit(Name{"sequential"}, a.is_sequential, b.is_sequential);
  visit(Name{"whole_tensors"}, a.places_tensors, b.places_tensors);
  visit(Name{"tau"}, a.tau, b.tau, kCount);
  visit(Name{"aggregated"}, a.aggregated, b.aggregated, kCount);
  visit(
      Name{
          "task", "--task",
          "Fine-tuning instead of training from the beginning: lora (adapters; see --lora-rank), or sft (all weights). "
          "Decides the default batch, and no loss is predicted"},
      a.split.task, b.split.task);
  visit(Name{"assumed"}, a.assumed, b.assumed);
}

/// Returns the keys of a record that describe its job.
const std::vector<std::string>& job_keys();

/// Reads the job's facts from an object; null and "" count as not given. Names are not looked up. Throws InputError
/// with file and pointer.
void read_job(const JsonNode& object, Job& job);

/// Reads a batch per GPU and rounds it, because MLPerf's logs have batches such as 39.2.
int read_batch(const JsonNode& node);

/// Writes the job's facts by their keys, with ids for names in the catalogue. Facts at their defaults are skipped.
Json job_json(const Job& job);

}  // namespace lockstep::sim::job
