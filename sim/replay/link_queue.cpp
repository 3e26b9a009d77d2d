#include "sim/replay/link_queue.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/base/index.hpp"
#include "sim/replay/block_shapes.hpp"
#include "sim/replay/copies.hpp"

namespace lockstep::sim::replay {

namespace {

using LinkSeconds = PlanCosts::LinkSeconds;

// True for each link that is the first one crossed by its messages, over all plans.
std::vector<bool> distinct_links(const Program& program, const UnitClasses& units) {
  std::vector<std::vector<std::pair<std::size_t, double>>> crossed(to_index(units.links()));
  std::set<const RunOnLinks*> known_runs;
  std::set<std::uint64_t> known_blocks;
  for (const Plan& plan : program.plans)
    for (const Phase& phase : plan.phases)
      for (const auto& block : phase.transfers.blocks()) {
        if (!known_blocks.insert(hash_of_ranks(*block)).second) continue;
        for (const Run& run : block->runs()) {
          const RunOnLinks& on_links = units.find(run);
          if (!known_runs.insert(&on_links).second) continue;
          for (const RunOnLinks::Crossing& crossing : on_links.crossings)
            crossed[to_index(crossing.link)].emplace_back(known_runs.size(), crossing.messages);
        }
      }
  std::set<std::pair<double, std::vector<std::pair<std::size_t, double>>>> known;
  std::vector<bool> is_distinct(crossed.size(), false);
  for (int link = 0; link < units.links(); ++link)
    if (!crossed[to_index(link)].empty())
      is_distinct[to_index(link)] = known.insert({units.bandwidth(link), std::move(crossed[to_index(link)])}).second;
  return is_distinct;
}

// Seconds for which plans occupy the distinct links. Blocks between the same ranks cross the same links, such as those
// of a job's tensors. Their messages are counted once.
class BusyLinks {
 public:
  BusyLinks(const UnitClasses& units, UnevenLoads& uneven, std::vector<bool> is_distinct)
      : units_(units),
        uneven_(uneven),
        is_distinct_(std::move(is_distinct)),
        bytes_(is_distinct_.size(), 0),
        is_crossed_(is_distinct_.size(), false) {}

  LinkSeconds seconds(const Plan& plan) {
    for (const Phase& phase : plan.phases)
      for (const auto& block : phase.transfers.blocks()) add(block, phase.rounds);
    std::sort(crossed_.begin(), crossed_.end());
    LinkSeconds busy_s;
    for (int link : crossed_) {
      busy_s.emplace_back(link, bytes_[to_index(link)] / units_.bandwidth(link));
      bytes_[to_index(link)] = 0;
      is_crossed_[to_index(link)] = false;
    }
    crossed_.clear();
    return busy_s;
  }

 private:
  void add(const std::shared_ptr<const Transfers::Block>& block, int rounds) {
    if (const std::int64_t each = block->bytes_of_each_transfer(); each >= 0) {
      const auto all = messages_.of(block, [this](const Transfers::Block& one) { return count_messages(one); });
      for (const auto& [link, messages] : *all) add(link, messages * static_cast<double>(each) * rounds);
      return;
    }
    if (const std::optional<std::vector<double>> bytes = uneven_.bytes(*block)) {
      for (std::size_t link = 0; link < bytes->size(); ++link)
        if ((*bytes)[link] > 0 && is_distinct_[link]) add(static_cast<int>(link), (*bytes)[link] * rounds);
      return;
    }
    for_crossings(*block, [&](const Run& run, const RunOnLinks::Crossing& crossing) {
      add(crossing.link, crossing.messages * static_cast<double>(run.bytes) * rounds);
    });
  }

  void add(int link, double bytes) {
    if (!is_crossed_[to_index(link)]) crossed_.push_back(link);
    is_crossed_[to_index(link)] = true;
    bytes_[to_index(link)] += bytes;
  }

  std::map<int, double> count_messages(const Transfers::Block& block) const {
    std::map<int, double> messages;
    for_crossings(
        block, [&](const Run&, const RunOnLinks::Crossing& crossing) { messages[crossing.link] += crossing.messages; });
    return messages;
  }

  template <typename Do>
  void for_crossings(const Transfers::Block& block, Do&& what) const {
    for (const Run& run : block.runs())
      for (const RunOnLinks::Crossing& crossing : units_.find(run).crossings)
        if (is_distinct_[to_index(crossing.link)]) what(run, crossing);
  }

  const UnitClasses& units_;
  UnevenLoads& uneven_;
  const std::vector<bool> is_distinct_;
  ByShape<std::map<int, double>> messages_;  // of a block, by link
  std::vector<double> bytes_;                // by link, for the current plan
  std::vector<bool> is_crossed_;             // by link, for the current plan
  std::vector<int> crossed_;                 // the links that the current plan crosses
};

// If input crosses links, the units are one, and links have the cluster's numbers.
LinkSeconds busy_by_copies(const Program& program, Work::Source source, const Cluster& cluster) {
  std::map<int, double> bytes;
  for (const Route& route : routes_of_copies(program, source, cluster))
    for (int link : route.links) bytes[link] += static_cast<double>(bytes_of_copy(program, source));
  LinkSeconds busy_s;
  for (const auto& [link, of_link] : bytes) busy_s.emplace_back(link, of_link / cluster.link_bandwidth(link));
  return busy_s;
}

// Merges links that every plan occupies for the same time: keeps the first, since the others change no end. Renumbers
// the links.
void merge_equally_busy_links(std::vector<LinkSeconds>& of_plans, int& links) {
  std::map<int, std::vector<std::pair<std::size_t, double>>> of_links;  // by plan
  for (std::size_t plan = 0; plan < of_plans.size(); ++plan)
    for (const auto& [link, seconds] : of_plans[plan]) of_links[link].emplace_back(plan, seconds);
  std::set<std::vector<std::pair<std::size_t, double>>> known;
  for (LinkSeconds& of_plan : of_plans) of_plan.clear();
  links = 0;
  for (const auto& [link, of_link] : of_links) {
    if (!known.insert(of_link).second) continue;
    for (const auto& [plan, seconds] : of_link) of_plans[plan].emplace_back(links, seconds);
    ++links;
  }
}

}  // namespace

bool has_busy_links(const Program& program) {
  return collective_streams(program) >= 2 || has_input_on_links(program);
}

void find_busy_links(const Program& program, const Cluster& cluster, const UnitClasses& units, UnevenLoads& uneven,
                     PlanCosts& costs) {
  const bool has_copies = has_input_on_links(program);
  BusyLinks links(units, uneven,
                  has_copies ? std::vector<bool>(to_index(units.links()), true) : distinct_links(program, units));
  for (const Plan& plan : program.plans) costs.busy_s.push_back(links.seconds(plan));
  for (const Work::Source source : input_sources(program))
    costs.busy_by_copies_s[source] = busy_by_copies(program, source, cluster);
  costs.busy_links = cluster.link_count();
  if (!has_copies) merge_equally_busy_links(costs.busy_s, costs.busy_links);
}

LinkQueue::LinkQueue(const Program& program, const PlanCosts& costs, const Perturbation& perturbation)
    : shares_evenly_(has_input_on_links(program)),
      costs_(costs),
      bandwidth_(perturbation.bandwidth),
      free_s_(to_index(costs.busy_links), 0) {}

double LinkQueue::occupy(int plan, double start_s, double alone_end_s) {
  return free_s_.empty() ? alone_end_s : occupy(costs_.busy_s[to_index(plan)], start_s, alone_end_s);
}

double LinkQueue::occupy(Work::Source source, double start_s, double alone_end_s) {
  return occupy(costs_.busy_by_copies_s.at(source), start_s, alone_end_s);
}

double LinkQueue::occupy(const PlanCosts::LinkSeconds& busy, double start_s, double alone_end_s) {
  double end_s = alone_end_s;
  for (const auto& [link, nominal_s] : busy) {
    const double busy_s = nominal_s / bandwidth_;
    double& free_s = free_s_[to_index(link)];
    const double left_s = std::max(0.0, free_s - start_s);
    free_s = std::max(free_s, start_s) + busy_s;
    end_s = std::max(end_s, shares_evenly_ ? start_s + busy_s + std::min(busy_s, left_s) : free_s);
  }
  return end_s;
}

WorkOrder::WorkOrder(const Program& program)
    : program_(program),
      by_time_(collective_streams(program) > 1),
      takes_copies_early_(has_input_on_links(program)),
      of_stream_(program.streams.size()),
      head_(program.streams.size(), 0),
      is_taken_(program.work.size(), false) {
  for (std::size_t w = 0; w < program.work.size(); ++w)
    of_stream_[to_index(program.work[w].stream)].push_back(static_cast<int>(w));
  if (by_time_) list_dependents();
}

int WorkOrder::next_work(const std::vector<double>& stream_free_s, const std::vector<double>& end_s) {
  if (taken_ == program_.work.size()) return -1;
  if (by_time_) return take(earliest(stream_free_s, end_s));
  if (!takes_copies_early_) return static_cast<int>(taken_++);
  while (is_taken_[next_]) ++next_;
  const int as_enqueued = static_cast<int>(next_);
  const int copy = early_copy(start_s(as_enqueued, stream_free_s, end_s), stream_free_s, end_s);
  return take(copy >= 0 ? copy : as_enqueued);
}

int WorkOrder::take(int work) {
  is_taken_[to_index(work)] = true;
  ++head_[to_index(program_.work[to_index(work)].stream)];
  ++taken_;
  return work;
}

double WorkOrder::start_s(int work, const Times& stream_free_s, const Times& end_s) const {
  double start_s = stream_free_s[to_index(program_.work[to_index(work)].stream)];
  for (int waited : program_.work[to_index(work)].after) start_s = std::max(start_s, end_s[to_index(waited)]);
  return start_s;
}

void WorkOrder::list_dependents() {
  const std::size_t count = program_.work.size();
  first_dependent_.assign(count + 1, 0);
  waits_for_.assign(count, 0);
  for (std::size_t w = 0; w < count; ++w) {
    waits_for_[w] = static_cast<int>(program_.work[w].after.size());
    for (int waited : program_.work[w].after) ++first_dependent_[to_index(waited) + 1];
  }
  for (std::size_t w = 0; w < count; ++w) first_dependent_[w + 1] += first_dependent_[w];
  dependents_.resize(first_dependent_.back());
  std::vector<std::size_t> filled = first_dependent_;
  for (std::size_t w = 0; w < count; ++w)
    for (int waited : program_.work[w].after) dependents_[filled[to_index(waited)]++] = static_cast<int>(w);
}

bool WorkOrder::is_head(int work) const {
  const std::size_t stream = to_index(program_.work[to_index(work)].stream);
  return head_[stream] < of_stream_[stream].size() && of_stream_[stream][head_[stream]] == work;
}

void WorkOrder::make_ready(int work, const Times& stream_free_s, const Times& end_s) {
  if (waits_for_[to_index(work)] == 0 && is_head(work)) ready_.push({start_s(work, stream_free_s, end_s), work});
}

// Makes the work ready for which the last work was the last one to wait for, or that comes next on its stream.
void WorkOrder::release_dependents(const Times& stream_free_s, const Times& end_s) {
  const std::size_t stream = to_index(program_.work[to_index(last_)].stream);
  const int next = head_[stream] < of_stream_[stream].size() ? of_stream_[stream][head_[stream]] : -1;
  for (std::size_t i = first_dependent_[to_index(last_)]; i < first_dependent_[to_index(last_) + 1]; ++i) {
    const int dependent = dependents_[i];
    if (--waits_for_[to_index(dependent)] == 0 && dependent != next) make_ready(dependent, stream_free_s, end_s);
  }
  if (next >= 0) make_ready(next, stream_free_s, end_s);
}

// Work waits only for work that was enqueued before it, so the oldest remaining work is always ready.
int WorkOrder::earliest(const Times& stream_free_s, const Times& end_s) {
  if (last_ >= 0)
    release_dependents(stream_free_s, end_s);
  else
    for (const std::vector<int>& of_stream : of_stream_)
      if (!of_stream.empty()) make_ready(of_stream.front(), stream_free_s, end_s);
  last_ = ready_.top().second;
  ready_.pop();
  return last_;
}

// Returns the work index of a copy at the head of its stream that can start before `before_s`; -1: none.
int WorkOrder::early_copy(double before_s, const Times& stream_free_s, const Times& end_s) const {
  for (std::size_t stream = 0; stream < of_stream_.size(); ++stream) {
    if (head_[stream] == of_stream_[stream].size()) continue;
    const int w = of_stream_[stream][head_[stream]];
    if (program_.work[to_index(w)].kind == Work::Kind::copy && can_start(w) &&
        start_s(w, stream_free_s, end_s) < before_s)
      return w;
  }
  return -1;
}

bool WorkOrder::can_start(int work) const {
  const std::vector<int>& after = program_.work[to_index(work)].after;
  return std::all_of(after.begin(), after.end(), [&](int waited) { return is_taken_[to_index(waited)]; });
}

}  // namespace lockstep::sim::replay
