#pragma once
// A log of decisions for debugging: what was decided, why, and how long it took. One line each on standard error, with the
// seconds since the program began. Off unless a program's --log turns it on; results never depend on it.
#include <chrono>
#include <string>

#include "engine/base/choice.hpp"

namespace lockstep {

enum class LogLevel { off, info, debug };

inline const Choices<LogLevel>& choices_of(LogLevel) {
  static const Choices<LogLevel> all{{LogLevel::off, "off"}, {LogLevel::info, "info"}, {LogLevel::debug, "debug"}};
  return all;
}

/// For this process and those that it forks.
void set_log_level(LogLevel level);
/// Whether lines of that level are written: a guard for texts that cost time to make.
bool is_logged(LogLevel level);
/// Writes "0.134 s  info  TEXT" in one piece, so that lines of several processes do not mix.
void write_log(LogLevel level, const std::string& text);

/// Logs the time since it was made when it is destroyed: "0.523 s  info  replayed 64 GPUs in 0.389 s".
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
