#include "sim/replay/link_queue.hpp"

#include <algorithm>
#include <map>

#include "engine/base/index.hpp"

namespace lockstep::sim {

LinkQueue::LinkQueue(const Program& program, Cluster& cluster, const Perturbation& perturbation) {
  if (collective_streams(program) < 2) return;
  free_s_.assign(at(cluster.link_count()), 0);
  for (const Plan& plan : program.plans) {
    std::map<int, double> bytes;
    for (const Phase& phase : plan.phases)
      for (const Transfer& t : phase.transfers)
        for (int link : cluster.route(t.src, t.dst).links) bytes[link] += static_cast<double>(t.bytes) * phase.rounds;
    busy_s_.emplace_back();
    for (const auto& [link, sum] : bytes)
      busy_s_.back().emplace_back(link, sum / cluster.link_bandwidth(link) / perturbation.bandwidth);
  }
}

double LinkQueue::end_s(int plan, double start_s, double alone_end_s) {
  double end_s = alone_end_s;
  if (free_s_.empty()) return end_s;
  for (const auto& [link, busy_s] : busy_s_[at(plan)]) {
    double& free_s = free_s_[at(link)];
    free_s = std::max(free_s, start_s) + busy_s;
    end_s = std::max(end_s, free_s);
  }
  return end_s;
}

WorkOrder::WorkOrder(const Program& program)
    : program_(program),
      by_time_(collective_streams(program) > 1),
      of_stream_(program.streams.size()),
      head_(program.streams.size(), 0),
      is_taken_(program.work.size(), false) {
  for (std::size_t w = 0; w < program.work.size(); ++w)
    of_stream_[at(program.work[w].stream)].push_back(static_cast<int>(w));
}

int WorkOrder::next(const std::vector<double>& stream_free_s, const std::vector<double>& end_s) {
  if (taken_ == program_.work.size()) return -1;
  if (!by_time_) return static_cast<int>(taken_++);
  int best = -1;
  double best_s = 0;
  for (std::size_t stream = 0; stream < of_stream_.size(); ++stream) {
    if (head_[stream] == of_stream_[stream].size()) continue;
    const int w = of_stream_[stream][head_[stream]];
    if (!can_start(w)) continue;
    double start_s = stream_free_s[stream];
    for (int waited : program_.work[at(w)].after) start_s = std::max(start_s, end_s[at(waited)]);
    if (best >= 0 && (start_s > best_s || (start_s == best_s && w > best))) continue;
    best = w;
    best_s = start_s;
  }
  // Work only waits for work enqueued before it, so that the oldest that is left can always start.
  is_taken_[at(best)] = true;
  ++head_[at(program_.work[at(best)].stream)];
  ++taken_;
  return best;
}

bool WorkOrder::can_start(int work) const {
  const std::vector<int>& after = program_.work[at(work)].after;
  return std::all_of(after.begin(), after.end(), [&](int waited) { return is_taken_[at(waited)]; });
}

}  // namespace lockstep::sim
