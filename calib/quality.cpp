#include "calib/quality.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calib/second_look.hpp"
#include "calib/summary.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kWorthSaying = 0.005;

// Returns the measurement that was set aside, if there were two.
const SetAside* other_look(const Sample& sample) {
  for (const SetAside& aside : sample.set_aside)
    if (aside.why == "first" || aside.why == "second") return &aside;
  return nullptr;
}

// Whether the sample is a point of the curve. Numbers are compared by value; the order of members does not matter.
bool is_of_curve(const Sample& sample, const Fit& fit) {
  if (sample.probe != fit.probe || sample.key.size() != fit.key.size() + 1) return false;
  for (const auto& [name, value] : fit.key.items()) {
    const auto member = sample.key.find(name);
    if (member == sample.key.end() || *member != value) return false;
  }
  const auto x = sample.key.find(fit.variable);
  return x != sample.key.end() && x->is_number();
}

}  // namespace

double SeriesQuality::relative() const {
  return std::sqrt(interval * interval + drift * drift + outliers * outliers + disagreement * disagreement);
}

std::string SeriesQuality::text() const {
  std::string text;
  const auto add = [&](double part, const std::string& words) {
    if (part >= kWorthSaying) text += (text.empty() ? "" : ", ") + words;
  };
  add(interval, "its median is known to " + percent(interval, "%.3g %%"));
  add(drift, "it drifted by " + percent(2 * drift, "%.3g %%"));
  add(outliers, "its outliers may move it by " + percent(outliers, "%.3g %%"));
  add(disagreement, "its two measurements are " + percent(2 * disagreement, "%.3g %%") + " apart");
  return text;
}

SeriesQuality quality_of(const Sample& sample) {
  SeriesQuality quality;
  if (sample.seconds.size() < 2) return quality;
  const Summary summary = summarise(sample.seconds);
  if (!(summary.median_s > 0)) return quality;
  quality.interval = summary.relative_half_width;
  if (sample.has_flag("drift")) quality.drift = std::abs(summary.drift) / 2;
  if (sample.has_flag("outliers")) {
    const double half = 0.5 * summary.outliers / summary.count;
    quality.outliers =
        (quantile(sample.seconds, 0.5 + half) - quantile(sample.seconds, 0.5 - half)) / (2 * summary.median_s);
  }
  const SetAside* other = sample.has_flag(kDisagrees) ? other_look(sample) : nullptr;
  if (other != nullptr && !other->seconds.empty())
    quality.disagreement = std::abs(median(other->seconds) / summary.median_s - 1) / 2;
  return quality;
}

double CurveQuality::relative() const {
  return std::hypot(series, fit);
}

CurveQuality quality_at(const Profile& profile, const Fit& fit, double x) {
  const Sample *below = nullptr, *above = nullptr;
  const auto x_of = [&](const Sample& sample) { return sample.key.find(fit.variable)->get<double>(); };
  for (const Sample& sample : profile.samples) {
    if (!is_of_curve(sample, fit)) continue;
    const double at = x_of(sample);
    if (at <= x && (below == nullptr || at > x_of(*below))) below = &sample;
    if (at >= x && (above == nullptr || at < x_of(*above))) above = &sample;
  }
  CurveQuality quality;
  for (const Sample* next : {below, above == below ? nullptr : above}) {
    if (next == nullptr) continue;
    const SeriesQuality of_series = quality_of(*next);
    if (of_series.relative() > quality.series) {
      quality.series = of_series.relative();
      quality.why = of_series.text();
    }
    quality.fit = std::max(quality.fit, std::abs(fit.line.at(x_of(*next)) / next->median_s() - 1));
  }
  const bool is_between = below != nullptr && above != nullptr && below != above;
  if (is_between) quality.fit = std::max(quality.fit, fit.line.leave_one_out);
  return quality;
}

ImpreciseSeries imprecise_series(const Profile& profile, double tolerance) {
  ImpreciseSeries count;
  for (const Sample& sample : profile.samples) {
    if (sample.probe == "layer" || sample.seconds.size() < 2) continue;
    ++count.of;
    count.imprecise += quality_of(sample).relative() > tolerance ? 1 : 0;
  }
  return count;
}

}  // namespace lockstep::calib
