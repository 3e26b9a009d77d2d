#pragma once
// The plan of a calibration and its expected duration, which calibrate prints before it starts and updates as it runs.
//
// A series consists of warm-up and samples. Before a series has run, its duration is unknown. So the first estimate is
// the geometric mean of two bounds: the smallest number of samples, each of the shortest length (kShortestSample_s),
// and SamplingOptions::time_limit_s. If the log has series of a probe, their numbers of samples and medians give the
// expected duration of the probe's other series. As many series are expected to be measured twice as in the log, as a
// fraction. All three estimates cover only warm-up and samples. Set-up (memory, images, plans of convolutions) comes on
// top, and so does the rest of a sample in progress at the time limit. The log does not contain these; during the run
// they are known (TimeLeft).
#include <map>
#include <string>
#include <vector>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {

/// The expectation of one probe.
struct ExpectedGroup {
  std::string probe;
  int series = 0;
  int done = 0;   ///< part of `series` that the log has
  int again = 0;  ///< part of `done` to be measured a second time (second_look.hpp)
  double each_s = 0;
  double least_s = 0, expected_s = 0, most_s = 0;  ///< warm-up and samples of all remaining series
};

struct Expectation {
  std::vector<ExpectedGroup> groups;  ///< in the order of their start
  ExpectedGroup all;                  ///< the total; its `each_s` has no meaning
};

/// `samples` are the log's; empty for a new run.
Expectation expectation_of(const std::vector<Probe>& probes, const std::vector<Sample>& samples,
                           const SamplingOptions& options);

/// Writes a table with one line per probe and a total, and explains its figures.
std::string expectation_text(const Expectation& expectation, const SamplingOptions& options);

/// The remaining time during a run. A probe's series are expected to take the average of those measured since,
/// including set-up.
class TimeLeft {
 public:
  explicit TimeLeft(const Expectation& expectation);
  void took(const std::string& probe, double seconds);
  void expect_again(const std::vector<const Probe*>& probes);
  double seconds() const;

 private:
  struct Group {
    int left = 0, taken = 0;
    double each_s = 0, taken_s = 0;
  };
  std::map<std::string, Group> groups_;
};

}  // namespace lockstep::calib
