#include "sim/explain/rank_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "engine/base/statistics.hpp"

namespace lockstep::sim::explain {
namespace {

using calib::StepPart;

// A call of one rank.
struct CallPlace {
  std::size_t rank = 0, call = 0;
};

using Blame = std::map<std::size_t, double>;  // seconds by rank

// A rank waits in a call.
struct Wait {
  double seconds = 0;
  Blame blame;  // of the ranks that caused it; adds up to `seconds`
};

// Operations that no rank leaves before all have arrived.
bool ends_together(const std::string& operation) {
  return operation == "all-reduce" || operation == "all-gather" || operation == "reduce-scatter" ||
         operation == "all-to-all";
}

class RankAnalyser {
 public:
  explicit RankAnalyser(const TracedJob& traced) : traced_(traced) {
    for (const calib::StepTrace& rank : traced.ranks) steps_.push_back(&traced.median_step_of(rank));
  }

  RankAnalysis run() {
    result_.ranks.resize(steps_.size());
    matches_.resize(steps_.size());
    for (std::size_t rank = 0; rank < steps_.size(); ++rank)
      matches_[rank].assign(steps_[rank]->calls.size(), std::nullopt);
    match();
    history_.resize(steps_.size());
    common_.assign(steps_.size(), std::vector<std::size_t>(steps_.size(), 0));
    caused_s_.assign(steps_.size(), std::vector<double>(steps_.size(), 0));
    are_peers_.assign(steps_.size(), std::vector<bool>(steps_.size(), false));
    for (const std::size_t group : groups_in_order()) count_waits(groups_[group]);
    for (std::size_t rank = 0; rank < steps_.size(); ++rank) result_.ranks[rank].delays_s = delay_by(rank);
    for (const auto& [key, seconds] : transfers_s_) result_.transfer_s[key] = mean(seconds);
    result_.matched_calls = static_cast<int>(groups_.size());
    if (!groups_.empty()) follow_path();
    return std::move(result_);
  }

 private:
  using Key = std::tuple<std::string, int, std::int64_t, std::string>;

  const calib::CollectiveCall& call_at(const CallPlace& place) const { return steps_[place.rank]->calls[place.call]; }
  double duration_s(const CallPlace& place) const { return call_at(place).end_s - call_at(place).begin_s; }

  // Without the group's name only calls of all ranks can be matched.
  bool is_matchable(const calib::StepCollective& collective, const std::string& group) const {
    const int world = traced_.ranks.front().world_size;
    return ends_together(collective.operation) &&
           (!group.empty() || collective.ranks == 0 || collective.ranks == world);
  }

  void match() {
    std::map<Key, std::map<std::size_t, std::vector<std::size_t>>> calls;  // by rank, in order
    for (std::size_t rank = 0; rank < steps_.size(); ++rank)
      for (std::size_t i = 0; i < steps_[rank]->calls.size(); ++i) {
        const calib::CollectiveCall& call = steps_[rank]->calls[i];
        const calib::StepCollective& of = steps_[rank]->collectives[call.collective];
        if (is_matchable(of, call.group)) calls[{of.operation, of.ranks, of.bytes, call.group}][rank].push_back(i);
      }
    for (const auto& [key, by_rank] : calls) {
      const std::size_t count = by_rank.begin()->second.size();
      const bool is_equal =
          std::all_of(by_rank.begin(), by_rank.end(), [&](const auto& entry) { return entry.second.size() == count; });
      if (by_rank.size() < 2 || !is_equal) continue;
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<CallPlace> group;
        for (const auto& [rank, places] : by_rank) {
          group.push_back({rank, places[i]});
          matches_[rank][places[i]] = groups_.size();
        }
        groups_.push_back(group);
      }
    }
  }

  CallPlace last_of(const std::vector<CallPlace>& group) const {
    return *std::min_element(group.begin(), group.end(),
                             [&](const CallPlace& a, const CallPlace& b) { return duration_s(a) < duration_s(b); });
  }

  // Ranks whose durations differ by less than the resolution of traces arrive at the same time.
  double wait_of(const CallPlace& place, const CallPlace& last) const {
    const double wait_s = duration_s(place) - duration_s(last);
    return wait_s > std::max(kResolution_s, kTie * duration_s(last)) ? wait_s : 0;
  }

  // Groups in an order that agrees with every rank's order of calls, unless ranks disagree.
  std::vector<std::size_t> groups_in_order() const {
    std::vector<std::vector<std::size_t>> queues(steps_.size());  // groups of each rank, in its order
    for (std::size_t rank = 0; rank < steps_.size(); ++rank)
      for (const auto& group : matches_[rank])
        if (group) queues[rank].push_back(*group);
    std::vector<std::size_t> heads(steps_.size(), 0), missing, ready, order;
    for (const std::vector<CallPlace>& group : groups_) missing.push_back(group.size());
    std::vector<bool> is_done(groups_.size(), false);
    const auto arrive = [&](std::size_t rank) {
      while (heads[rank] < queues[rank].size() && is_done[queues[rank][heads[rank]]]) ++heads[rank];
      if (heads[rank] == queues[rank].size()) return;
      const std::size_t group = queues[rank][heads[rank]];
      if (--missing[group] == 0) ready.push_back(group);
    };
    for (std::size_t rank = 0; rank < steps_.size(); ++rank) arrive(rank);
    for (std::size_t next = 0; order.size() < groups_.size();) {
      if (ready.empty()) {
        while (is_done[next]) ++next;
        ready.push_back(next);
      }
      const std::size_t group = ready.back();
      ready.pop_back();
      if (is_done[group]) continue;
      is_done[group] = true;
      order.push_back(group);
      for (const CallPlace& place : groups_[group]) {
        const bool is_head =
            heads[place.rank] < queues[place.rank].size() && queues[place.rank][heads[place.rank]] == group;
        if (is_head) arrive(place.rank);
      }
    }
    return order;
  }

  // Adds `wait_s` of a rank for `last` to `blame`. If `last` itself waited longer than the rank since their previous
  // common call, the difference goes to the ranks that it waited for.
  void add_blame(std::size_t rank, std::size_t last, double wait_s, Blame& blame) const {
    const auto total = [&](std::size_t of, std::size_t other) {
      double sum_s = 0;
      for (std::size_t i = common_[of][other]; i < history_[of].size(); ++i) sum_s += history_[of][i].seconds;
      return sum_s;
    };
    const double waited_s = total(last, rank);
    const double passed_s = std::clamp(waited_s - total(rank, last), 0.0, wait_s);
    blame[last] += wait_s - passed_s;
    if (!(passed_s > 0)) return;
    for (std::size_t i = common_[last][rank]; i < history_[last].size(); ++i)
      for (const auto& [cause, seconds] : history_[last][i].blame) blame[cause] += seconds * passed_s / waited_s;
  }

  void count_waits(const std::vector<CallPlace>& group) {
    const CallPlace last = last_of(group);
    std::vector<std::size_t> latest;  // more than one if they arrive together
    for (const CallPlace& place : group)
      if (wait_of(place, last) == 0) latest.push_back(place.rank);
    std::vector<std::pair<std::size_t, Wait>> waits;
    for (const CallPlace& place : group) {
      Wait wait{wait_of(place, last), {}};
      if (wait.seconds == 0) continue;
      for (const std::size_t one : latest)
        add_blame(place.rank, one, wait.seconds / static_cast<double>(latest.size()), wait.blame);
      result_.ranks[place.rank].waits_s += wait.seconds;
      for (const auto& [cause, seconds] : wait.blame) caused_s_[cause][place.rank] += seconds;
      waits.emplace_back(place.rank, std::move(wait));
    }
    for (auto& [rank, wait] : waits) history_[rank].push_back(std::move(wait));
    for (const CallPlace& a : group)
      for (const CallPlace& b : group) {
        common_[a.rank][b.rank] = history_[a.rank].size();
        are_peers_[a.rank][b.rank] = a.rank != b.rank;
      }
    const calib::StepCollective& of = steps_[last.rank]->collectives[call_at(last).collective];
    // A rank that was not traced may be later than all of these.
    const auto ranks = static_cast<std::size_t>(of.ranks > 0 ? of.ranks : traced_.ranks.front().world_size);
    if (group.size() == ranks) transfers_s_[{of.operation, of.ranks, of.bytes}].push_back(duration_s(last));
    if (latest.size() == 1) ++result_.ranks[last.rank].last_arrivals;
  }

  double delay_by(std::size_t rank) const {
    std::vector<double> peers_s;
    for (std::size_t other = 0; other < steps_.size(); ++other)
      if (are_peers_[rank][other]) peers_s.push_back(caused_s_[rank][other]);
    return peers_s.empty() ? 0 : median(peers_s);
  }

  // The matched call whose end ends an exposed span.
  std::optional<CallPlace> gating_call(std::size_t rank, double at_s) const {
    const std::vector<calib::CollectiveCall>& calls = steps_[rank]->calls;
    for (std::size_t i = 0; i < calls.size() && calls[i].begin_s < at_s; ++i)
      if (matches_[rank][i] && std::abs(calls[i].end_s - at_s) <= kResolution_s) return CallPlace{rank, i};
    return std::nullopt;
  }

  void add(std::size_t rank, StepPart part, double seconds) {
    if (!(seconds > 0)) return;
    if (!result_.path.empty() && result_.path.back().rank == rank && result_.path.back().part == part)
      result_.path.back().end_s += seconds;  // durations only, until reversed
    else
      result_.path.push_back({rank, part, 0, seconds});
  }

  void follow_path() {
    std::size_t rank = 0;
    for (std::size_t i = 1; i < steps_.size(); ++i)
      if (steps_[i]->seconds > steps_[rank]->seconds) rank = i;
    double at_s = steps_[rank]->seconds;
    std::vector<bool> is_passed(groups_.size(), false);  // each call once, so that the path ends
    while (at_s > 0) {
      const std::vector<calib::PartSpan>& spans = steps_[rank]->spans;
      const auto behind = std::lower_bound(spans.begin(), spans.end(), at_s,
                                           [](const calib::PartSpan& span, double t) { return span.begin_s < t; });
      if (behind == spans.begin()) break;
      const calib::PartSpan& span = *std::prev(behind);
      const double end_s = std::min(at_s, span.end_s);
      const auto call = span.part == StepPart::communication ? gating_call(rank, end_s) : std::nullopt;
      if (call) {
        const std::size_t group = *matches_[rank][call->call];
        const CallPlace last = last_of(groups_[group]);
        if (!is_passed[group] && wait_of(*call, last) > 0) {
          is_passed[group] = true;
          rank = last.rank;
          at_s = call_at(last).end_s;
          continue;
        }
      }
      const double begin_s = call ? std::max(span.begin_s, call_at(*call).begin_s) : span.begin_s;
      add(rank, span.part, end_s - begin_s);
      at_s = begin_s;
    }
    std::reverse(result_.path.begin(), result_.path.end());
    double now_s = 0;
    for (PathSegment& segment : result_.path) {
      const double seconds = segment.end_s;
      segment.begin_s = now_s;
      now_s += seconds;
      segment.end_s = now_s;
    }
  }

  static constexpr double kResolution_s = 1e-6;  // times of traces are rounded to about this
  static constexpr double kTie = 0.01;           // of the last rank's duration: ranks arrive at the same time

  const TracedJob& traced_;
  std::vector<const calib::TracedStep*> steps_;                   // of each rank
  std::vector<std::vector<CallPlace>> groups_;                    // matched calls
  std::vector<std::vector<std::optional<std::size_t>>> matches_;  // by rank and call: its group
  std::map<std::tuple<std::string, int, std::int64_t>, std::vector<double>> transfers_s_;  // by kind
  std::vector<std::vector<Wait>> history_;        // by rank, in the order of calls
  std::vector<std::vector<std::size_t>> common_;  // [a][b]: waits of `a` before and in its last call with `b`
  std::vector<std::vector<double>> caused_s_;     // [a][b]: seconds that `b` waits because of `a`
  std::vector<std::vector<bool>> are_peers_;      // [a][b]: they have a matched call in common
  RankAnalysis result_;
};

}  // namespace

RankAnalysis analyse_ranks(const TracedJob& traced) {
  return RankAnalyser(traced).run();
}

calib::PartSeconds path_parts(const TracedJob& traced) {
  const RankAnalysis analysis = analyse_ranks(traced);
  if (analysis.path.empty()) return traced.parts();
  const double scale = traced.seconds() / analysis.path.back().end_s;
  calib::PartSeconds parts{};
  for (const PathSegment& one : analysis.path) part_of(parts, one.part) += scale * (one.end_s - one.begin_s);
  return parts;
}

}  // namespace lockstep::sim::explain
