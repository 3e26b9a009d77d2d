#include <algorithm>
#include <cstdio>
#include <map>

#include "calib/bus_bandwidth.hpp"
#include "calib/chart.hpp"
#include "calib/facts.hpp"
#include "calib/noise_scale.hpp"
#include "calib/overlap.hpp"
#include "calib/profile.hpp"
#include "calib/summary.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

std::string key_text(const Json& key) {
  std::string text;
  for (const auto& [name, value] : key.items())
    text += (text.empty() ? "" : " ") + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string amount(const std::string& variable, double x) {
  return variable == "bytes" ? format_bytes(x) : short_number(x);
}

// "12.3 us + bytes / 45.6 GB/s", or "12.3 us + 7.8 us each" for counts.
std::string line_text(const std::string& variable, const Line& line) {
  const std::string latency = format_seconds(line.latency_s);
  if (line.seconds_per_unit <= 0) return latency;
  if (variable == "bytes") return latency + " + bytes / " + format_bandwidth(1 / line.seconds_per_unit);
  return latency + " + " + format_seconds(line.seconds_per_unit) + " each";
}

std::string fit_text(const Fit& fit) {
  std::string text = "  " + key_text(fit.key) + " (" + fit.kind + ", " + std::to_string(fit.line.points) + " points, " +
                     fit.variable + " " + amount(fit.variable, fit.line.from_x) + " to " +
                     amount(fit.variable, fit.line.to_x) + ")\n";
  for (const Piece& piece : fit.line.pieces)
    text += "    from " + amount(fit.variable, piece.from_x) + ": " + line_text(fit.variable, piece.line) + "\n";
  if (!fit.line.anchors.empty()) text += "    taken from point to point, the lines above only outside the range\n";
  text += "    residual median " + percent(fit.line.median_residual) + ", worst " + percent(fit.line.worst_residual);
  if (fit.line.leave_one_out > 0)
    text += "; left out: median " + percent(fit.line.leave_one_out) + ", worst " + percent(fit.line.worst_left_out);
  return text + "\n";
}

std::string flags_text(const Profile& profile) {
  std::map<std::string, int> counts;
  for (const Sample& sample : profile.samples)
    for (const std::string& flag : sample.flags) ++counts[flag];
  if (counts.empty()) return "";
  std::vector<std::string> words;
  for (const auto& [flag, count] : counts) words.push_back(flag + " " + std::to_string(count));
  return "Flagged samples: " + joined(words) + "\n";
}

// "Clocks while measured: 1.41 to 1.98 GHz, not higher for power cap (12 series)".
std::string clocks_text(const Profile& profile) {
  double least = 0, most = 0;
  std::map<std::string, int> reasons;
  for (const Sample& sample : profile.samples) {
    for (const double hz : sample.clock_hz) {
      least = least > 0 ? std::min(least, hz) : hz;
      most = std::max(most, hz);
    }
    for (const std::string& reason : sample.clock_reasons) ++reasons[reason];
  }
  if (most <= 0) return "";
  std::vector<std::string> words;
  for (const auto& [reason, count] : reasons) words.push_back(reason + " (" + std::to_string(count) + " series)");
  char text[80];
  std::snprintf(text, sizeof text, "Clocks while measured: %.2f to %.2f GHz", least * 1e-9, most * 1e-9);
  return std::string(text) + (words.empty() ? "" : ", not higher for " + joined(words)) + "\n";
}

std::string slowdown_text(const Profile& profile) {
  std::string text;
  for (const Slowdown& one : slowdowns(profile)) {
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3f", one.ratio);
    text += "  " + one.model + " " + one.precision + ", batch " + short_number(one.batch) + ", " +
            std::to_string(one.devices) + " devices: an iteration beside all-reduces (" + one.library + ") of " +
            format_bytes(one.bytes) + " takes " + ratio + " times as long\n";
  }
  return text;
}

// Prints at most 20 lines, and the number of the others.
std::string doubts_text(const std::vector<std::string>& lines, const std::string& title) {
  constexpr std::size_t kMost = 20;
  std::string text = lines.empty() ? "" : "\n" + title + "\n";
  for (std::size_t i = 0; i < lines.size() && i < kMost; ++i) text += "  " + lines[i] + "\n";
  if (lines.size() > kMost) text += "  and " + std::to_string(lines.size() - kMost) + " more\n";
  return text;
}

}  // namespace

Doubts doubts_of(const Profile& profile) {
  constexpr double kMost = 0.05;
  Doubts doubts;
  for (const Sample& sample : profile.samples) {
    if (sample.seconds.size() < 2 || sample.probe == "layer") continue;
    const Summary summary = summarise(sample.seconds);
    std::string why;
    if (summary.relative_half_width > kMost)
      why += ", median " + format_seconds(summary.median_s) + " known to " + percent(summary.relative_half_width);
    if (sample.has_flag("drift")) why += ", drifted by " + percent(summary.drift);
    if (sample.has_flag("outliers")) why += ", " + std::to_string(summary.outliers) + " outliers";
    if (sample.has_flag("disagrees")) why += ", its two measurements disagree";
    if (!why.empty()) doubts.series.push_back(sample.probe + " " + key_text(sample.key) + ": " + why.substr(2));
  }
  for (const Fit& fit : profile.fits) {
    if (fit.probe != "iteration" && fit.probe != "collective") continue;
    const double worst = std::max(fit.line.worst_residual, fit.line.worst_left_out);
    if (worst > kMost) doubts.fits.push_back(fit.probe + " " + key_text(fit.key) + ": off by up to " + percent(worst));
  }
  return doubts;
}

std::string report_text(const Profile& profile) {
  std::string text = profile.name + ": " + std::to_string(profile.device.count) + " x " + profile.device.name + " (" +
                     profile.device.kind + ")\n";
  text += facts_text(profile.device.facts);
  text += noise_scale_text(profile.device.facts);
  text += std::to_string(profile.samples.size()) + " samples, " + std::to_string(profile.fits.size()) + " fits\n";
  text += flags_text(profile);
  text += clocks_text(profile);
  for (const std::string& probe : probes()) {
    std::string part;
    for (const Fit& fit : profile.fits) {
      if (fit.probe != probe) continue;
      part += fit_text(fit);
      if (probe == "iteration" || probe == "collective" || probe == "step") part += chart_text(profile, fit);
    }
    if (probe == "overlap") part += slowdown_text(profile);
    if (probe == "collective") part += bus_bandwidth_text(profile);
    if (!part.empty()) text += "\n" + probe + "\n" + part;
  }
  const Doubts doubts = doubts_of(profile);
  text += doubts_text(doubts.series, "Series to be doubted");
  text += doubts_text(doubts.fits, "Fits to be doubted");
  return text;
}

}  // namespace lockstep::calib
