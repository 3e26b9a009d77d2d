#include <algorithm>
#include <simgrid/s4u.hpp>
#include <stdexcept>

#include "sim/replay/replay.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// What one rank does in a plan: its transfers, phase by phase, in the order of the phases.
struct RankStep {
  int phase;
  std::vector<std::pair<int, std::uint64_t>> sends;     // (peer, bytes)
  std::vector<std::pair<int, std::uint64_t>> receives;  // (peer, bytes)
  double bytes_to_add = 0;
};

std::vector<std::vector<RankStep>> steps_by_rank(const Plan& plan) {
  std::vector<std::vector<RankStep>> steps(at(plan.ranks));
  const auto step_of = [&](int rank, int phase) -> RankStep& {
    auto& mine = steps[at(rank)];
    if (mine.empty() || mine.back().phase != phase) mine.push_back({phase, {}, {}, 0});
    return mine.back();
  };
  for (int p = 0; p < static_cast<int>(plan.phases.size()); ++p)
    for (const Transfer& t : plan.phases[at(p)].transfers) {
      step_of(t.src, p).sends.emplace_back(t.dst, static_cast<std::uint64_t>(t.bytes));
      step_of(t.dst, p).receives.emplace_back(t.src, static_cast<std::uint64_t>(t.bytes));
      if (t.reduces) step_of(t.dst, p).bytes_to_add += static_cast<double>(t.bytes);
    }
  return steps;
}

// A stream waits for another stream of its GPU by counting: the n-th work of stream A that B ever waits for is over
// when B has taken n tokens. Which works give a token, and to whom, is the same for all GPUs.

struct Wait {
  int from_stream;
  int tokens;    // that must have been taken in all
  bool is_copy;  // the awaited work brings input
};

struct StreamWork {
  int work;
  std::vector<Wait> waits;
  std::vector<int> signals;  // streams that get a token when the work has ended
};

std::vector<std::vector<StreamWork>> works_by_stream(const Program& program) {
  const int streams = static_cast<int>(program.streams.size());
  std::vector<std::vector<bool>> awaited(program.work.size(), std::vector<bool>(at(streams), false));
  for (const Work& work : program.work)
    for (int waited : work.after)
      if (program.work[at(waited)].stream != work.stream) awaited[at(waited)][at(work.stream)] = true;

  std::vector<std::vector<StreamWork>> by_stream(at(streams));
  std::vector<std::vector<int>> given(at(streams), std::vector<int>(at(streams), 0));
  std::vector<std::vector<int>> token(program.work.size(), std::vector<int>(at(streams), 0));
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    const Work& work = program.work[w];
    StreamWork mine{static_cast<int>(w), {}, {}};
    for (int waited : work.after) {
      const Work& other = program.work[at(waited)];
      if (other.stream != work.stream)
        mine.waits.push_back({other.stream, token[at(waited)][at(work.stream)], other.kind == Work::Kind::copy});
    }
    for (int to = 0; to < streams; ++to)
      if (awaited[w][at(to)]) {
        token[w][at(to)] = ++given[at(work.stream)][at(to)];
        mine.signals.push_back(to);
      }
    by_stream[at(work.stream)].push_back(std::move(mine));
  }
  return by_stream;
}

class MessageReplay {
 public:
  MessageReplay(const Program& program, Cluster& cluster, const Jitter& jitter, const ReplayOptions& options)
      : program_(program), cluster_(cluster), jitter_(jitter), options_(options), streams_(works_by_stream(program)) {
    for (const Plan& plan : program.plans) steps_.push_back(steps_by_rank(plan));
    replay_.method = "messages";
    replay_.iteration_end_s.assign(at(program.iterations), 0);
    replay_.compute_s.assign(at(program.iterations), 0);
    replay_.input_wait_s.assign(at(program.iterations), 0);
    if (options.keep_ends)
      replay_.ends_s.assign(at(program.iterations), std::vector<double>(at(program.gpus), 0));
    timeline_of_.assign(at(program.gpus), -1);
    for (int gpu : options.timeline_gpus) {
      timeline_of_[at(gpu)] = static_cast<int>(replay_.timelines.size());
      replay_.timelines.push_back({gpu, std::vector<double>(program.work.size()), std::vector<double>(program.work.size())});
    }
  }

  Replay run() {
    const int streams = static_cast<int>(program_.streams.size());
    tokens_.resize(at(program_.gpus * streams * streams));
    for (int gpu = 0; gpu < program_.gpus; ++gpu)
      for (int stream = 0; stream < streams; ++stream)
        if (!streams_[at(stream)].empty()) start_stream(gpu, stream);
    bool deadlock = false;
    sg4::Engine::on_deadlock_cb([&deadlock] { deadlock = true; });
    sg4::Engine::get_instance()->run();
    if (deadlock) throw std::runtime_error("the replay deadlocked: some GPU waits for a message that nobody sends");
    return std::move(replay_);
  }

 private:
  using Peers = std::vector<std::pair<int, sg4::Mailbox*>>;  // few: searched from the front

  sg4::SemaphorePtr& tokens(int gpu, int from, int to) {
    const int streams = static_cast<int>(program_.streams.size());
    sg4::SemaphorePtr& semaphore = tokens_[at((gpu * streams + from) * streams + to)];
    if (!semaphore) semaphore = sg4::Semaphore::create(0);
    return semaphore;
  }

  void start_stream(int gpu, int stream) {
    sg4::Actor::create("gpu" + std::to_string(gpu) + "." + program_.streams[at(stream)], cluster_.gpu_host(gpu),
                       [this, gpu, stream] { run_stream(gpu, stream); });
  }

  void run_stream(int gpu, int stream) {
    std::vector<int> taken(program_.streams.size(), 0);
    Peers outgoing, incoming;
    for (const StreamWork& mine : streams_[at(stream)]) {
      const Work& work = program_.work[at(mine.work)];
      wait_for_others(gpu, stream, work, mine, taken);
      note(gpu, mine.work, &GpuTimeline::start_s);
      perform(gpu, work, outgoing, incoming);
      note(gpu, mine.work, &GpuTimeline::end_s);
      if (program_.iteration_ends[at(work.iteration)] == mine.work) end_iteration(gpu, work.iteration);
      for (int to : mine.signals) tokens(gpu, stream, to)->release();
    }
  }

  // Takes the tokens of copies last: what is then left to wait is the wait for input.
  void wait_for_others(int gpu, int stream, const Work& work, const StreamWork& mine, std::vector<int>& taken) {
    for (bool copies : {false, true}) {
      const double before = sg4::Engine::get_clock();
      for (const Wait& wait : mine.waits) {
        if (wait.is_copy != copies) continue;
        for (int& mine_taken = taken[at(wait.from_stream)]; mine_taken < wait.tokens; ++mine_taken)
          tokens(gpu, wait.from_stream, stream)->acquire();
      }
      if (copies && work.kind == Work::Kind::compute)
        replay_.input_wait_s[at(work.iteration)] += (sg4::Engine::get_clock() - before) / program_.gpus;
    }
  }

  void perform(int gpu, const Work& work, Peers& outgoing, Peers& incoming) {
    switch (work.kind) {
      case Work::Kind::copy:
        if (work.seconds > 0) sg4::this_actor::sleep_for(work.seconds);
        return;
      case Work::Kind::compute: {
        const double seconds = work.seconds * jitter_(gpu, work.iteration);
        replay_.compute_s[at(work.iteration)] += seconds / program_.gpus;
        replay_.events += 1;
        // seconds * fill of work at a rate of at most fill: alone it takes `seconds`, and leaves 1 - fill to others.
        if (seconds > 0) sg4::this_actor::exec_init(seconds * work.fill)->set_bound(work.fill)->wait();
        return;
      }
      case Work::Kind::collective:
        if (work.seconds > 0) sg4::this_actor::sleep_for(work.seconds);
        for (const RankStep& step : steps_[at(work.plan)][at(gpu)])
          run_rounds(gpu, work, step, outgoing, incoming);
        return;
    }
  }

  void run_rounds(int gpu, const Work& work, const RankStep& step, Peers& outgoing, Peers& incoming) {
    const int rounds = program_.plans[at(work.plan)].phases[at(step.phase)].rounds;
    std::vector<sg4::CommPtr> pending(step.sends.size() + step.receives.size());
    std::vector<void*> received(step.receives.size(), nullptr);
    const double add_s = step.bytes_to_add * program_.reduce_s_per_byte;
    static char payload;
    for (int round = 0; round < rounds; ++round) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < step.receives.size(); ++i) {
        sg4::Mailbox* box = mailbox(incoming, step.receives[i].first, gpu, work.stream, step.receives[i].first);
        pending[next++] = box->get_async<void>(&received[i]);
      }
      for (const auto& [peer, bytes] : step.sends)
        pending[next++] = mailbox(outgoing, gpu, peer, work.stream, peer)->put_async(&payload, bytes);
      for (const sg4::CommPtr& comm : pending) comm->wait();
      if (add_s > 0) sg4::this_actor::sleep_for(add_s);
      replay_.events += static_cast<std::int64_t>(step.sends.size());
    }
  }

  // Messages of one pair on one stream are sent and received in the same order, so a mailbox per (stream, sender,
  // receiver) never matches the wrong ones.
  static sg4::Mailbox* mailbox(Peers& peers, int src, int dst, int stream, int peer) {
    for (const auto& [known, box] : peers)
      if (known == peer) return box;
    peers.emplace_back(peer, sg4::Mailbox::by_name(std::to_string(stream) + ":" + std::to_string(src) + ">" + std::to_string(dst)));
    return peers.back().second;
  }

  void note(int gpu, int work, std::vector<double> GpuTimeline::*times) {
    if (timeline_of_[at(gpu)] >= 0)
      (replay_.timelines[at(timeline_of_[at(gpu)])].*times)[at(work)] = sg4::Engine::get_clock();
  }

  void end_iteration(int gpu, int iteration) {
    double& end = replay_.iteration_end_s[at(iteration)];
    end = std::max(end, sg4::Engine::get_clock());
    if (options_.keep_ends) replay_.ends_s[at(iteration)][at(gpu)] = sg4::Engine::get_clock();
  }

  const Program& program_;
  Cluster& cluster_;
  const Jitter& jitter_;
  const ReplayOptions& options_;
  std::vector<std::vector<StreamWork>> streams_;
  std::vector<std::vector<std::vector<RankStep>>> steps_;  // by plan, rank
  std::vector<sg4::SemaphorePtr> tokens_;                  // by gpu, from, to
  std::vector<int> timeline_of_;
  Replay replay_;
};

}  // namespace

Replay replay_messages(const Program& program, Cluster& cluster, const Jitter& jitter, const ReplayOptions& options) {
  return MessageReplay(program, cluster, jitter, options).run();
}

std::vector<double> plan_by_messages(const Plan& plan, Cluster& cluster, const std::vector<double>& arrivals_s,
                                     double reduce_s_per_byte) {
  Enqueue gpu(plan.ranks, {"compute", "collective"});
  gpu.begin_iteration();
  const int arrived = gpu.compute(0, "arrive", 1, {});
  gpu.end_iteration(gpu.collective(1, plan.algorithm, gpu.add_plan(plan), 0, {arrived}));
  ReplayOptions options;
  options.keep_ends = true;
  const Jitter arrival = [&](int rank, int) { return arrivals_s[static_cast<std::size_t>(rank)]; };
  Program program = gpu.finish();
  program.reduce_s_per_byte = reduce_s_per_byte;
  return replay_messages(program, cluster, arrival, options).ends_s[0];
}

}  // namespace lockstep::sim
