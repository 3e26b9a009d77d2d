#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <simgrid/s4u.hpp>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/messages/messages.hpp"
#include "sim/messages/pace.hpp"
#include "sim/messages/platform.hpp"
#include "sim/messages/simgrid_compat.hpp"
#include "sim/replay/actor_work.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/message_reach.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::messages {
namespace {

namespace sg4 = simgrid::s4u;

class MessageReplay {
 public:
  MessageReplay(const JobToReplay& job, int number, Platform& platform, const ReplayOptions& options)
      : program_(*job.program),
        cluster_(*job.cluster),
        platform_(platform),
        jitter_(*job.jitter),
        options_(options),
        starts_s_(job.start_s),
        mailboxes_(number == 0 ? "" : "job" + std::to_string(number) + "."),
        streams_(works_by_stream(program_)),
        timeline_of_(timelines_by_gpu(program_, options)),
        replay_(begin_replay(program_, ReplayMethod::messages, options)) {
    for (const Plan& plan : program_.plans) ops_.emplace_back(plan);
  }

  // Starts the actors. They run in the next run of SimGrid's engine.
  void start() {
    if (has_slowdowns(program_)) paces_.resize(to_index(program_.gpus));
    const int streams = static_cast<int>(program_.streams.size());
    tokens_.resize(to_index(program_.gpus * streams * streams));
    for (int gpu = 0; gpu < program_.gpus; ++gpu)
      for (int stream = 0; stream < streams; ++stream)
        if (!streams_[to_index(stream)].empty()) start_stream(gpu, stream);
  }

  Replay take_replay() { return std::move(replay_); }

 private:
  using Peers = std::vector<std::pair<int, sg4::Mailbox*>>;  // few entries, so searched linearly
  // The mailboxes of a stream's sends and receives.
  struct Ports {
    Peers outgoing, incoming;
  };

  sg4::SemaphorePtr& tokens(int gpu, int from, int to) {
    const int streams = static_cast<int>(program_.streams.size());
    sg4::SemaphorePtr& semaphore = tokens_[to_index((gpu * streams + from) * streams + to)];
    if (!semaphore) semaphore = sg4::Semaphore::create(0);
    return semaphore;
  }

  void start_stream(int gpu, int stream) {
    compat::add_actor(mailboxes_ + "gpu" + std::to_string(gpu) + "." + program_.streams[to_index(stream)],
                      platform_.host(cluster_.gpu(gpu)), [this, gpu, stream] { run_stream(gpu, stream); });
  }

  void run_stream(int gpu, int stream) {
    std::vector<int> taken(program_.streams.size(), 0);
    Ports ports;
    if (starts_s_ > 0) sg4::this_actor::sleep_for(starts_s_);
    for (const StreamWork& mine : streams_[to_index(stream)]) {
      const Work& work = program_.work[to_index(mine.work)];
      wait_for_others(gpu, stream, work, mine, taken);
      note(gpu, mine.work, &GpuTimeline::start_s);
      perform(gpu, mine.work, ports);
      note(gpu, mine.work, &GpuTimeline::end_s);
      if (program_.iteration_ends[to_index(work.iteration)] == mine.work) end_iteration(gpu, work.iteration);
      for (int to : mine.signals) tokens(gpu, stream, to)->release();
    }
  }

  // Takes the tokens of copies last. The remaining wait is then the wait for input.
  void wait_for_others(int gpu, int stream, const Work& work, const StreamWork& mine, std::vector<int>& taken) {
    for (bool copies : {false, true}) {
      const double before = sg4::Engine::get_clock();
      for (const Wait& wait : mine.waits) {
        if (wait.is_copy != copies) continue;
        for (int& mine_taken = taken[to_index(wait.from_stream)]; mine_taken < wait.tokens; ++mine_taken)
          tokens(gpu, wait.from_stream, stream)->acquire();
      }
      if (copies && work.kind == Work::Kind::compute)
        replay_.input_wait_s[to_index(work.iteration)] += (sg4::Engine::get_clock() - before) / program_.gpus;
    }
  }

  void perform(int gpu, int w, Ports& ports) {
    const Work& work = program_.work[to_index(w)];
    switch (work.kind) {
      case Work::Kind::copy:
      case Work::Kind::host:
        if (work.source != Work::Source::aside) return copy_over_links(gpu, work);
        if (work.seconds > 0) sg4::this_actor::sleep_for(work.seconds);
        return;
      case Work::Kind::compute:
        return compute(gpu, work);
      case Work::Kind::collective:
        if (work.seconds > 0) sg4::this_actor::sleep_for(work.seconds);
        if (!paces_.empty()) paces_[to_index(gpu)].enter(work.slows);
        run_collective(gpu, w, ports);
        if (!paces_.empty()) paces_[to_index(gpu)].leave(work.slows);
        return;
    }
  }

  void compute(int gpu, const Work& work) {
    const double seconds = work.seconds * jitter_(gpu, work.iteration * program_.draws + work.draw);
    replay_.compute_s[to_index(work.iteration)] += seconds / program_.gpus;
    replay_.events += 1;
    if (!paces_.empty() && program_.shares_gpu) {
      note_slowed(work.iteration, paces_[to_index(gpu)].share(seconds, work.fill));
    } else if (!paces_.empty()) {
      const double began_s = sg4::Engine::get_clock();
      paces_[to_index(gpu)].compute(seconds);
      note_slowed(work.iteration, sg4::Engine::get_clock() - began_s - seconds);
    } else if (seconds > 0) {
      // Work of seconds * fill at a maximum rate of `fill`: alone it takes `seconds`, and leaves 1 - fill of the GPU to
      // others.
      sg4::this_actor::exec_init(seconds * work.fill)->set_bound(work.fill)->wait();
    }
  }

  // GPUs that only act as parameter servers get no input.
  void copy_over_links(int gpu, const Work& work) {
    if (gpu >= program_.fed_gpus) return;
    replay_.events += 1;
    const Cluster::Ends ends = ends_of_copy(cluster_, work.source, gpu);
    sg4::Comm::sendto(platform_.host(ends.from), platform_.host(ends.to), static_cast<std::uint64_t>(work.bytes));
  }

  void note_slowed(int iteration, double slowed_s) {
    replay_.compute_s[to_index(iteration)] += slowed_s / program_.gpus;
    replay_.slowed_s[to_index(iteration)] += slowed_s / program_.gpus;
  }

  void run_collective(int gpu, int w, Ports& ports) {
    const Work& work = program_.work[to_index(w)];
    const RankOps& ops = ops_[to_index(work.plan)];
    const Op* const end = ops.end(gpu);
    if (program_.plans[to_index(work.plan)].call) {
      run_call(gpu, w, ports);
      return;
    }
    for (const Op* first = ops.begin(gpu); first != end;) {
      const Op* last = first + 1;
      while (last != end && last->phase == first->phase) ++last;
      const double entered_s = sg4::Engine::get_clock();
      const int rounds = ops.rounds(first->phase);
      for (int round = 0; round < rounds; ++round) exchange(gpu, work.stream, first, last, ports);
      if (timeline_of_[to_index(gpu)] >= 0)
        for (const Op* op = first; op != last; ++op)
          replay_.timelines[to_index(timeline_of_[to_index(gpu)])].add(
              {w, op->peer, op->is_send, op->bytes * rounds, rounds, entered_s, sg4::Engine::get_clock()});
      first = last;
    }
  }

  // Runs a library operation whose time comes from a model: ranks enter together, transfer at the model's rates, and
  // leave together.
  void run_call(int gpu, int w, Ports& ports) {
    const Work& work = program_.work[to_index(w)];
    const RankOps& ops = ops_[to_index(work.plan)];
    Call& call = calls_[{work.plan, work.stream}];
    if (!call.barrier) {
      const Plan& plan = program_.plans[to_index(work.plan)];
      call = {sg4::Barrier::create(static_cast<unsigned>(plan.ranks)), call_wait_s(plan, cluster_),
              plan.call->transfer_s};
    }
    call.barrier->wait();
    if (call.wait_s > 0) sg4::this_actor::sleep_for(call.wait_s);
    if (ops.begin(gpu) != ops.end(gpu))
      exchange(gpu, work.stream, ops.begin(gpu), ops.end(gpu), ports, call.transfer_s);
    call.barrier->wait();
  }

  // Runs all transfers of a rank in a round concurrently. The last is posted and waited for in one call. Every transfer
  // takes `at_least_s` in addition to its latency, even on the fastest links.
  void exchange(int gpu, int stream, const Op* first, const Op* last, Ports& ports, double at_least_s = 0) {
    std::vector<sg4::CommPtr> pending;
    for (const Op* op = first; op != last; ++op) {
      pending.push_back(op->is_send ? send(*op, mailbox(ports.outgoing, gpu, op->peer, stream, op->peer), at_least_s)
                                    : receive(mailbox(ports.incoming, op->peer, gpu, stream, op->peer)));
      if (op + 1 != last) pending.back()->start();
      replay_.events += op->is_send;
    }
    for (auto comm = pending.rbegin(); comm != pending.rend(); ++comm) (*comm)->wait();
  }

  double most_bytes_per_s(const Op& op, double at_least_s) const {
    if (at_least_s > 0) return static_cast<double>(op.bytes) / at_least_s;
    if (op.reduces && program_.reduction_rate_bytes_per_s > 0) return program_.reduction_rate_bytes_per_s;
    return std::numeric_limits<double>::infinity();
  }

  sg4::CommPtr send(const Op& op, sg4::Mailbox* box, double at_least_s) const {
    static char payload;
    sg4::CommPtr comm = box->put_init(&payload, static_cast<std::uint64_t>(op.bytes));
    const double most = most_bytes_per_s(op, at_least_s);
    if (most < std::numeric_limits<double>::infinity()) comm->set_rate(most);
    return comm;
  }

  static sg4::CommPtr receive(sg4::Mailbox* box) {
    static void* ignored;
    return box->get_init()->set_dst_data(&ignored, sizeof(void*));
  }

  // Messages of one pair on one stream are sent and received in the same order. So one mailbox per (stream, sender,
  // receiver) never mismatches them.
  sg4::Mailbox* mailbox(Peers& peers, int src, int dst, int stream, int peer) const {
    for (const auto& [known, box] : peers)
      if (known == peer) return box;
    peers.emplace_back(peer, sg4::Mailbox::by_name(mailboxes_ + std::to_string(stream) + ":" + std::to_string(src) +
                                                   ">" + std::to_string(dst)));
    return peers.back().second;
  }

  void note(int gpu, int work, std::vector<double> GpuTimeline::*times) {
    if (timeline_of_[to_index(gpu)] >= 0)
      (replay_.timelines[to_index(timeline_of_[to_index(gpu)])].*times)[to_index(work)] = sg4::Engine::get_clock();
  }

  void end_iteration(int gpu, int iteration) {
    double& end = replay_.iteration_end_s[to_index(iteration)];
    end = std::max(end, sg4::Engine::get_clock());
    if (options_.keep_ends) replay_.ends_s[to_index(iteration)][to_index(gpu)] = sg4::Engine::get_clock();
  }

  struct Call {
    sg4::BarrierPtr barrier;
    double wait_s = 0;
    double transfer_s = 0;
  };

  const Program& program_;
  const Cluster& cluster_;
  const Platform& platform_;
  const Jitter& jitter_;
  const ReplayOptions& options_;
  const double starts_s_;
  const std::string mailboxes_;  // beginning of their names, which differs among jobs
  std::vector<std::vector<StreamWork>> streams_;
  std::map<std::pair<int, int>, Call> calls_;  // by plan and stream
  std::vector<RankOps> ops_;                   // by plan
  std::vector<sg4::SemaphorePtr> tokens_;      // by gpu, from, to
  std::vector<int> timeline_of_;
  std::vector<Pace> paces_;  // by GPU; empty if collectives do not slow compute
  Replay replay_;
};

// Daemons, which SimGrid ends with the last job.
void start_background(const std::vector<BackgroundFlow>& background, const Platform& platform) {
  constexpr std::uint64_t kEndless = std::uint64_t(1) << 62;
  int number = 0;
  for (const BackgroundFlow& flow : background) {
    // SimGrid 3.32 limits the rate of messages through a mailbox only.
    sg4::Mailbox* const box = sg4::Mailbox::by_name("background" + std::to_string(number++));
    compat::add_actor("background.send", platform.cpu_host(flow.from_node), [box, rate = flow.bytes_per_s] {
      static char payload;
      sg4::Actor::self()->daemonize();
      box->put_init(&payload, kEndless)->set_rate(rate)->wait();
    });
    compat::add_actor("background.receive", platform.cpu_host(flow.to_node), [box] {
      static void* ignored;
      sg4::Actor::self()->daemonize();
      box->get_init()->set_dst_data(&ignored, sizeof(void*))->wait();
    });
  }
}

void run_engine() {
  static bool deadlock = false;  // SimGrid keeps the callback, even for later replays on the cluster
  sg4::Engine::on_deadlock_cb([] { deadlock = true; });
  sg4::Engine::get_instance()->run();
  if (deadlock) throw std::runtime_error("the replay deadlocked: some GPU waits for a message that nobody sends");
}

}  // namespace

std::vector<Replay> simulate_messages(const std::vector<JobToReplay>& jobs,
                                      const std::vector<BackgroundFlow>& background, const ReplayOptions& options) {
  for (const JobToReplay& job : jobs)
    require_reach(message_needs(*job.program, *job.cluster), message_reach(), *job.cluster);
  Platform& platform = Platform::of(*jobs.front().cluster);
  for (const JobToReplay& job : jobs) platform.use_latencies_of(*job.cluster);
  std::deque<MessageReplay> replays;  // a deque, because actors refer to its elements
  int number = 0;
  for (const JobToReplay& job : jobs) replays.emplace_back(job, number++, platform, options).start();
  start_background(background, platform);
  run_engine();
  std::vector<Replay> of_jobs;
  for (MessageReplay& replay : replays) of_jobs.push_back(replay.take_replay());
  return of_jobs;
}

}  // namespace lockstep::sim::messages
