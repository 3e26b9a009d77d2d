#include "calib/import/training_log.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "calib/import/log_text.hpp"
#include "calib/import/training_formats.hpp"
#include "engine/base/file_format.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kBarWindow_s = 20;  // progress bars have whole seconds
constexpr std::size_t kLeastWindows = 3;

double number_in(const Json& job, const char* key) {
  const auto member = job.find(key);
  return member != job.end() && member->is_number() ? member->get<double>() : 0;
}

// Times of the training's progress bar, over windows long enough for its whole seconds.
void add_bars(TrainingLogBuilder& builder) {
  std::map<std::int64_t, int> counts;
  for (const TrainingLogBuilder::Bar& bar : builder.bars) ++counts[bar.of];
  const auto training =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (training == counts.end()) return;
  std::vector<LoggedStep> windows;
  std::optional<TrainingLogBuilder::Bar> from;
  for (const TrainingLogBuilder::Bar& bar : builder.bars) {
    if (bar.of != training->first) continue;
    if (!from || bar.done < from->done || bar.elapsed_s < from->elapsed_s) from = bar;
    if (bar.elapsed_s - from->elapsed_s < kBarWindow_s || bar.done == from->done) continue;
    const double steps = static_cast<double>(bar.done - from->done);
    windows.push_back({bar.done, (bar.elapsed_s - from->elapsed_s) / steps, bar.line});
    from = bar;
  }
  if (windows.size() < kLeastWindows) return;
  builder.log().steps = std::move(windows);
  builder.log().said.clear();
}

void finish(TrainingLogBuilder& builder) {
  TrainingLog& log = builder.log();
  if (log.format == "huggingface") add_bars(builder);
  if (log.format == "deepspeed" && log.steps.empty()) log.steps = builder.breakdown;
}

// The text by lines, also of progress bars, which end in carriage returns.
template <class Take>
void for_each_line(const std::string& text, Take take) {
  int number = 1;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find_first_of("\r\n", begin);
    if (end == std::string::npos) end = text.size();
    if (end > begin) take(LogLine{plain_line(text.substr(begin, end - begin)), number});
    if (end < text.size() && text[end] == '\n') ++number;
    begin = end + 1;
  }
}

// The Trainer's state: no step has a time, the training as a whole has.
bool read_trainer_state(const std::string& text, TrainingLog& log) {
  if (text.find("\"log_history\"") == std::string::npos || text.find_first_not_of(" \t\r\n") != text.find('{'))
    return false;
  const JsonDocument document = JsonDocument::parse(text, log.file);
  const auto history = document.root().find("log_history");
  if (!history || !history->is_array()) return false;
  log.format = "huggingface";
  TrainingLogBuilder builder(log);
  for (const Json& entry : history->json())
    if (entry.is_object()) read_huggingface_line({entry.dump(), 0}, builder);
  if (log.steps.empty())
    throw InputError(log.file +
                     ": /log_history: no entry has train_runtime, and steps have no times; allowed: the state "
                     "of a training that ended, or the log that it printed");
  return true;
}

std::vector<TrainingLog> logs_of(const std::string& text, const std::string& file, const std::string& format) {
  struct Reading {
    TrainingLog log;
    bool is_recognised = false;
  };
  const std::vector<TrainingFormat>& readers = training_readers();
  std::vector<Reading> readings(readers.size());
  std::vector<TrainingLogBuilder> builders;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    readings[i].log.file = file;
    readings[i].log.format = readers[i].name;
    builders.emplace_back(readings[i].log);
  }
  for_each_line(text, [&](const LogLine& line) {
    for (std::size_t i = 0; i < readers.size(); ++i)
      if ((format.empty() || format == readers[i].name) && readers[i].read_line(line, builders[i]))
        readings[i].is_recognised = true;
  });
  std::vector<TrainingLog> logs;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    finish(builders[i]);
    if (readings[i].is_recognised && !readings[i].log.steps.empty()) logs.push_back(std::move(readings[i].log));
  }
  return logs;
}

TrainingLog recognised(const std::string& text, const std::string& file, const std::string& format) {
  TrainingLog state;
  state.file = file;
  if ((format.empty() || format == "huggingface") && read_trainer_state(text, state)) return state;
  std::vector<TrainingLog> logs = logs_of(text, file, format);
  // DeepSpeed's own lines are part of the logs of programs that use it; it is last.
  if (logs.size() > 1 && logs.back().format == "deepspeed") logs.pop_back();
  if (logs.empty()) refuse_known_format(file);
  if (logs.empty())
    throw InputError(file + ": no time of a training step" + (format.empty() ? "" : " as " + format + " prints it") +
                     "; allowed: logs of " + joined(training_formats()));
  if (logs.size() > 1)
    throw InputError(file + ": has steps of " + logs[0].format + " and of " + logs[1].format +
                     "; allowed: logs of one program, or --format");
  return std::move(logs.front());
}

// A number of the log that the user contradicts is wrong on one of the two sides.
void apply_facts(TrainingLog& log, const Json& facts) {
  for (const auto& [key, value] : facts.items()) {
    const auto known = log.job.find(key);
    if (known != log.job.end() && known->is_number() && value.is_number() &&
        known->get<double>() != value.get<double>())
      throw InputError(log.file + ": has " + key + " " + known->dump() + ", and " + key + "=" + value.dump() +
                       " is given; allowed: one of the two");
    log.job[key] = value;
  }
  if (!log.job.contains("gpus") && log.job.contains("dp")) {
    double gpus = 1;
    for (const char* key : {"dp", "tp", "pp"}) gpus *= std::max(1.0, number_in(log.job, key));
    if (gpus <= kMostRanks) log.job["gpus"] = static_cast<int>(gpus);
  }
  log.job.erase("dp");  // follows from the others
  const double seq = number_in(log.job, "seq");
  if (!log.job.contains("global_batch") && log.tokens_per_step > 0 && seq > 0)
    log.job["global_batch"] = static_cast<std::int64_t>(std::llround(log.tokens_per_step / seq));
  if (log.tokens_per_step == 0) log.tokens_per_step = number_in(log.job, "global_batch") * seq;
}

}  // namespace

void TrainingLogBuilder::add_step(std::int64_t number, double seconds, const LogLine& line, StepUnit unit) {
  if (!std::isfinite(seconds) || !(seconds > 0) || seconds > 1e9) return;
  log_.unit = unit;
  log_.steps.push_back({number, seconds, line.number, interruption_});
  interruption_.clear();
}

void TrainingLogBuilder::set_fact(const std::string& key, const Json& value) {
  const auto known = log_.job.find(key);
  if (known != log_.job.end() && *known == value) return;
  if (known != log_.job.end() && key != "global_batch") return;
  // A batch that grows during the training: steps of smaller ones are no steps of this one.
  if (known != log_.job.end() && !log_.steps.empty()) {
    say("the global batch changes: steps of " + known->dump() + " samples are left out");
    log_.steps.clear();
  }
  log_.job[key] = value;
}

void TrainingLogBuilder::say(const std::string& text) {
  if (std::find(log_.said.begin(), log_.said.end(), text) == log_.said.end()) log_.said.push_back(text);
}

const std::vector<std::string>& training_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const TrainingFormat& format : training_readers()) all.push_back(format.name);
    return all;
  }();
  return names;
}

std::optional<double> TrainingLog::step_seconds() const {
  const double gpus = number_in(job, "gpus"), batch = number_in(job, "global_batch");
  if (unit == StepUnit::step) return steady.median_s;
  if (unit == StepUnit::sample && batch > 0) return steady.median_s * batch;
  if (unit == StepUnit::gpu_token && gpus > 0 && tokens_per_step > 0) return steady.median_s * tokens_per_step / gpus;
  return std::nullopt;
}

TrainingLog read_training_log(const std::string& text, const std::string& file, const std::string& format,
                              const Json& facts) {
  if (!format.empty() && std::count(training_formats().begin(), training_formats().end(), format) == 0)
    throw InputError("--format " + format + ": unknown; allowed: " + joined(training_formats()));
  TrainingLog log = recognised(text, file, format);
  finish_training_log(log, facts);
  return log;
}

void finish_training_log(TrainingLog& log, const Json& facts) {
  apply_facts(log, facts);
  log.steady = steady_steps(log.steps);
}

Json training_record(const TrainingLog& log, const std::string& source) {
  Json job = log.job;
  std::vector<std::string> missing;
  const bool has_shape = job.contains("hidden") && (job.contains("layers") || job.contains("params"));
  if (!job.contains("model") && !has_shape) missing.emplace_back("model");
  for (const char* key : {"gpu", "gpus"})
    if (!job.contains(key)) missing.emplace_back(key);
  if (!job.contains("global_batch") && !job.contains("batch_per_gpu") && !job.contains("batch"))
    missing.emplace_back(log.tokens_per_step > 0 ? "seq" : "global_batch");
  std::string options;
  for (const std::string& key : missing) options += (options.empty() ? "" : " ") + ("--fact " + key + "=...");
  if (!missing.empty())
    throw InputError(log.file + ": " + log.format + " does not log " + joined(missing) + " here; allowed: " + options);
  if (job.contains("model"))
    for (const char* key : {"params", "layers", "hidden", "heads", "vocab"}) job.erase(key);
  const std::string stem = std::filesystem::path(log.file).stem().string();
  Json record{{"id", "LOG-" + stem}, {"group", "LOG-" + stem},
              {"source", source},    {"where", log.file},
              {"role", "target"},    {"notes", "median of " + steady_text(log.steady, log.unit != StepUnit::step)}};
  record.update(job);
  const auto seconds = log.step_seconds();
  if (seconds)
    record.update(Json{{"metric", "iteration_s"}, {"unit", "s"}, {"value", *seconds}});
  else if (log.unit == StepUnit::gpu_token)
    record.update(Json{{"metric", "images_per_s"}, {"unit", "tokens/s/GPU"}, {"value", 1 / log.steady.median_s}});
  else
    record.update(Json{{"metric", "images_per_s"}, {"unit", "images/s"}, {"value", 1 / log.steady.median_s}});
  return record;
}

}  // namespace lockstep::calib
