#include "calib/probe/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calib/second_look.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

double least_of_series_s(const SamplingOptions& o) {
  const double warm_up_s = std::max(o.warm_up_s, o.warm_up_runs * kShortestSample_s);
  return std::min(o.time_limit_s, warm_up_s + o.least * kShortestSample_s);
}

// The time spent on both measurements, with only one warm-up.
double spent_s(const Sample& sample, const SamplingOptions& o) {
  double samples = static_cast<double>(sample.seconds.size());
  for (const SetAside& other : sample.set_aside)
    if (other.why != "first" && other.why != "second") samples += static_cast<double>(other.seconds.size());
  return std::clamp(o.warm_up_s + samples * std::max(kShortestSample_s, sample.median_s()), least_of_series_s(o),
                    o.time_limit_s);
}

// Series of a probe that the log has, and the time that they took.
struct Known {
  int series = 0, revisited = 0, again = 0;
  double spent_s = 0;
};

void add(ExpectedGroup& all, const ExpectedGroup& group) {
  all.series += group.series;
  all.done += group.done;
  all.again += group.again;
  all.least_s += group.least_s;
  all.expected_s += group.expected_s;
  all.most_s += group.most_s;
}

std::string line(const char* probe, const ExpectedGroup& group) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-11s %6d %6d %6d %6d %10s %10s %10s\n", probe, group.series, group.done,
                group.again, group.series - group.done + group.again, format_seconds(group.expected_s).c_str(),
                format_seconds(group.least_s).c_str(), format_seconds(group.most_s).c_str());
  return text;
}

}  // namespace

Expectation expectation_of(const std::vector<Probe>& probes, const std::vector<Sample>& samples,
                           const SamplingOptions& options) {
  std::map<std::string, const Sample*> log;
  for (const Sample& sample : samples) log[sample.id()] = &sample;
  std::map<std::string, Known> known;
  Known of_all;
  Expectation expectation;
  for (const Probe& probe : probes) {
    auto group = std::find_if(expectation.groups.begin(), expectation.groups.end(),
                              [&](const ExpectedGroup& one) { return one.probe == probe.probe; });
    if (group == expectation.groups.end()) {
      expectation.groups.emplace_back();
      group = std::prev(expectation.groups.end());
      group->probe = probe.probe;
    }
    ++group->series;
    const auto done = log.find(probe.id());
    if (done == log.end()) continue;
    ++group->done;
    const bool is_again = options.has_second_look && wants_second_look(*done->second);
    group->again += is_again;
    for (Known* of : {&known[probe.probe], &of_all}) {
      ++of->series;
      of->spent_s += spent_s(*done->second, options);
      of->revisited += is_again || done->second->has_flag(kRevisited);
    }
  }
  const double least_s = least_of_series_s(options), most_s = options.time_limit_s;
  const double twice = options.has_second_look && of_all.series > 0 ? double(of_all.revisited) / of_all.series : 0;
  for (ExpectedGroup& group : expectation.groups) {
    const Known& of = known[group.probe];
    const int fresh = group.series - group.done;
    group.each_s = of.series > 0 ? of.spent_s / of.series : std::sqrt(least_s * most_s);
    group.least_s = (fresh + group.again) * least_s;
    group.expected_s = (fresh * (1 + twice) + group.again) * group.each_s;
    group.most_s = (fresh * (options.has_second_look ? 2 : 1) + group.again) * most_s;
    add(expectation.all, group);
  }
  return expectation;
}

std::string expectation_text(const Expectation& expectation, const SamplingOptions& options) {
  char text[600];
  std::snprintf(text, sizeof text, "  %-11s %6s %6s %6s %6s %10s %10s %10s\n", "probe", "series", "done", "again",
                "left", "expected", "at least", "at most");
  std::string table = "                                           warm-up and samples, without setting up\n";
  table += text;
  for (const ExpectedGroup& group : expectation.groups) table += line(group.probe.c_str(), group);
  table += line("all", expectation.all);
  std::snprintf(
      text, sizeof text,
      "A series ends after %s, or when its median is known to %.3g %%%s. Expected is an estimate%s. Setting up each "
      "series (memory, images, plans of convolutions) comes on top, and so does the rest of a sample that it ends in: "
      "the progress bar counts both, from what the series before took.\n",
      format_seconds(options.time_limit_s).c_str(), 100 * options.tolerance,
      options.has_second_look ? "; one that was disturbed is taken once more (--once: none is)" : "",
      expectation.all.done > 0 ? ", by the series that are done" : ": the middle of both bounds, in the logarithm");
  return table + text;
}

TimeLeft::TimeLeft(const Expectation& expectation) {
  for (const ExpectedGroup& group : expectation.groups) {
    groups_[group.probe].left = group.series - group.done;
    groups_[group.probe].each_s = group.each_s;
  }
}

void TimeLeft::took(const std::string& probe, double seconds) {
  Group& group = groups_[probe];
  --group.left;
  ++group.taken;
  group.taken_s += seconds;
}

void TimeLeft::expect_again(const std::vector<const Probe*>& probes) {
  for (const Probe* probe : probes) ++groups_[probe->probe].left;
}

double TimeLeft::seconds() const {
  double sum = 0;
  for (const auto& [probe, group] : groups_)
    sum += group.left * (group.taken > 0 ? group.taken_s / group.taken : group.each_s);
  return sum;
}

}  // namespace lockstep::calib
