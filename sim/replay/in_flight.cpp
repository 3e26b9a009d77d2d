#include "sim/replay/in_flight.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <set>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

void InFlight::add(const std::vector<double>& starts_s, const std::vector<double>& ends_s, double slows) {
  if (slows <= 1 || starts_s == ends_s) return;
  collectives_.push_back({starts_s, ends_s, *std::min_element(starts_s.begin(), starts_s.end()),
                          *std::max_element(ends_s.begin(), ends_s.end()), slows});
}

void InFlight::forget_until(double start_s) {
  const auto is_over = [start_s](const Collective& collective) { return collective.latest_end_s <= start_s; };
  collectives_.erase(std::remove_if(collectives_.begin(), collectives_.end(), is_over), collectives_.end());
}

double InFlight::end_s(int gpu, double start_s, double seconds) const {
  if (is_empty()) return start_s + seconds;
  std::vector<double> times_s(to_index(gpu) + 1, start_s);
  advance(gpu, gpu + 1, seconds, std::vector<double>(to_index(gpu) + 1, 1.0), times_s);
  return times_s.back();
}

void InFlight::advance(int first, int end, double work_s, const std::vector<double>& factors,
                       std::vector<double>& times_s) const {
  constexpr int kBlock = 512;  // GPUs, whose arrays fit into the processor's first cache
  using Seconds = Eigen::Array<double, Eigen::Dynamic, 1, 0, kBlock, 1>;
  for (int from = first; from < end; from += kBlock) {
    const int count = std::min(kBlock, end - from);
    const auto block_of = [&](const std::vector<double>& values) {
      return Eigen::Map<const Seconds>(values.data() + from, count);
    };
    Eigen::Map<Seconds> now_s(times_s.data() + from, count);
    Seconds left_s = work_s * block_of(factors), alone_s, done_s;
    const double earliest_s = now_s.minCoeff();
    // Each GPU works until the collective begins, then more slowly until it ends, at most until nothing is left.
    for (const Collective& collective : collectives_) {
      if (collective.latest_end_s <= earliest_s) continue;
      if (collective.earliest_start_s >= earliest_s && collective.earliest_start_s >= (now_s + left_s).maxCoeff())
        break;
      alone_s = (block_of(collective.starts_s) - now_s).max(0.0).min(left_s);
      now_s += alone_s;
      left_s -= alone_s;
      done_s = ((block_of(collective.ends_s) - now_s).max(0.0) / collective.slows).min(left_s);
      now_s += done_s * collective.slows;
      left_s -= done_s;
    }
    now_s += left_s;
  }
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
