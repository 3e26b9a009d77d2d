#pragma once
// Logs of trainings: the time of a steady step, and the facts of the job that the log itself has. One reader per program;
// layouts are those of the programs' own print statements.
//
//   megatron     Megatron-LM, Megatron-Bridge, Megatron-DeepSpeed: " iteration        2/    5000 | ... | elapsed time per
//                iteration (ms): 12936.1 | ... | global batch size:   128 | ..."; the list of arguments
//                (megatron/training/training.py, training_log(); arguments.py, _print_args())
//   nemo         NeMo 2: "Training epoch 0, iteration 45/99 | ... | train_step_timing in s: 6.08 | ..."
//   torchtitan   "step: 10  loss: ...  memory: ...GiB(...)  tps: 7,034  tflops: ...  mfu: ...%", tokens/s of a GPU
//                (torchtitan/components/metrics.py), with what it says of mesh, batch and sequence
//   deepspeed    "CurrSamplesPerSec=" (deepspeed/utils/timer.py), else "time (ms) | fwd: ... | bwd: ... | ... | step: ..."
//                of wall_clock_breakdown
//   huggingface  Trainer: trainer_state.json, or log lines: progress bars "100/1000 [04:11<37:40,  2.51s/it]", else the
//                summary's train_runtime, which includes all pauses
//   nanogpt      "iter 10: loss 4.1, time 135.31ms, mfu 43.40%" (train.py)
//   llm.c        "step    2/21479 | loss ... | 2391.52 ms | ... bf16 MFU | 191824 tok/s" (train_gpt2.cu), and its table
//   nanotron     "iteration: 1 / 15 | ... | elapsed_time_per_iteration_ms: 4.71K | ..." (nanotron/trainer.py)
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calib/import/steady_steps.hpp"
#include "engine/base/json.hpp"

namespace lockstep::calib {

/// What LoggedStep::seconds is the time of.
enum class StepUnit {
  step,       ///< an iteration
  gpu_token,  ///< a token of one GPU: 1 / (tokens/s/GPU)
  sample      ///< a sample of all GPUs: 1 / (samples/s)
};

struct TrainingLog {
  std::string file;
  std::string format;
  StepUnit unit = StepUnit::step;
  std::vector<LoggedStep> steps;
  SteadySteps steady;
  Json job = Json::object();       ///< facts that the log has, by a record's keys: gpus, global_batch, seq, tp, ...
  double tokens_per_step = 0;      ///< 0: not known
  std::vector<std::string> said;   ///< what a reader must know about these figures
  std::vector<std::string> parts;  ///< of wall_clock_breakdown: "forward 6.6 s, backward 18 s, ..."

  /// Seconds of an iteration. None where the log has a rate, and what it lacks to convert it.
  std::optional<double> step_seconds() const;
};

/// The names above.
const std::vector<std::string>& training_formats();

/// Reads a log; an empty `format` is recognised by the layout of the lines. `facts`: what a user says of the job, by a
/// record's keys; it replaces what the log has. Throws InputError: no line of a known layout, lines of several programs,
/// fewer than one time, a log whose facts contradict each other.
TrainingLog read_training_log(const std::string& text, const std::string& file, const std::string& format = "",
                              const Json& facts = Json::object());

/// The log as a record for `simulate --predict`: its job, its time or rate, and which lines it comes from. Throws InputError
/// if no prediction can follow: no model, GPU, number of GPUs or batch.
Json training_record(const TrainingLog& log, const std::string& source);

}  // namespace lockstep::calib
