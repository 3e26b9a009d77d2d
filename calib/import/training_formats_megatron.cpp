// Megatron-LM and programs made of it, NeMo, DeepSpeed.
#include <algorithm>
#include <map>

#include "calib/import/log_text.hpp"
#include "calib/import/training_formats.hpp"

namespace lockstep::calib {
namespace {

// Arguments of Megatron-LM that are numbers, and a record's key of each.
const std::map<std::string, const char*>& number_arguments() {
  static const std::map<std::string, const char*> keys{{"world_size", "gpus"},
                                                       {"tensor_model_parallel_size", "tp"},
                                                       {"pipeline_model_parallel_size", "pp"},
                                                       {"context_parallel_size", "cp"},
                                                       {"expert_model_parallel_size", "ep"},
                                                       {"virtual_pipeline_model_parallel_size", "virtual_stages"},
                                                       {"micro_batch_size", "microbatch"},
                                                       {"global_batch_size", "global_batch"},
                                                       {"seq_length", "seq"},
                                                       {"num_layers", "layers"},
                                                       {"hidden_size", "hidden"},
                                                       {"num_attention_heads", "heads"},
                                                       {"padded_vocab_size", "vocab"}};
  return keys;
}

// "  seq_length ...................................... 2048"
void read_argument(const std::vector<std::string>& words, TrainingLogBuilder& log) {
  const std::string &name = words.front(), &value = words.back();
  const auto key = number_arguments().find(name);
  const double number = std::atof(value.c_str());
  if (key != number_arguments().end() && number >= 1 && number <= 1e9)
    log.set_fact(key->second, static_cast<std::int64_t>(number));
  if (name == "sequence_parallel") log.set_fact("sequence_parallel", value == "True");
  if (name == "use_distributed_optimizer" && value == "True") log.set_fact("sharding", "zero1");
  if (name == "recompute_granularity") log.set_fact("recompute", value == "None" ? "none" : value);
  if ((name == "bf16" || name == "fp16") && value == "True") log.set_fact("precision", name);
  if (name == "fp8" && value != "None" && value != "False") log.set_fact("precision", "fp8");
}

bool read_arguments(const LogLine& line, TrainingLogBuilder& log) {
  const std::vector<std::string> words = words_of(line.text);
  const bool is_rule = words.size() >= 3 && words.front().find_first_not_of('-') == std::string::npos &&
                       words.back().find_first_not_of('-') == std::string::npos;
  if (is_rule && has_text(line.text, " arguments ---")) {
    log.is_in_arguments = !has_text(line.text, "end of");
    return true;
  }
  if (!log.is_in_arguments || words.size() != 3 || words[1].find_first_not_of('.') != std::string::npos) return false;
  read_argument(words, log);
  return true;
}

}  // namespace

bool read_megatron_line(const LogLine& line, TrainingLogBuilder& log) {
  if (read_arguments(line, log)) return true;
  const std::string& text = line.text;
  if (has_text(text, "saving checkpoint at iteration")) log.note_interruption("checkpoint");
  if (has_text(text, "validation loss at ")) log.note_interruption("evaluation");
  const auto ms = number_after(text, "elapsed time per iteration (ms)");
  const auto number = number_after(text, "iteration");
  if (!ms || !number) return false;
  if (const auto batch = number_after(text, "global batch size"))
    log.set_fact("global_batch", static_cast<std::int64_t>(*batch));
  log.add_step(static_cast<std::int64_t>(*number), *ms / 1e3, line);
  if (const auto seq = number_after(text, "actual seqlen")) log.set_fact("seq", static_cast<std::int64_t>(*seq));
  log.set_fact("software", has_text(text, "actual seqlen") ? "megatron-deepspeed" : "megatron");
  return true;
}

bool read_nemo_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  if (has_text(text, "Validation: iteration")) log.note_interruption("evaluation");
  const auto seconds = number_after(text, "train_step_timing in s");
  const auto number = number_after(text, "global_step");
  if (!seconds || !has_text(text, "global_step")) return false;
  if (const auto batch = number_after(text, "global_batch_size"))
    log.set_fact("global_batch", static_cast<std::int64_t>(*batch));
  log.add_step(static_cast<std::int64_t>(number.value_or(0)), *seconds, line);
  log.set_fact("software", "nemo");
  return true;
}

bool read_deepspeed_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  if (has_text(text, "[Torch] Saving ") || has_text(text, "is about to be saved!")) log.note_interruption("checkpoint");
  if (has_text(text, "time (ms) | fwd: ")) {
    const auto forward = number_after(text, "| fwd"), backward = number_after(text, "| bwd"),
               update = number_after(text, "| step");
    if (!forward || !backward || !update) return true;
    const std::int64_t number = static_cast<std::int64_t>(log.breakdown.size()) + 1;
    log.breakdown.push_back({number, (*forward + *backward + *update) / 1e3, line.number});
    const auto exchange = number_after(text, "| bwd_allreduce");
    log.log().parts = {"forward " + std::to_string(*forward) + " ms", "backward " + std::to_string(*backward) + " ms",
                       "of that exchange " + std::to_string(exchange.value_or(0)) + " ms",
                       "update " + std::to_string(*update) + " ms"};
    log.set_fact("software", "deepspeed");
    return true;
  }
  const auto rate = number_after(text, "CurrSamplesPerSec");
  if (!rate) return has_text(text, "RunningAvgSamplesPerSec");
  // Before version 0.7: "[timer.py:198:stop] 0/20, RunningAvgSamplesPerSec=..."
  auto number = number_after(text, "global_step");
  if (!number)
    if (const std::size_t slash = text.rfind('/', text.find(", RunningAvg")); slash != std::string::npos)
      number = std::atof(text.c_str() + slash + 1);
  log.add_step(static_cast<std::int64_t>(number.value_or(0)), 1 / *rate, line, StepUnit::sample);
  log.set_fact("software", "deepspeed");
  return true;
}

}  // namespace lockstep::calib
