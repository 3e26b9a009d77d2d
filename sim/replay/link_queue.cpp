#include "sim/replay/link_queue.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/base/index.hpp"
#include "sim/replay/copies.hpp"

namespace lockstep::sim {
inline namespace replay {

namespace {

// Links in their order, and the seconds for which each is kept by its bytes.
std::vector<std::pair<int, double>> busy_links(const std::map<int, double>& bytes, const Cluster& cluster,
                                               const Perturbation& perturbation) {
  std::vector<std::pair<int, double>> busy_s;
  for (const auto& [link, sum] : bytes)
    busy_s.emplace_back(link, sum / cluster.link_bandwidth(link) / perturbation.bandwidth);
  return busy_s;
}

// In the order in which the plan first has them.
std::vector<std::pair<const Transfers::Block*, int>> rounds_of_blocks(const Plan& plan) {
  std::vector<std::pair<const Transfers::Block*, int>> blocks;
  std::unordered_map<const Transfers::Block*, std::size_t> known;
  for (const Phase& phase : plan.phases)
    for (const auto& block : phase.transfers.blocks()) {
      const auto [place, is_new] = known.try_emplace(block.get(), blocks.size());
      if (is_new) blocks.emplace_back(block.get(), 0);
      blocks[place->second].second += phase.rounds;
    }
  return blocks;
}

}  // namespace

LinkQueue::LinkQueue(const Program& program, const Cluster& cluster, const Perturbation& perturbation) {
  if (collective_streams(program) < 2 && !has_input_on_links(program)) return;
  shares_evenly_ = has_input_on_links(program);
  free_s_.assign(at(cluster.link_count()), 0);
  for (const Plan& plan : program.plans) {
    std::map<int, double> bytes;
    Route route;
    for (const auto& [block, times] : rounds_of_blocks(plan))
      for (const Transfer& t : *block) {
        cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
        for (int link : route.links) bytes[link] += static_cast<double>(t.bytes) * times;
      }
    busy_s_.push_back(busy_links(bytes, cluster, perturbation));
  }
  for (const Work::Source source : input_sources(program)) {
    std::map<int, double> bytes;
    for (const Route& route : routes_of_copies(program, source, cluster))
      for (int link : route.links) bytes[link] += static_cast<double>(bytes_of_copy(program, source));
    busy_by_copies_[source] = busy_links(bytes, cluster, perturbation);
  }
}

double LinkQueue::end_s(int plan, double start_s, double alone_end_s) {
  return free_s_.empty() ? alone_end_s : end_s(busy_s_[at(plan)], start_s, alone_end_s);
}

double LinkQueue::end_s(Work::Source source, double start_s, double alone_end_s) {
  return end_s(busy_by_copies_.at(source), start_s, alone_end_s);
}

double LinkQueue::end_s(const Busy& busy, double start_s, double alone_end_s) {
  double end_s = alone_end_s;
  for (const auto& [link, busy_s] : busy) {
    double& free_s = free_s_[at(link)];
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
    of_stream_[at(program.work[w].stream)].push_back(static_cast<int>(w));
}

int WorkOrder::next(const std::vector<double>& stream_free_s, const std::vector<double>& end_s) {
  if (taken_ == program_.work.size()) return -1;
  if (by_time_) return take(earliest(stream_free_s, end_s));
  if (!takes_copies_early_) return static_cast<int>(taken_++);
  while (is_taken_[next_]) ++next_;
  const int as_enqueued = static_cast<int>(next_);
  const int copy = early_copy(start_s(as_enqueued, stream_free_s, end_s), stream_free_s, end_s);
  return take(copy >= 0 ? copy : as_enqueued);
}

int WorkOrder::take(int work) {
  is_taken_[at(work)] = true;
  ++head_[at(program_.work[at(work)].stream)];
  ++taken_;
  return work;
}

double WorkOrder::start_s(int work, const Times& stream_free_s, const Times& end_s) const {
  double start_s = stream_free_s[at(program_.work[at(work)].stream)];
  for (int waited : program_.work[at(work)].after) start_s = std::max(start_s, end_s[at(waited)]);
  return start_s;
}

// Work only waits for work enqueued before it, so that the oldest that is left can always start.
int WorkOrder::earliest(const Times& stream_free_s, const Times& end_s) const {
  int best = -1;
  double best_s = 0;
  for (std::size_t stream = 0; stream < of_stream_.size(); ++stream) {
    if (head_[stream] == of_stream_[stream].size()) continue;
    const int w = of_stream_[stream][head_[stream]];
    if (!can_start(w)) continue;
    const double start = start_s(w, stream_free_s, end_s);
    if (best >= 0 && (start > best_s || (start == best_s && w > best))) continue;
    best = w;
    best_s = start;
  }
  return best;
}

// A copy that starts before `before_s`, -1 if there is none.
int WorkOrder::early_copy(double before_s, const Times& stream_free_s, const Times& end_s) const {
  for (std::size_t stream = 0; stream < of_stream_.size(); ++stream) {
    if (head_[stream] == of_stream_[stream].size()) continue;
    const int w = of_stream_[stream][head_[stream]];
    if (program_.work[at(w)].kind == Work::Kind::copy && can_start(w) && start_s(w, stream_free_s, end_s) < before_s)
      return w;
  }
  return -1;
}

bool WorkOrder::can_start(int work) const {
  const std::vector<int>& after = program_.work[at(work)].after;
  return std::all_of(after.begin(), after.end(), [&](int waited) { return is_taken_[at(waited)]; });
}

}  // namespace replay
}  // namespace lockstep::sim
