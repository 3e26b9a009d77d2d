#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/replay/flow_job.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/message_flows.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {
namespace {

// This class moves all jobs and their messages from event to event, and keeps the clock.
class FlowReplay {
 public:
  FlowReplay(const std::vector<JobToReplay>& jobs, const std::vector<BackgroundFlow>& background,
             const ReplayOptions& options)
      : flows_(*jobs.front().cluster), options_(options), dumps_later_(options.dump_links_at_s.has_value()) {
    const int count = static_cast<int>(jobs.size());
    for (int number = 0; number < count; ++number)
      jobs_.push_back(std::make_unique<FlowJob>(jobs[to_index(number)], number, count, flows_, options));
    for (const BackgroundFlow& flow : background) {
      const Cluster& cluster = *jobs.front().cluster;
      flows_.send(0, flows_.way(cluster, cluster.cpu(flow.from_node), cluster.cpu(flow.to_node)),
                  std::numeric_limits<double>::infinity(), kNoToken, flow.bytes_per_s);
    }
  }

  std::vector<Replay> run() {
    std::vector<int> arrived;
    double now_s = 0;
    for (;;) {
      const double next_s = find_next_s();
      if (next_s == kInfinity || (next_s > now_s && have_all_ended())) break;
      if (dumps_later_ && next_s > *options_.dump_links_at_s) {
        links_dump_ = flows_.dump(*options_.dump_links_at_s);
        dumps_later_ = false;
      }
      now_s = std::max(now_s, next_s);
      if (flows_.next_s() <= now_s) {
        arrived.clear();
        flows_.advance(now_s, arrived);
        for (int token : arrived) jobs_[to_index(token) % jobs_.size()]->note_arrival(now_s, token);
      }
      for (const auto& job : jobs_) job->advance(now_s);
    }
    if (!have_all_ended())
      throw std::runtime_error("the replay deadlocked: some GPU waits for a message that nobody sends");
    std::vector<Replay> replays;
    for (const auto& job : jobs_) replays.push_back(job->take_replay());
    replays.front().links_dump = links_dump_;
    return replays;
  }

 private:
  static constexpr int kNoToken = 0;  // of messages that never arrive

  double find_next_s() {
    double next_s = flows_.next_s();
    for (const auto& job : jobs_) next_s = std::min(next_s, job->next_s());
    return next_s;
  }
  bool have_all_ended() const {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->has_ended(); });
  }

  MessageFlows flows_;
  std::vector<std::unique_ptr<FlowJob>> jobs_;
  const ReplayOptions& options_;
  bool dumps_later_;
  std::string links_dump_;
};

}  // namespace

std::vector<Replay> replay_flows_of_jobs(const std::vector<JobToReplay>& jobs,
                                         const std::vector<BackgroundFlow>& background, const ReplayOptions& options) {
  return FlowReplay(jobs, background, options).run();
}

Replay replay_flows(const Program& program, const Cluster& cluster, const Jitter& jitter,
                    const ReplayOptions& options) {
  return replay_flows_of_jobs({{&program, &cluster, &jitter, 0}}, {}, options).front();
}

}  // namespace lockstep::sim::replay
