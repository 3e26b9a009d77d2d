#pragma once
// Logs of trainings with step times of the test's choice. Layouts are those of the programs' print statements (sources:
// calib/import/training_log.hpp), figures and names ours.
#include <cstdio>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::tests {

inline std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// One iteration's line of each program, with what else it prints at the begin. All are of 16 GPUs, 64 sequences of 4096
/// tokens, unless `facts` says otherwise.
struct LogExample {
  std::string format;
  std::string head;
  std::string (*line)(int step, double seconds);
  Json facts;  ///< what the log does not have
};

inline std::string argument_of(const std::string& name, const std::string& value) {
  return "  " + name + " " + std::string(48 - name.size(), '.') + " " + value + "\n";
}

inline std::string megatron_head() {
  std::string head = "------------------------ arguments ------------------------\n";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"bf16", "True"},
                                                        {"context_parallel_size", "1"},
                                                        {"global_batch_size", "64"},
                                                        {"hidden_size", "4096"},
                                                        {"micro_batch_size", "1"},
                                                        {"num_attention_heads", "32"},
                                                        {"num_layers", "32"},
                                                        {"padded_vocab_size", "50304"},
                                                        {"pipeline_model_parallel_size", "2"},
                                                        {"recompute_granularity", "None"},
                                                        {"seq_length", "4096"},
                                                        {"sequence_parallel", "True"},
                                                        {"tensor_model_parallel_size", "2"},
                                                        {"use_distributed_optimizer", "True"},
                                                        {"virtual_pipeline_model_parallel_size", "None"},
                                                        {"world_size", "16"}})
    head += argument_of(name, value);
  return head + "-------------------- end of arguments ---------------------\n";
}

inline const std::vector<LogExample>& log_examples() {
  static const Json gpus{{"gpus", 16}, {"global_batch", 64}, {"sharding", "zero3"}, {"seq", 4096}};
  static const std::vector<LogExample> all{
      {"megatron", megatron_head(),
       [](int step, double seconds) {
         return " [2026-05-01 07:19:37] iteration " + printed("%8.0f", step) +
                "/    5000 | consumed samples: " + printed("%12.0f", 64 * step) +
                " | elapsed time per iteration (ms): " + printed("%.1f", 1e3 * seconds) +
                " | throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 6.976744E-08 | global batch size:    64 | "
                "lm "
                "loss: 1.043863E+01 | loss scale: 1.0 | grad norm: 26.203 | number of skipped iterations:   0 |\n";
       },
       Json::object()},
      {"nemo",
       "",
       [](int step, double seconds) {
         return "Training epoch 0, iteration " + std::to_string(step) +
                "/99 | lr: 6.897e-06 | global_batch_size: 64 | global_step: " + std::to_string(step) +
                " | reduced_train_loss: 11.96 | train_step_timing in s: " + printed("%.4g", seconds) +
                " | consumed_samples: " + std::to_string(64 * step) + "\n";
       },
       {{"gpus", 16}, {"tp", 2}}},
      {"torchtitan",
       "[rank0]:[titan] 2026-06-04 08:50:48,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB "
       "memory\n"
       "[rank0]:[titan] 2026-06-04 08:50:48,074 - root - INFO - Building device mesh with parallelism: pp=1, "
       "dp_replicate=1, dp_shard=16, cp=1, tp=1, ep=1\n"
       "[rank0]:[titan] 2026-06-04 08:50:50,074 - root - INFO - Applied selective activation checkpointing to the "
       "model\n"
       "[rank0]:[titan] 2026-06-04 08:50:58,838 - root - INFO - Trainer is initialized with local batch size 4, global "
       "batch size 64, gradient accumulation steps 1, sequence length 4096, total steps 1000 (warmup 200)\n",
       [](int step, double seconds) {
         // 64 sequences of 4096 tokens over 16 GPUs
         return "[rank0]:[titan] 2026-06-04 08:51:48,074 - root - INFO - \x1b[31mstep: " + printed("%2.0f", step) +
                "  \x1b[32mloss: 12.2254  \x1b[33mmemory: 27.34GiB(28.78%)  \x1b[34mtps: " +
                printed("%.0f", 16384 / seconds) + "  \x1b[36mtflops: 407.35  \x1b[35mmfu: 41.19%\x1b[39m\n";
       },
       Json::object()},
      {"huggingface",
       "***** Running training *****\n  Num examples = 10,000\n  Instantaneous batch size per device = 4\n"
       "  Total train batch size (w. parallel, distributed & accumulation) = 64\n  Total optimization steps = 200\n",
       nullptr,  // its bars have whole seconds since the begin: bars_of()
       gpus},
      {"nanogpt",
       "tokens per iteration will be: 262,144\nblock_size = 4096\nnumber of parameters: 123.59M\n",
       [](int step, double seconds) {
         return "iter " + std::to_string(step) + ": loss 10.9, time " + printed("%.2f", 1e3 * seconds) +
                "ms, mfu 43.40%\n";
       },
       {{"gpus", 16}, {"sharding", "zero3"}}},
      {"llm.c",
       "| micro batch size B    | 4                                                  |\n"
       "| sequence length T     | 4096                                               |\n"
       "| total batch size      | 262144                                             |\n"
       "| device                | NVIDIA A100-SXM4-80GB                              |\n"
       "| precision             | BF16                                               |\n"
       "| num_layers L          | 12                                                 |\n"
       "| num_heads NH          | 12                                                 |\n"
       "| channels C            | 768                                                |\n"
       "| padded_vocab_size Vp  | 50304                                              |\n"
       "| num_parameters        | 124475904                                          |\n"
       "| num_processes         | 16                                                 |\n"
       "| zero_stage            | 1                                                  |\n",
       [](int step, double seconds) {
         return "step " + printed("%4.0f", step) +
                "/19560 | loss 11.007906 (+nanz)| norm 16.3235 (+nanz)| lr 2.86e-06 | " +
                printed("%.2f", 1e3 * seconds) + " ms | 40.3% bf16 MFU | 190000 tok/s\n";
       },
       Json::object()},
      {"nanotron",
       "08/31/2025 14:37:30 [INFO|DP=0|PP=0|TP=0]: Config:\nConfig(general=GeneralArgs(project='debug',\n"
       "       parallelism=ParallelismArgs(dp=8,\n                                   pp=1,\n"
       "                                   tp=2,\n       tokens=TokensArgs(sequence_length=4096,\n"
       "                         micro_batch_size=2,\n",
       [](int step, double seconds) {
         return "08/31/2025 14:37:31 [INFO|DP=0|PP=0|TP=0]: iteration: " + std::to_string(step) +
                " / 15 | consumed_tokens: 512K | elapsed_time_per_iteration_ms: " + printed("%.4g", seconds) +
                "K | tokens_per_sec: 109K | tokens_per_sec_per_gpu: 6.81K | global_batch_size: 64 | lm_loss: 5.32 | "
                "lr: "
                "0.00015 | model_tflops_per_gpu: 400 | hardware_tflops_per_gpu: 400 | grad_norm: 2.96\n";
       },
       Json::object()},
      {"deepspeed", "",
       [](int step, double seconds) {
         return "[2026-02-29 06:58:56,176] [INFO] [timer.py:260:stop] epoch=0/micro_step=" + std::to_string(4 * step) +
                "/global_step=" + std::to_string(step) +
                ", RunningAvgSamplesPerSec=25.02, CurrSamplesPerSec=" + printed("%.10g", 64 / seconds) +
                ", MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n";
       },
       gpus}};
  return all;
}

/// Progress bars of HuggingFace's Trainer, which end in carriage returns, each after one step.
inline std::string bars_of(const std::vector<double>& seconds) {
  std::string bars;
  double elapsed_s = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    elapsed_s += seconds[i];
    const int whole = static_cast<int>(elapsed_s);
    bars += "\r 5%|#         | " + std::to_string(i + 1) + "/200 [" + printed("%02.0f", whole / 60) + ":" +
            printed("%02.0f", whole % 60) + "<10:00,  2.51s/it]";
    if (i % 10 == 9) bars += "\r{'loss': 2.6031, 'grad_norm': 1.88, 'learning_rate': 5e-07, 'epoch': 0.24}\n";
  }
  return bars + "\n";
}

/// The log of steps with these times; the first is step 1.
inline std::string log_of(const LogExample& example, const std::vector<double>& seconds) {
  if (example.line == nullptr) return example.head + bars_of(seconds);
  std::string text = example.head;
  for (std::size_t i = 0; i < seconds.size(); ++i) text += example.line(static_cast<int>(i) + 1, seconds[i]);
  return text;
}

/// A slow first step, then steps that differ by 0.4 %.
inline std::vector<double> usual_steps(double seconds, int count = 100) {
  std::vector<double> all{8 * seconds};
  for (int i = 1; i < count; ++i) all.push_back(seconds * (1 + 0.002 * (i % 5 - 2)));
  return all;
}

}  // namespace lockstep::tests
