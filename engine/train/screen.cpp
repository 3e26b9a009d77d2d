#include "engine/train/screen.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/train/noise_record.hpp"

namespace lockstep::train {
namespace {

constexpr int kBarWidth = 30;
constexpr std::chrono::seconds kBetweenLines(30);

std::string reached_text(const Json& of) {
  if (of.at("epochs_to_target").is_null()) return "not reached";
  return short_number(of.at("epochs_to_target").get<double>()) + " epochs, " +
         format_seconds(of.at("seconds_to_target").get<double>());
}

}  // namespace

void Screen::clear_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  bar_shown_ = false;
}

void Screen::resumed(std::int64_t epochs, std::int64_t iterations) {
  if (!has_notes_) return;
  std::fprintf(stderr, "train: resumed after %lld epochs, %lld iterations\n", static_cast<long long>(epochs),
               static_cast<long long>(iterations));
}

void Screen::tuned(int gpu, int learners) {
  clear_bar();
  if (has_notes_) std::fprintf(stderr, "train: GPU %d goes on with %d learners\n", gpu, learners);
}

void Screen::remark(const std::string& line) {
  clear_bar();
  if (has_notes_) std::fprintf(stderr, "train: %s\n", one_line(line).c_str());
}

std::string Screen::time_left(double epochs_done) {
  const auto now = std::chrono::steady_clock::now();
  if (first_call_.time_since_epoch().count() == 0) {
    first_call_ = now;
    first_epochs_ = epochs_done;
  }
  const double passed_s = std::chrono::duration<double>(now - first_call_).count(), done = epochs_done - first_epochs_;
  if (passed_s < 2 || done <= 0) return "";
  return ", at most " + time_left_text(passed_s * std::max(0.0, epochs_ - epochs_done) / done) + " left";
}

void Screen::iteration(std::int64_t epoch, double share, double loss) {
  if (!has_bar_ && !has_notes_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::string left = time_left(double(epoch - 1) + share);
  if (!has_bar_) {  // standard error is a file or a pipe: prints a line at long intervals
    if (last_bar_.time_since_epoch().count() == 0) last_bar_ = now;
    if (now - last_bar_ < kBetweenLines) return;
    last_bar_ = now;
    std::fprintf(stderr, "train: epoch %lld, %.0f %%, loss %.4f%s\n", static_cast<long long>(epoch), 100 * share, loss,
                 left.c_str());
    return;
  }
  if (bar_shown_ && now - last_bar_ < std::chrono::milliseconds(100)) return;
  last_bar_ = now;
  bar_shown_ = true;
  const int done = static_cast<int>(share * kBarWidth);
  std::fprintf(stderr, "\repoch %lld [%.*s%*s] %3.0f %%, loss %.4f%s\033[K", static_cast<long long>(epoch), done,
               "##############################", kBarWidth - done, "", 100 * share, loss, left.c_str());
}

void Screen::epoch(const Json& epoch) {
  clear_bar();
  if (!has_header_)
    std::printf("%6s %11s %10s %9s %10s %10s\n", "epoch", "iterations", "loss", "test", "images/s", "time");
  has_header_ = true;
  char loss[32] = "-";  // a short epoch on a GPU has no loss
  if (!epoch.at("train_loss").is_null()) std::snprintf(loss, sizeof loss, "%.5f", epoch.at("train_loss").get<double>());
  char rate[32] = "-";  // an epoch without an iteration has no rate
  if (!epoch.at("samples_per_s").is_null())
    std::snprintf(rate, sizeof rate, "%.0f", epoch.at("samples_per_s").get<double>());
  std::printf("%6lld %11lld %10s %7.2f %% %10s %10s\n", epoch.at("epoch").get<long long>(),
              epoch.at("iterations").get<long long>(), loss, 100 * epoch.at("test_accuracy").get<double>(), rate,
              format_seconds(epoch.at("train_s").get<double>()).c_str());
  std::fflush(stdout);
}

std::string summary_text(const Json& record) {
  std::string text = record.at("status").get<std::string>();
  if (!record.at("target").is_null()) {
    char target[32];
    std::snprintf(target, sizeof target, "%.2f %%", 100 * record.at("target").get<double>());
    text += std::string("; ") + target + " test accuracy: " + reached_text(record) +
            "; as median of 5 epochs: " + reached_text(record.at("median_of_5"));
  }
  return text + "\n" + noise_text(record);
}

}  // namespace lockstep::train
