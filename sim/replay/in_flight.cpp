#include "sim/replay/in_flight.hpp"

#include <algorithm>
#include <set>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

void InFlight::add(int gpu, double start_s, double end_s, double slows) {
  if (slows <= 1 || end_s <= start_s) return;
  if (of_gpu_.empty()) of_gpu_.resize(gpus_);
  of_gpu_[to_index(gpu)].push_back({start_s, end_s, slows});
}

double InFlight::end_s(int gpu, double start_s, double seconds) {
  if (of_gpu_.empty()) return start_s + seconds;
  std::vector<Interval>& intervals = of_gpu_[to_index(gpu)];
  const auto is_over = [start_s](const Interval& interval) { return interval.end_s <= start_s; };
  intervals.erase(intervals.begin(), std::find_if_not(intervals.begin(), intervals.end(), is_over));
  double now_s = start_s, left_s = seconds;
  for (const Interval& interval : intervals) {
    const double alone_s = std::max(0.0, interval.start_s - now_s);
    if (left_s <= alone_s) break;
    left_s -= alone_s;
    now_s += alone_s;
    const double done_beside_s = (interval.end_s - now_s) / interval.slows;
    if (left_s <= done_beside_s) return now_s + left_s * interval.slows;
    left_s -= done_beside_s;
    now_s = interval.end_s;
  }
  return now_s + left_s;
}

bool has_slowdowns(const Program& program) {
  return std::any_of(program.work.begin(), program.work.end(), [](const Work& work) { return work.slows > 1; });
}

bool knows_what_is_in_flight(const Program& program) {
  std::set<int> compute_streams, collective_streams;
  std::vector<int> ended(program.work.size(), -1);  // by work: the latest compute that has ended when the work starts
  std::vector<int> last_of_stream(program.streams.size(), -1);
  int last_compute = -1;
  const auto implied_by = [&](int w) {
    return program.work[to_index(w)].kind == Work::Kind::compute ? w : ended[to_index(w)];
  };
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    const Work& work = program.work[w];
    for (int waited : work.after) ended[w] = std::max(ended[w], implied_by(waited));
    int& last = last_of_stream[to_index(work.stream)];
    if (last >= 0) ended[w] = std::max(ended[w], implied_by(last));
    last = static_cast<int>(w);
    if (work.kind == Work::Kind::compute) {
      compute_streams.insert(work.stream);
      last_compute = static_cast<int>(w);
    } else if (work.slows > 1) {
      collective_streams.insert(work.stream);
      if (ended[w] < last_compute) return false;
    }
  }
  return compute_streams.size() <= 1 && collective_streams.size() <= 1;
}

}  // namespace lockstep::sim::replay
