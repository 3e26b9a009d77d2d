#include "engine/base/log.hpp"

#include <cstdio>

#include "engine/base/progress_line.hpp"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

LogLevel wanted = LogLevel::off;
const Clock::time_point start = Clock::now();

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void set_log_level(LogLevel level) {
  wanted = level;
}

bool is_logged(LogLevel level) {
  return level != LogLevel::off && level <= wanted;
}

void write_log(LogLevel level, const std::string& text) {
  if (!is_logged(level)) return;
  const std::string line = formatted("%.3f s  ", seconds_since(start)) + name_of(level) + "  " + text + "\n";
  clear_progress();
  std::fputs(line.c_str(), stderr);
}

LogTimer::LogTimer(LogLevel level, std::string what) : level_(level), what_(std::move(what)), begin_(Clock::now()) {}

LogTimer::~LogTimer() {
  if (is_logged(level_)) write_log(level_, what_ + " in " + formatted("%.3f s", seconds_since(begin_)));
}

}  // namespace lockstep
