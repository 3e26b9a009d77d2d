#pragma once
// Training logs: the time of a steady step, and the facts about the job that the log contains. One reader per program;
// the line formats come from the programs' own print statements.
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

/// The unit of work to which LoggedStep::seconds refers.
enum class StepUnit {
  step,       ///< seconds per iteration
  gpu_token,  ///< seconds per token on one GPU: 1 / (tokens/s/GPU)
  sample      ///< seconds per sample over all GPUs: 1 / (samples/s)
};

struct TrainingLog {
  std::string file;
  std::string format;
  StepUnit unit = StepUnit::step;
  std::vector<LoggedStep> steps;
  SteadySteps steady;
  Json job = Json::object();       ///< facts in the log, with a record's keys: gpus, global_batch, seq, tp, ...
  double tokens_per_step = 0;      ///< 0: not known
  std::vector<std::string> said;   ///< messages for the user about these figures
  std::vector<std::string> parts;  ///< of wall_clock_breakdown: "forward 6.6 s, backward 18 s, ..."

  /// Seconds per iteration. None if the log has a rate but lacks the facts to convert it.
  std::optional<double> step_seconds() const;
};

/// The formats listed above.
const std::vector<std::string>& training_formats();

/// Reads a log; an empty `format` is recognised by the layout of the lines. `facts` are the user's facts about the job,
/// with a record's keys; they replace those of the log. Throws InputError if no line has a known layout, if lines come
/// from several programs, if there is no time, or if the log's facts contradict each other.
TrainingLog read_training_log(const std::string& text, const std::string& file, const std::string& format = "",
                              const Json& facts = Json::object());

/// The log as a record for `simulate --predict`: its job, its time or rate, and the lines from which they come. Throws
/// InputError if model, GPU, number of GPUs or batch is missing, so that no prediction is possible.
Json training_record(const TrainingLog& log, const std::string& source);

}  // namespace lockstep::calib
