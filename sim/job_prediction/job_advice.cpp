#include "sim/job_prediction/job_advice.hpp"

#include "engine/base/text.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr int kMostTimes = 64;  // tries numbers of GPUs up to this multiple

void leave_out(JobQuestion& question, const std::string& option) {
  if (option == "--global-batch")
    question.job.global_batch = 0;
  else if (option == "--batch")
    question.job.batch_per_gpu = 0;
  else if (option == "--accumulation")
    question.job.accumulation = 0;
  else
    for (const SplitFieldName& field : split_fields())
      if (field.option == option) question.job.split.leave_out(field.key);
}

bool is_of_adapters(const std::string& key) {
  return key == "lora_rank" || key == "lora_target" || key == "frozen_weights";
}

// Returns the options that the user gave and may leave out.
std::vector<std::string> open_options(const JobQuestion& question) {
  std::vector<std::string> options;
  for (const std::string& key : question.job.split.keys)
    if (!split_option(key).empty() && !is_of_adapters(key)) options.push_back(split_option(key));
  if (question.job.global_batch > 0) options.emplace_back("--global-batch");
  if (question.job.batch_per_gpu > 0) options.emplace_back("--batch");
  if (question.job.accumulation > 0) options.emplace_back("--accumulation");
  return options;
}

}  // namespace

std::string changes_that_fit(const JobQuestion& question, int gpus, bool exceeds_memory, const HasAnswer& has_answer) {
  JobQuestion here = question;
  here.gpus = {gpus};
  const std::vector<std::string> options = open_options(question);
  std::vector<std::string> changes;
  for (const std::string& option : options) {
    JobQuestion changed = here;
    leave_out(changed, option);
    if (has_answer(changed)) changes.push_back("without " + option);
  }
  for (int times = 2; times <= kMostTimes && changes.empty(); times *= 2) {
    if (std::int64_t{gpus} * times > kMostGpus) break;
    JobQuestion larger = question;
    larger.gpus = {gpus * times};
    if (has_answer(larger)) changes.push_back(gpus_text(gpus * times));
  }
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : ", or ") + change;
  if (!text.empty()) return text;
  JobQuestion bare = here;
  for (const std::string& option : options) leave_out(bare, option);
  if (has_answer(bare)) return "none of " + joined(options);
  return exceeds_memory ? "GPUs of more memory" : "another number of GPUs, or another model";
}

}  // namespace lockstep::sim::job_prediction
