#include "engine/base/progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/base/text.hpp"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetween(200);

struct Screen {
  std::FILE* file = nullptr;
  std::chrono::milliseconds first{0};
  std::vector<ProgressStep> steps;
  Clock::time_point began, next;
  bool is_drawn = false;
};

Screen& screen() {
  thread_local Screen the_screen;
  return the_screen;
}

void draw(Screen& s) {
  const Clock::time_point now = Clock::now();
  const bool has_ended = s.is_drawn && s.steps.size() == 1 && s.steps.front().done == s.steps.front().of;
  if (s.file == nullptr || (now < s.next && !has_ended)) return;
  s.next = now + kBetween;
  const std::string text = progress_text(s.steps, std::chrono::duration<double>(now - s.began).count());
  std::fprintf(s.file, "\r\033[K%s", text.c_str());
  std::fflush(s.file);
  s.is_drawn = true;
}

}  // namespace

void show_progress_on(std::FILE* file, std::chrono::milliseconds first) {
  screen().file = file;
  screen().is_drawn = false;
  screen().first = first;
}

std::chrono::milliseconds progress_delay() {
  const char* const wanted_ms = std::getenv("LOCKSTEP_PROGRESS_AFTER_MS");
  return std::chrono::milliseconds(wanted_ms == nullptr ? 2000 : std::atoi(wanted_ms));
}

void clear_progress() {
  Screen& s = screen();
  if (s.is_drawn && s.file != nullptr) {
    std::fputs("\r\033[K", s.file);
    std::fflush(s.file);
  }
  s.is_drawn = false;
}

std::string time_left_text(double left_s) {
  constexpr double kMinute_s = 60, kHour_s = 3600;
  if (left_s < 2 * kMinute_s) return formatted("%.0f s", std::ceil(left_s));
  return left_s < 2 * kHour_s ? formatted("%.0f min", left_s / kMinute_s) : formatted("%.1f h", left_s / kHour_s);
}

double share_done(const std::vector<ProgressStep>& steps) {
  double share = 0;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    share = step->of == 0 ? 0 : std::min(1.0, (double(step->done) + share) / double(step->of));
  return share;
}

std::string progress_text(const std::vector<ProgressStep>& steps, double passed_s) {
  std::string text;
  for (const ProgressStep& step : steps) {
    if (step.of == 1 && steps.size() > 1) continue;
    text += (text.empty() ? "" : ", ") + step.what + " " + with_thousands(double(step.done));
    if (step.of > 0) text += "/" + with_thousands(double(step.of));
  }
  const double share = share_done(steps);
  if (share > 0) text += ", " + time_left_text(passed_s * (1 - share) / share) + " left";
  return text;
}

ProgressLine::ProgressLine(std::string what, std::size_t of) : depth_(screen().steps.size()) {
  Screen& s = screen();
  if (depth_ == 0) {
    s.began = Clock::now();
    s.next = s.began + s.first;
  }
  s.steps.push_back({std::move(what), 0, of});
}

ProgressLine::~ProgressLine() {
  Screen& s = screen();
  s.steps.resize(depth_);
  if (depth_ == 0) clear_progress();
}

void ProgressLine::advance() {
  advance_to(screen().steps[depth_].done + 1);
}

void ProgressLine::advance_to(std::size_t done) {
  Screen& s = screen();
  s.steps[depth_].done = done;
  draw(s);
}

}  // namespace lockstep
