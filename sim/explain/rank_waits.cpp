#include "sim/explain/rank_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/base/statistics.hpp"

namespace lockstep::sim::explain {
namespace {

using calib::StepPart;

// A call of one rank.
struct CallPlace {
  std::size_t rank = 0, call = 0;
};

// Operations that no rank leaves before all have arrived.
bool ends_together(const std::string& operation) {
  return operation == "all-reduce" || operation == "all-gather" || operation == "reduce-scatter" ||
         operation == "all-to-all";
}

class RankAnalyser {
 public:
  explicit RankAnalyser(const TracedJob& traced) : traced_(traced) {
    for (const calib::StepTrace& rank : traced.ranks) steps_.push_back(&traced.step_of(rank));
  }

  RankAnalysis run() {
    result_.ranks.resize(steps_.size());
    matches_.resize(steps_.size());
    for (std::size_t rank = 0; rank < steps_.size(); ++rank)
      matches_[rank].assign(steps_[rank]->calls.size(), std::nullopt);
    match();
    for (const std::vector<CallPlace>& group : groups_) count_waits(group);
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

  void count_waits(const std::vector<CallPlace>& group) {
    const CallPlace last = last_of(group);
    std::vector<double> others_s;
    for (const CallPlace& place : group) {
      const double wait_s = duration_s(place) - duration_s(last);
      result_.ranks[place.rank].waits_s += wait_s;
      if (place.rank != last.rank) others_s.push_back(wait_s);
    }
    const calib::StepCollective& of = steps_[last.rank]->collectives[call_at(last).collective];
    transfers_s_[{of.operation, of.ranks, of.bytes}].push_back(duration_s(last));
    result_.ranks[last.rank].delays_s += median(others_s);
    ++result_.ranks[last.rank].last_arrivals;
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
      const std::optional<std::size_t> group = call ? matches_[rank][call->call] : std::nullopt;
      if (!group || is_passed[*group]) {
        add(rank, span.part, end_s - span.begin_s);
        at_s = span.begin_s;
        continue;
      }
      is_passed[*group] = true;
      const CallPlace last = last_of(groups_[*group]);
      add(last.rank, StepPart::communication, duration_s(last));
      rank = last.rank;
      at_s = call_at(last).begin_s;
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

  const TracedJob& traced_;
  std::vector<const calib::TracedStep*> steps_;                   // of each rank
  std::vector<std::vector<CallPlace>> groups_;                    // matched calls
  std::vector<std::vector<std::optional<std::size_t>>> matches_;  // by rank and call: its group
  std::map<std::tuple<std::string, int, std::int64_t>, std::vector<double>> transfers_s_;  // by kind
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
