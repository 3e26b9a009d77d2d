#pragma once
// What a calibration is going to measure, and how long that takes: said before it begins, and while it goes on.
//
// A series lasts its warm-up and samples. Of how long one takes on this device nothing is known before it was measured,
// so what is expected begins as the middle, in the logarithm, of two bounds: the least number of samples, each as short
// as samples are made (kShortestSample_s), and SamplingOptions::time_limit_s. Where the log has series of a probe, the
// others of that probe are expected to take what those took, from their numbers of samples and medians; and as large a
// share to be measured twice as of all the log's. All of it, the most as well, is warm-up and samples: what setting up
// takes (memory, images, plans of convolutions) comes on top, and so does the rest of a sample that the time limit
// falls into. A log does not tell either; while it goes on they are known (TimeLeft).
#include <map>
#include <string>
#include <vector>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {

/// Of one probe.
struct ExpectedGroup {
  std::string probe;
  int series = 0;
  int done = 0;   ///< of those, in the log
  int again = 0;  ///< of the done ones, to be measured a second time (second_look.hpp)
  double each_s = 0;
  double least_s = 0, expected_s = 0, most_s = 0;  ///< of warm-up and samples, for all that are left
};

struct Expectation {
  std::vector<ExpectedGroup> groups;  ///< in the order in which they begin
  ExpectedGroup all;                  ///< `each_s` has no meaning
};

/// `samples` are those of the log, empty for a run that begins.
Expectation expectation_of(const std::vector<Probe>& probes, const std::vector<Sample>& samples,
                           const SamplingOptions& options);

/// A table, a line for each probe and one for all, and what the figures mean.
std::string expectation_text(const Expectation& expectation, const SamplingOptions& options);

/// The same while it goes on: a probe's series are expected to take what those measured since took on average, setting
/// up included.
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
