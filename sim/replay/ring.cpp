#include "sim/replay/ring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/index.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
constexpr double kRoundingOfRound = std::numeric_limits<double>::epsilon() / 8;  // relative, of each of many rounds

class RingRounds {
 public:
  RingRounds(const std::vector<double>& duration_s, std::vector<double>& x)
      : d_(duration_s),
        x_(x),
        longest_s_(*std::max_element(d_.begin(), d_.end())),
        sent_(x.size()),
        before_(x.size()) {}

  std::int64_t run(int rounds) {
    std::int64_t evaluated = 0;
    int round = 0;
    for (int check = 1; round < rounds;) {
      all_members();
      evaluated += static_cast<std::int64_t>(x_.size());
      if (++round < check) continue;
      check = round + 1 + round / 4;
      find_unsteady();
      if (unsteady_.size() <= x_.size() / 8) return evaluated + run_unsteady(round, rounds);
    }
    return evaluated;
  }

 private:
  bool is_steady(double delay_s, double time_s) const {
    return std::abs(delay_s - longest_s_) <= kRounding * (std::abs(time_s) + longest_s_);
  }

  void all_members() {
    x_.swap(before_);
    const std::vector<double>& x = before_;
    const std::size_t n = x.size();
    for (std::size_t i = 0; i + 1 < n; ++i) sent_[i] = (x[i] > x[i + 1] ? x[i] : x[i + 1]) + d_[i];
    sent_[n - 1] = std::max(x[n - 1], x[0]) + d_[n - 1];
    x_[0] = std::max(sent_[0], sent_[n - 1]);
    for (std::size_t i = 1; i < n; ++i) x_[i] = sent_[i] > sent_[i - 1] ? sent_[i] : sent_[i - 1];
  }

  void find_unsteady() {
    unsteady_.clear();
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (!is_steady(x_[i] - before_[i], x_[i])) unsteady_.push_back(static_cast<int>(i));
  }

  // x holds each member's time at the round in since_; the member has been steady since then.
  std::int64_t run_unsteady(int round, int rounds) {
    since_.assign(x_.size(), round);
    looked_at_.assign(x_.size(), round);
    std::int64_t evaluated = 0;
    for (; round < rounds && !unsteady_.empty(); ++round) evaluated += one_round(round);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = time_s(static_cast<int>(i), rounds);
    return evaluated;
  }

  double time_s(int i, int round) const { return x_[to_index(i)] + (round - since_[to_index(i)]) * longest_s_; }
  int before(int i) const { return i == 0 ? static_cast<int>(x_.size()) - 1 : i - 1; }
  int after(int i) const { return to_index(i) + 1 == x_.size() ? 0 : i + 1; }

  // Computes one round for the members that are not steady, and for their neighbours.
  std::int64_t one_round(int round) {
    changed_.resize(3 * unsteady_.size());
    std::size_t changes = 0;
    const auto look_at = [&](int i) {
      if (looked_at_[to_index(i)] == round + 1) return;
      looked_at_[to_index(i)] = round + 1;
      const double here = time_s(i, round);
      const double on = std::max(here, time_s(after(i), round)) + d_[to_index(i)];
      const double back = std::max(time_s(before(i), round), here) + d_[to_index(before(i))];
      changed_[changes++] = {i, here, std::max(on, back)};
    };
    for (int i : unsteady_) {
      look_at(before(i));
      look_at(i);
      look_at(after(i));
    }
    unsteady_.clear();
    changed_.resize(changes);
    for (const Change& change : changed_) {
      x_[to_index(change.member)] = change.after_s;
      since_[to_index(change.member)] = round + 1;
      if (!is_steady(change.after_s - change.before_s, change.after_s)) unsteady_.push_back(change.member);
    }
    return static_cast<std::int64_t>(changed_.size());
  }

  struct Change {
    int member;
    double before_s;
    double after_s;
  };

  const std::vector<double>& d_;
  std::vector<double>& x_;
  const double longest_s_;
  std::vector<double> sent_, before_;
  std::vector<int> unsteady_, since_, looked_at_;
  std::vector<Change> changed_;
};

}  // namespace

std::vector<std::vector<int>> rings_of(const std::vector<int>& src, const std::vector<int>& dst, int ranks) {
  std::vector<int> sends(to_index(ranks), -1), receives(to_index(ranks), -1);
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (sends[to_index(src[i])] >= 0 || receives[to_index(dst[i])] >= 0) return {};
    sends[to_index(src[i])] = receives[to_index(dst[i])] = static_cast<int>(i);
  }
  std::vector<std::vector<int>> rings;
  std::vector<bool> is_taken(src.size(), false);
  for (std::size_t first = 0; first < src.size(); ++first) {
    if (is_taken[first]) continue;
    rings.emplace_back();
    for (int i = static_cast<int>(first); !is_taken[to_index(i)]; i = sends[to_index(dst[to_index(i)])]) {
      is_taken[to_index(i)] = true;
      rings.back().push_back(i);
      if (sends[to_index(dst[to_index(i)])] < 0) return {};
    }
  }
  return rings;
}

std::int64_t run_ring(const Ring& ring, int rounds, std::vector<double>& times_s) {
  const std::size_t n = ring.members.size();
  std::vector<double> x(n);
  const double base = times_s[to_index(ring.members[0])];  // small numbers keep differences between rounds exact
  for (std::size_t i = 0; i < n; ++i) x[i] = times_s[to_index(ring.members[i])] - base;
  // After a ring all members finish together except for rounding errors, which the next ring would follow round by
  // round.
  const auto [first, last] = std::minmax_element(x.begin(), x.end());
  const double rounding_s = kSteady_s + kRoundingOfRound * rounds * std::abs(base);
  if (*last - *first <= rounding_s) std::fill(x.begin(), x.end(), double(*last));
  const std::int64_t evaluated = RingRounds(ring.duration_s, x).run(rounds);
  for (std::size_t i = 0; i < n; ++i) times_s[to_index(ring.members[i])] = x[i] + base;
  return evaluated;
}

}  // namespace lockstep::sim::replay
