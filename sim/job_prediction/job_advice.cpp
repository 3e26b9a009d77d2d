#include "sim/job_prediction/job_advice.hpp"

#include "engine/base/text.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr int kMostTimes = 64;  // as many GPUs at most

std::string option_of(const std::string& key) {
  for (const SplitFieldName& field : split_fields())
    if (field.key == key) return field.option;
  return "";
}

// The questions with one option less, and that option.
std::vector<std::pair<std::string, JobQuestion>> with_one_option_less(const JobQuestion& question, int gpus) {
  std::vector<std::pair<std::string, JobQuestion>> changed;
  JobQuestion here = question;
  here.gpus = {gpus};
  for (const std::string& key : question.job.split.keys) {
    if (option_of(key).empty() || key == "lora_rank") continue;
    changed.emplace_back(option_of(key), here);
    changed.back().second.job.split.leave_out(key);
  }
  if (question.job.global_batch > 0) {
    changed.emplace_back("--global-batch", here);
    changed.back().second.job.global_batch = 0;
  }
  if (question.job.batch_per_gpu > 0) {
    changed.emplace_back("--batch", here);
    changed.back().second.job.batch_per_gpu = 0;
  }
  return changed;
}

}  // namespace

std::string changes_that_fit(const JobQuestion& question, int gpus, const HasAnswer& has_answer) {
  std::vector<std::string> changes;
  for (const auto& [option, changed] : with_one_option_less(question, gpus))
    if (has_answer(changed)) changes.push_back("without " + option);
  for (int times = 2; times <= kMostTimes && changes.empty(); times *= 2) {
    if (std::int64_t{gpus} * times > kMostGpus) break;
    JobQuestion larger = question;
    larger.gpus = {gpus * times};
    if (has_answer(larger)) changes.push_back(gpus_text(gpus * times));
  }
  if (changes.empty()) return "GPUs of more memory";
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : ", or ") + change;
  return text;
}

}  // namespace lockstep::sim::job_prediction
