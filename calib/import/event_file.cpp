#include "calib/import/event_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "calib/import/log_text.hpp"
#include "calib/import/training_formats.hpp"
#include "calib/import/wire_format.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr std::size_t kHead = 12, kChecksum = 4;
constexpr double kLeastWall_s = 1e-3;  // events closer than this were written afterwards, by a converter
constexpr double kLeastShareOfWall = 0.5;
constexpr double kMostOfWall = 10;         // times between events over a step time
constexpr double kShortEvaluation = 0.01;  // of the time between two points
constexpr std::size_t kMostEvaluated = 4;  // if more than one time in four has an evaluation, these are left out
constexpr double kShortestStep_s = 1e-6, kLongestStep_s = 1e9, kLongestTime_s = 1e11;  // 3,000 years
constexpr std::int64_t kMostSteps = std::int64_t{1} << 50;

// Numbers of fields.
enum EventField { kWallTime = 1, kStep = 2, kSummary = 5 };
enum ValueField { kTag = 1, kSimpleValue = 2, kTensor = 8 };
enum TensorField { kContent = 4, kFloat = 5, kDouble = 6, kString = 8, kType = 1 };
enum TensorType { kTypeFloat = 1, kTypeDouble = 2 };

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t checksum_of(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
      all[i] = value;
    }
    return all;
  }();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t masked_checksum(std::string_view bytes) {
  const std::uint32_t crc = checksum_of(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct SummaryValue {
  std::string tag, text;
  std::optional<double> number;
};

// A scalar as torch.utils.tensorboard (simple_value) or TensorFlow 2 (a tensor of one number) writes it, or a text.
void read_tensor(std::string_view bytes, const std::string& where, SummaryValue& value) {
  WireMessage tensor(bytes, where);
  std::uint64_t type = 0;
  std::vector<double> numbers;
  std::string_view content;
  for (WireField field; tensor.next(field);) {
    const bool is_packed = field.type == WireType::bytes;
    if (field.number == kType && field.type == WireType::varint) type = field.value;
    if (field.number == kContent && is_packed) content = field.bytes;
    if (field.number == kFloat && is_packed) numbers = packed_floats(field);
    if (field.number == kFloat && field.type == WireType::fixed32) numbers.push_back(field.as_float());
    if (field.number == kDouble && is_packed) numbers = packed_doubles(field);
    if (field.number == kDouble && field.type == WireType::fixed64) numbers.push_back(field.as_double());
    if (field.number == kString && is_packed) value.text = field.text();
  }
  WireField packed;
  packed.bytes = content;
  if (type == kTypeFloat && content.size() == 4) numbers = packed_floats(packed);
  if (type == kTypeDouble && content.size() == 8) numbers = packed_doubles(packed);
  if (numbers.size() == 1) value.number = numbers.front();
}

SummaryValue read_value(std::string_view bytes, const std::string& where) {
  SummaryValue value;
  WireMessage message(bytes, where);
  for (WireField field; message.next(field);) {
    if (field.number == kTag && field.type == WireType::bytes) value.tag = field.text();
    if (field.number == kSimpleValue && field.type == WireType::fixed32) value.number = field.as_float();
    if (field.number == kTensor && field.type == WireType::bytes) read_tensor(field.bytes, where, value);
  }
  return value;
}

void read_event(std::string_view bytes, const std::string& where, int record, EventFile& file) {
  WireMessage event(bytes, where);
  ScalarPoint point;
  point.record = record;
  std::vector<SummaryValue> values;
  for (WireField field; event.next(field);) {
    if (field.number == kWallTime && field.type == WireType::fixed64) point.wall_time_s = field.as_double();
    if (field.number == kStep && field.type == WireType::varint) point.step = field.as_int();
    if (field.number != kSummary || field.type != WireType::bytes) continue;
    WireMessage summary(field.bytes, where);
    for (WireField one; summary.next(one);)
      if (one.number == 1 && one.type == WireType::bytes) values.push_back(read_value(one.bytes, where));
  }
  const bool has_place =
      point.step >= 0 && point.step <= kMostSteps && point.wall_time_s >= 0 && point.wall_time_s < kLongestTime_s;
  for (const SummaryValue& value : values) {
    point.value = value.number.value_or(0);
    if (value.number && has_place && std::isfinite(*value.number)) file.scalars[value.tag].push_back(point);
    if (value.number && has_place && !std::isfinite(*value.number)) file.last_not_finite[value.tag] = point.step;
    if (!value.text.empty()) file.texts[value.tag] = value.text;
  }
}

// Seconds per step between neighbours whose steps rise. `evaluations_s`: sorted times of evaluations.
std::vector<LoggedStep> wall_times(const std::vector<ScalarPoint>& points, const std::vector<double>& evaluations_s) {
  std::vector<LoggedStep> steps;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ScalarPoint &before = points[i - 1], &point = points[i];
    const double seconds = point.wall_time_s - before.wall_time_s;
    if (point.step <= before.step || !(seconds > 0)) continue;
    LoggedStep step{point.step, seconds / static_cast<double>(point.step - before.step), point.record};
    // An evaluation is written at its end. If that is at once, it took no time, or is no evaluation.
    const auto evaluation =
        std::upper_bound(evaluations_s.begin(), evaluations_s.end(), before.wall_time_s + kShortEvaluation * seconds);
    if (evaluation != evaluations_s.end() && *evaluation < point.wall_time_s) step.interruption = "evaluation";
    steps.push_back(step);
  }
  return steps;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Megatron-LM's tags "... vs samples" and DeepSpeed's "Train/Samples/..." have samples as steps.
bool counts_samples(const std::string& tag) {
  return has_text(tag, "vs samples") || tag.rfind("Train/Samples/", 0) == 0;
}
// By whole words: "val_loss", but not "retrieval_loss" or "train/valid_tokens".
bool is_of_evaluation(const std::string& tag) {
  std::string words = lower_case(tag);
  for (char& c : words)
    if (std::string("/_-.:").find(c) != std::string::npos) c = ' ';
  bool is_evaluation = false;
  for (const std::string& word : words_of(words)) {
    if (word == "train" || word == "training") return false;
    for (const char* one : {"val", "valid", "validation", "eval", "evaluation", "test"})
      is_evaluation = is_evaluation || word == one;
  }
  return is_evaluation;
}

class EventLog {
 public:
  EventLog(const EventFile& file, TrainingLog& log) : file_(file), log_(log), builder_(log) {}

  void read() {
    const std::vector<std::pair<const char*, const char*>> tags{{"iteration-time", "megatron"},
                                                                {"train_step_timing in s", "nemo"},
                                                                {"time_metrics/end_to_end(s)", "torchtitan"}};
    std::string first;
    for (const auto& [end, format] : tags)
      for (const auto& [tag, points] : file_.scalars) {
        if (!ends_with(tag, end) || points.empty() || log_.format == format) continue;
        if (!log_.format.empty())
          throw InputError(log_.file + ": has steps of " + log_.format + " (" + in_quotes(first) + ") and of " +
                           format + " (" + in_quotes(tag) + "); allowed: the events of one training");
        log_.format = format;
        first = tag;
        take_seconds(tag, points);
      }
    if (log_.format.empty()) take_wall_times();
    take_facts();
    if (file_.is_cut_off) builder_.say("the last record is cut off, as of a run that was killed; read up to it");
  }

 private:
  void take_seconds(const std::string& tag, const std::vector<ScalarPoint>& points) {
    for (const ScalarPoint& point : points)
      if (point.value > kShortestStep_s && point.value < kLongestStep_s)
        log_.steps.push_back({point.step, point.value, point.record});
    std::vector<double> walls, values;
    for (const LoggedStep& step : wall_times(points, {})) walls.push_back(step.seconds);
    for (const LoggedStep& step : log_.steps) values.push_back(step.seconds);
    if (walls.empty() || values.empty()) return;
    const double wall_s = median(walls), value_s = median(values);
    if (wall_s > kLeastWall_s && (wall_s < kLeastShareOfWall * value_s || wall_s > kMostOfWall * value_s))
      throw InputError(log_.file + ": " + in_quotes(tag) + " is " + format_seconds(value_s) +
                       " a step, and its events are " + format_seconds(wall_s) +
                       " a step apart; allowed: a file whose step time is in seconds");
  }

  void take_wall_times() {
    std::vector<double> evaluations_s;
    std::string evaluation;
    const std::pair<const std::string, std::vector<ScalarPoint>>*longest = nullptr, *of_samples = nullptr;
    for (const auto& entry : file_.scalars) {
      auto*& best = counts_samples(entry.first) ? of_samples : longest;
      if (is_of_evaluation(entry.first)) {
        if (evaluation.empty()) evaluation = entry.first;
        for (const ScalarPoint& point : entry.second) evaluations_s.push_back(point.wall_time_s);
      } else if (best == nullptr || entry.second.size() > best->second.size()) {
        best = &entry;
      }
    }
    log_.format = is_of_megatron() ? "megatron" : "tensorboard";
    if (longest == nullptr) {
      longest = of_samples;
      log_.unit = StepUnit::sample;
    }
    if (longest == nullptr) return;
    std::sort(evaluations_s.begin(), evaluations_s.end());
    log_.steps = wall_times(longest->second, evaluations_s);
    if (log_.steps.empty()) return take_mean();
    const bool is_always_evaluated = std::all_of(log_.steps.begin(), log_.steps.end(),
                                                 [](const LoggedStep& step) { return !step.interruption.empty(); });
    if (is_always_evaluated)
      throw InputError(log_.file + ": between every two points of " + in_quotes(longest->first) +
                       " is an evaluation, by " + in_quotes(evaluation) +
                       ", so that no time is of training alone; allowed: a file with more points than evaluations");
    leave_out_evaluations();
    builder_.say("step times are differences of the time stamps of " + in_quotes(longest->first));
  }

  // A few evaluations stand out by their times. Many would shift the median.
  void leave_out_evaluations() {
    const auto first = std::stable_partition(log_.steps.begin(), log_.steps.end(),
                                             [](const LoggedStep& step) { return step.interruption.empty(); });
    const auto evaluated = static_cast<std::size_t>(log_.steps.end() - first);
    if (evaluated * kMostEvaluated <= log_.steps.size())
      return std::sort(log_.steps.begin(), log_.steps.end(),
                       [](const LoggedStep& a, const LoggedStep& b) { return a.line < b.line; });
    log_.steps.erase(first, log_.steps.end());
    builder_.say(std::to_string(evaluated) + " times between points are left out because an evaluation is in between");
  }

  bool is_of_megatron() const {
    return file_.scalars.count("batch-size") > 0 && file_.scalars.count("batch-size vs samples") > 0;
  }

  // HuggingFace's Trainer writes the mean of the whole training at its end.
  void take_mean() {
    for (const auto& [tag, points] : file_.scalars)
      if (ends_with(tag, "train_steps_per_second") && points.back().value > 0) {
        log_.steps = {{points.back().step, 1 / points.back().value, points.back().record}};
        builder_.say("the time of a step is the mean of the whole training, pauses included");
      }
  }

  // A scalar that counts something. An argument of the job must agree with it.
  void set_count(const char* tag, const char* fact) {
    const auto found = file_.scalars.find(tag);
    if (found == file_.scalars.end()) return;
    const Json argument = log_.job.value(fact, Json());
    for (const ScalarPoint& point : found->second) {
      if (!(point.value >= 1 && point.value <= 1e9)) continue;
      const Json count = static_cast<std::int64_t>(point.value);
      if (argument.is_number() && argument != count) refuse_contradiction(tag, count, fact, argument);
      builder_.set_fact(fact, count);
    }
  }

  [[noreturn]] void refuse_contradiction(const char* tag, const Json& count, const char* fact,
                                         const Json& argument) const {
    throw InputError(log_.file + ": " + in_quotes(tag) + " is " + count.dump() + ", and the job's arguments have " +
                     fact + " " + argument.dump() + "; allowed: the events of one job");
  }

  void take_facts() {
    if (log_.format == "megatron") {
      builder_.is_in_arguments = true;
      for (const auto& [tag, text] : file_.texts) {
        const std::string name = tag.substr(0, tag.find("/text_summary"));
        if (words_of(name).size() == 1 && words_of(text).size() == 1)
          read_megatron_line({name + " ... " + text, 0}, builder_);
      }
      set_count("world-size", "gpus");
      set_batch();
      builder_.set_fact("software", "megatron");
    }
    if (log_.format == "tensorboard") take_trainer_arguments();
    if (log_.format == "torchtitan") builder_.set_fact("software", "torchtitan");
    if (log_.format == "nemo") set_count("global_batch_size", "global_batch");
  }

  // HuggingFace's Trainer writes its arguments as JSON.
  void take_trainer_arguments() {
    const auto text = file_.texts.find("args/text_summary");
    if (text == file_.texts.end()) return;
    const Json arguments = Json::parse(text->second, nullptr, false);
    if (!arguments.is_object()) return;
    const auto batch = arguments.find("per_device_train_batch_size");
    if (batch != arguments.end() && batch->is_number_integer() && *batch >= 1 && *batch <= 1 << 20)
      builder_.set_fact("microbatch", *batch);
    for (const char* precision : {"bf16", "fp16"})
      if (arguments.value(precision, Json()) == Json(true)) builder_.set_fact("precision", precision);
  }

  // A global batch may ramp up: steps of smaller ones do not count.
  void set_batch() {
    const auto found = file_.scalars.find("batch-size");
    if (found == file_.scalars.end() || found->second.empty()) return;
    const double last = found->second.back().value;
    if (!(last >= 1 && last <= 1e9)) return;
    std::int64_t before = -1;
    for (const ScalarPoint& point : found->second)
      if (point.value != last) before = std::max(before, point.step);
    const Json argument = log_.job.value("global_batch", Json()), count = static_cast<std::int64_t>(last);
    const bool is_ramping_up = before >= 0 && argument.is_number() && count < argument;
    if (argument.is_number() && argument != count && !is_ramping_up)
      refuse_contradiction("batch-size", count, "global_batch", argument);
    const std::size_t all = log_.steps.size();
    log_.steps.erase(std::remove_if(log_.steps.begin(), log_.steps.end(),
                                    [&](const LoggedStep& step) { return step.number <= before; }),
                     log_.steps.end());
    if (log_.steps.size() < all) builder_.say("steps of a smaller global batch are left out");
    log_.job["global_batch"] = count;
  }

  const EventFile& file_;
  TrainingLog& log_;
  TrainingLogBuilder builder_;
};

}  // namespace

std::uint32_t crc32c(const std::string& bytes) {
  return checksum_of(bytes);
}

bool is_event_file(const std::string& bytes) {
  const std::string_view begin = std::string_view(bytes).substr(0, 64);
  return bytes.size() >= kHead && (number_at(bytes, 8, 4) == masked_checksum(begin.substr(0, 8)) ||
                                   begin.find("brain.Event:") != std::string_view::npos);
}

EventFile read_event_file(const std::string& bytes, const std::string& name) {
  EventFile file;
  const std::string_view all = bytes;
  int record = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::string where = name + ": record " + std::to_string(++record);
    file.is_cut_off = all.size() - at < kHead;
    if (file.is_cut_off) break;
    if (number_at(all, at + 8, 4) != masked_checksum(all.substr(at, 8)))
      throw InputError(where + ": the checksum of its length is wrong; allowed: an event file of TensorBoard");
    const std::uint64_t length = number_at(all, at, 8);
    at += kHead;
    file.is_cut_off = length > all.size() - at || all.size() - at - length < kChecksum;
    if (file.is_cut_off) break;
    const std::string_view event = all.substr(at, static_cast<std::size_t>(length));
    at += event.size();
    if (number_at(all, at, kChecksum) != masked_checksum(event))
      throw InputError(where + ": its checksum is wrong: the file is damaged; allowed: the file as it was written");
    at += kChecksum;
    read_event(event, where, record, file);
  }
  return file;
}

TrainingLog read_event_log(const std::string& bytes, const std::string& name, const std::string& format,
                           const Json& facts) {
  const EventFile file = read_event_file(bytes, name);
  TrainingLog log;
  log.file = name;
  EventLog(file, log).read();
  std::vector<std::string> tags;
  for (const auto& [tag, points] : file.scalars)
    if (tags.size() < 10) tags.push_back(tag);
  if (log.steps.empty())
    throw InputError(name + ": no time of a training step; allowed: a tag \"iteration-time\", \"train_step_timing in " +
                     "s\" or \"time_metrics/end_to_end(s)\", or two points of another one; tags: " +
                     (tags.empty() ? "none" : joined(tags)));
  if (!format.empty() && format != log.format)
    throw InputError(name + ": has events of " + log.format + ", and --format is " + format +
                     "; allowed: leave --format out");
  finish_training_log(log, facts);
  return log;
}

TrainingLog read_training_file(const std::string& path, const std::string& format, const Json& facts) {
  const std::string bytes = log_bytes(path);
  if (is_event_file(bytes)) return read_event_log(bytes, path, format, facts);
  return read_training_log(text_from(bytes, path), path, format, facts);
}

}  // namespace lockstep::calib
