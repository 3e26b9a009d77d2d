#pragma once
// Readers of single lines of training logs, one per program. Only training_log.cpp uses them.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calib/import/training_log.hpp"

namespace lockstep::calib {

/// A line of a log after the prefix of launchers was removed.
struct LogLine {
  std::string text;
  int number = 0;
};

struct TrainingFormat {
  std::string name;
  /// Adds a line's content: a time, a fact, an interruption. Returns true if only this program prints such a line.
  std::function<bool(const LogLine& line, class TrainingLogBuilder& log)> read_line;
};

/// Gathers the facts of one log's lines.
class TrainingLogBuilder {
 public:
  explicit TrainingLogBuilder(TrainingLog& log) : log_(log) {}

  void add_step(std::int64_t number, double seconds, const LogLine& line, StepUnit unit = StepUnit::step);
  /// The next step's time may include this event.
  void note_interruption(const std::string& what) { interruption_ = what; }
  /// Keeps the first value of a key, except for a global batch that ramps up: it takes the new value, drops the earlier
  /// steps, and says so.
  void set_fact(const std::string& key, const Json& value);
  bool has_fact(const std::string& key) const { return log_.job.contains(key); }
  void set_tokens_per_step(double tokens) { log_.tokens_per_step = tokens; }
  void say(const std::string& text);
  TrainingLog& log() { return log_; }

  // State of single readers
  struct Bar {
    std::int64_t done = 0, of = 0;
    double elapsed_s = 0;
    int line = 0;
  };
  std::vector<Bar> bars;
  std::vector<LoggedStep> breakdown;  ///< times of DeepSpeed's parts of a step
  bool is_in_arguments = false;       ///< between "arguments" and "end of arguments" of Megatron-LM

 private:
  TrainingLog& log_;
  std::string interruption_;
};

const std::vector<TrainingFormat>& training_readers();

/// Adds the user's facts, which may not contradict the log's, and finds the steady steps. Throws InputError.
void finish_training_log(TrainingLog& log, const Json& facts);

/// The number that follows `key` in the line, after blanks, ':' and '='. Skips commas between thousands and ignores the
/// text after the number. None if there is no such key, or no positive finite number after it.
std::optional<double> number_after(const std::string& line, const std::string& key);
/// True if the line has `key` with something behind it, a number or not.
bool has_value_after(const std::string& line, const std::string& key);
/// The same as number_after() with nanotron's suffixes: "4.71K" is 4710.
std::optional<double> scaled_number_after(const std::string& line, const std::string& key);

inline bool has_text(const std::string& line, const char* part) {
  return line.find(part) != std::string::npos;
}

// In training_formats.cpp and training_formats_megatron.cpp
bool read_megatron_line(const LogLine& line, TrainingLogBuilder& log);
bool read_nemo_line(const LogLine& line, TrainingLogBuilder& log);
bool read_deepspeed_line(const LogLine& line, TrainingLogBuilder& log);
bool read_torchtitan_line(const LogLine& line, TrainingLogBuilder& log);
bool read_huggingface_line(const LogLine& line, TrainingLogBuilder& log);
bool read_nanogpt_line(const LogLine& line, TrainingLogBuilder& log);
bool read_llmc_line(const LogLine& line, TrainingLogBuilder& log);
bool read_nanotron_line(const LogLine& line, TrainingLogBuilder& log);

}  // namespace lockstep::calib
