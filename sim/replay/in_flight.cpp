#include "sim/replay/in_flight.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

void InFlight::add(std::vector<double> starts_s, const std::vector<double>& ends_s, double slows) {
  if (slows <= 1 || starts_s == ends_s) return;
  const double earliest_s =
      Eigen::Map<const Eigen::ArrayXd>(starts_s.data(), static_cast<Eigen::Index>(starts_s.size())).minCoeff();
  const double latest_s =
      Eigen::Map<const Eigen::ArrayXd>(ends_s.data(), static_cast<Eigen::Index>(ends_s.size())).maxCoeff();
  collectives_.push_back({std::move(starts_s), ends_s, earliest_s, latest_s, slows});
}

void InFlight::forget_until(double start_s) {
  const auto is_over = [start_s](const Collective& collective) { return collective.latest_end_s <= start_s; };
  collectives_.erase(std::remove_if(collectives_.begin(), collectives_.end(), is_over), collectives_.end());
}

double InFlight::end_s(int gpu, double start_s, double seconds) const {
  double now_s = start_s, left_s = seconds;
  for (const Collective& collective : collectives_) {
    if (collective.starts_s[to_index(gpu)] >= now_s + left_s) break;
    if (collective.ends_s[to_index(gpu)] > now_s) advance_through(collective, gpu, 1, &now_s, &left_s);
  }
  return now_s + left_s;
}

void InFlight::advance(int first, int end, double work_s, const std::vector<double>& factors,
                       std::vector<double>& times_s) const {
  constexpr int kBlock = 512;  // GPUs, whose arrays fit into the processor's first cache
  using Seconds = Eigen::Array<double, Eigen::Dynamic, 1, 0, kBlock, 1>;
  Seconds left_s;
  for (int from = first; from < end; from += kBlock) {
    const int count = std::min(kBlock, end - from);
    Eigen::Map<Seconds> now_s(times_s.data() + from, count);
    left_s = work_s * Eigen::Map<const Seconds>(factors.data() + from, count);
    const double earliest_s = now_s.minCoeff();
    for (const Collective& collective : collectives_) {
      if (collective.latest_end_s <= earliest_s) continue;
      if (collective.earliest_start_s >= earliest_s && collective.earliest_start_s >= (now_s + left_s).maxCoeff())
        break;
      advance_through(collective, from, count, now_s.data(), left_s.data());
    }
    now_s += left_s;
  }
}

// Each GPU works until the collective begins, then more slowly until it ends, at most until nothing is left. The groups
// of GPUs are so small that the compiler keeps all of their values in registers.
void InFlight::advance_through(const Collective& collective, int from, int count, double* now_s, double* left_s) {
  constexpr int kGroup = 8;
  const double slows = collective.slows, speed = 1 / slows;
  const auto work = [&](const auto& starts_s, const auto& ends_s, auto&& now, auto&& left) {
    using Seconds = std::decay_t<decltype(now.eval())>;
    const Seconds alone_s = (starts_s - now).max(0.0).min(left);
    const Seconds begin_s = now + alone_s, rest_s = left - alone_s;
    const Seconds done_s = ((ends_s - begin_s).max(0.0) * speed).min(rest_s);
    now = begin_s + done_s * slows;
    left = rest_s - done_s;
  };
  using Group = Eigen::Array<double, kGroup, 1>;
  using One = Eigen::Array<double, 1, 1>;
  const double* const starts_s = collective.starts_s.data() + from;
  const double* const ends_s = collective.ends_s.data() + from;
  int i = 0;
  for (; i + kGroup <= count; i += kGroup)
    work(Eigen::Map<const Group>(starts_s + i), Eigen::Map<const Group>(ends_s + i), Eigen::Map<Group>(now_s + i),
         Eigen::Map<Group>(left_s + i));
  for (; i < count; ++i)
    work(Eigen::Map<const One>(starts_s + i), Eigen::Map<const One>(ends_s + i), Eigen::Map<One>(now_s + i),
         Eigen::Map<One>(left_s + i));
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
