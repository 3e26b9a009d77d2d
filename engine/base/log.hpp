#pragma once
// A log of decisions for debugging: each decision, its reason and its duration. Each entry is one line on standard
// error with the seconds since the program began. It is off unless --log turns it on; results never depend on it.
#include <chrono>
#include <string>

#include "engine/base/choice.hpp"

namespace lockstep {

enum class LogLevel { off, info, debug };

inline const Choices<LogLevel>& choices_of(LogLevel) {
  static const Choices<LogLevel> all{{LogLevel::off, "off"}, {LogLevel::info, "info"}, {LogLevel::debug, "debug"}};
  return all;
}

/// Sets the level of this process and of those that it forks.
void set_log_level(LogLevel level);
/// Whether lines of that level are written. Ask before making a costly text.
bool is_logged(LogLevel level);
/// Writes "0.134 s info TEXT" with one write, so that lines of several processes do not mix.
void write_log(LogLevel level, const std::string& text);

/// On destruction, logs the time since its construction: "0.523 s info replayed 64 GPUs in 0.389 s".
class LogTimer {
 public:
  LogTimer(LogLevel level, std::string what);
  ~LogTimer();
  LogTimer(const LogTimer&) = delete;
  LogTimer& operator=(const LogTimer&) = delete;

 private:
  LogLevel level_;
  std::string what_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace lockstep
