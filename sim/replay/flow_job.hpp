#pragma once
// Replays the program of one job as flows (message_flows.hpp), which other jobs may share. The class has no clock: the
// caller (flow_replay.cpp) advances it from event to event. Used there only.
#include <algorithm>
#include <map>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/delay_queue.hpp"
#include "sim/replay/enqueued.hpp"
#include "sim/replay/gpu_compute.hpp"
#include "sim/replay/gpu_jitter.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/message_flows.hpp"
#include "sim/replay/plan_shapes.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {

// A plan on a stream: the transfers of its ranks, and which ends of each transfer wait for the other.
struct Exchanges {
  const RankSpans* ranks = nullptr;
  const std::vector<int>* ways = nullptr;  // by transfer
  std::vector<std::int64_t> bytes;         // by Span::run
  std::vector<bool> is_posted;             // by transfer
  // A library operation: its ranks begin together, wait, exchange and leave together.
  double wait_s = 0;
  double transfer_s = 0;
  std::vector<int> gathered;  // strands
};

// A strand is a stream of a GPU. The replay processes the events of all strands in the order of time.
class FlowJob {
 public:
  /// `tokens`: messages of this job get every `jobs`-th token, from `number` on. Starts at `job.start_s`.
  FlowJob(const JobToReplay& job, int number, int jobs, MessageFlows& flows, const ReplayOptions& options)
      : program_(*job.program),
        cluster_(*job.cluster),
        jitter_(*job.jitter, program_.gpus),
        options_(options),
        number_(number),
        jobs_(jobs),
        starts_s_(job.start_s),
        streams_(static_cast<int>(program_.streams.size())),
        works_(enqueued_by_stream(program_)),
        go_on_after_(streams_after(works_)),
        flows_(flows),
        shapes_(cluster_, flows),
        strands_(to_index(program_.gpus) * to_index(streams_)),
        is_slowed_(has_slowdowns(program_)),
        timeline_of_(timelines_by_gpu(program_, options)),
        replay_(begin_replay(program_, ReplayMethod::fair_flows, options)) {
    for (int gpu = 0, strand = 0; gpu < program_.gpus; ++gpu)
      for (int stream = 0; stream < streams_; ++stream, ++strand) {
        strands_[to_index(strand)].gpu = gpu;
        strands_[to_index(strand)].stream = stream;
        works_left_ += works_of(strand).size();
      }
    if (is_slowed_ || computes_on_several_streams(program_)) computes_.resize(to_index(program_.gpus));
    lay_out_plans();
    find_ways_of_copies();
  }

  /// Time of the next event other than the arrival of a message.
  double next_s() const { return has_started_ ? events_.first_s() : starts_s_; }

  /// Notes the arrival of a message; advance() to the same time must follow.
  void note_arrival(double now_s, int token) {
    now_s_ = now_s;
    arrive(token / jobs_);
  }

  /// Processes events up to `now_s`, and starts all work that can start then.
  void advance(double now_s) {
    now_s_ = now_s;
    if (!has_started_ && starts_s_ <= now_s) {
      has_started_ = true;
      for (int strand = static_cast<int>(strands_.size()) - 1; strand >= 0; --strand) ready_.push_back(strand);
    }
    while (events_.first_s() <= now_s_) happen(events_.pop());
    go_on_with_ready();
  }

  bool has_ended() const { return works_left_ == 0; }

  Replay take_replay() { return std::move(replay_); }

 private:
  enum class Step : std::uint8_t { waiting, timed, launching, exchanging, entering_call, in_call, leaving_call };
  struct Strand {
    double since_s = 0;  // when all conditions but input were met, or a phase was entered
    int gpu = 0;
    int stream = 0;
    int next = 0;     // index in the stream's works; those before it have ended
    int work = -1;    // the next work, if it has started
    int met = 0;      // number of the next work's needs that are met
    int pending = 0;  // transfers in this round
    int phase = 0;
    int round = 0;
    int low = 0;  // the rank's spans before this one are over
    Step step = Step::waiting;
    bool lacks_input = false;
  };
  struct Event {
    int what;     // a strand, or gpus * streams + the number of a computing GPU
    int changes;  // changes of the GPU's compute when this end was computed
  };
  struct Pair {
    int sender;    // strand
    int receiver;  // strand; -1: none waits
  };

  int gpu_of(int strand) const { return strands_[to_index(strand)].gpu; }
  int stream_of(int strand) const { return strands_[to_index(strand)].stream; }
  const std::vector<Enqueued>& works_of(int strand) const { return works_[to_index(stream_of(strand))]; }
  int work_of(int strand) const { return strands_[to_index(strand)].work; }

  void lay_out_plans() {
    for (const Work& work : program_.work) {
      if (work.kind != Work::Kind::collective) continue;
      Exchanges& exchanges = exchanges_[{work.plan, work.stream}];
      if (exchanges.ranks) continue;
      const Plan& plan = program_.plans[to_index(work.plan)];
      const PlanShape& shape = shapes_.find_shape(plan);
      exchanges.ranks = &shape.spans;
      exchanges.ways = &shape.ways;
      exchanges.bytes = RankSpans::bytes_of_runs(plan);
      exchanges.is_posted.assign(to_index(exchanges.ranks->transfers()), false);
      if (!plan.call) continue;
      exchanges.wait_s = call_wait_s(plan, cluster_);
      exchanges.transfer_s = plan.call->transfer_s;
    }
    for (const Work& work : program_.work)
      exchanges_of_.push_back(work.kind == Work::Kind::collective ? &exchanges_.at({work.plan, work.stream}) : nullptr);
  }

  void find_ways_of_copies() {
    for (const Work::Source source : input_sources(program_))
      for (int gpu = 0; gpu < program_.fed_gpus; ++gpu) {
        const Cluster::Ends ends = ends_of_copy(cluster_, source, gpu);
        ways_of_copies_[source].push_back(flows_.way(cluster_, ends.from, ends.to));
      }
  }

  // For delays that many strands have.
  void after(double seconds, int strand) { events_.push_after(now_s_, seconds, {strand, 0}); }

  void go_on_with_ready() {
    while (!ready_.empty()) {
      const int strand = ready_.back();
      ready_.pop_back();
      go_on(strand);
    }
  }

  // Starts the next work of a strand, a stream of one GPU, if all the works that it waits for have ended.
  void go_on(int strand) {
    Strand& s = strands_[to_index(strand)];
    if (s.step != Step::waiting || to_index(s.next) == works_of(strand).size()) return;
    const Enqueued& mine = works_of(strand)[to_index(s.next)];
    const Strand* const gpus = &strands_[to_index(strand - s.stream)];
    const int needs = static_cast<int>(mine.needs.size());
    // Ended work stays ended, so each need is checked only until it is met.
    while (s.met < needs && gpus[mine.needs[to_index(s.met)].stream].next >= mine.needs[to_index(s.met)].ended) ++s.met;
    if (s.met < needs) {
      if (!mine.needs[to_index(s.met)].is_copy) return;
      if (!s.lacks_input) s.since_s = now_s_;
      s.lacks_input = true;
      return;
    }
    const Work& work = program_.work[to_index(mine.work)];
    if (s.lacks_input && work.kind == Work::Kind::compute)
      replay_.input_wait_s[to_index(work.iteration)] += (now_s_ - s.since_s) / program_.gpus;
    s.lacks_input = false;
    note(strand, mine.work, &GpuTimeline::start_s);
    begin(strand, mine.work);
  }

  void begin(int strand, int w) {
    const Work& work = program_.work[to_index(w)];
    strands_[to_index(strand)].work = w;
    strands_[to_index(strand)].step = work.kind == Work::Kind::collective ? Step::launching : Step::timed;
    switch (work.kind) {
      case Work::Kind::copy:
      case Work::Kind::host:
        if (work.source != Work::Source::aside) return copy_over_links(strand, work);
        break;
      case Work::Kind::compute:
        return compute(strand, work);
      case Work::Kind::collective:
        break;
    }
    if (work.seconds > 0)
      after(work.seconds, strand);
    else
      happen({strand, 0});
  }

  void copy_over_links(int strand, const Work& work) {
    if (gpu_of(strand) >= program_.fed_gpus) return end(strand);
    replay_.events += 1;
    send(ways_of_copies_[work.source][to_index(gpu_of(strand))], work.bytes, kInfinity, {strand, -1});
  }

  void compute(int strand, const Work& work) {
    const int gpu = gpu_of(strand);
    const double seconds = work.seconds * jitter_.find_factor(gpu, work.iteration * program_.draws + work.draw);
    replay_.compute_s[to_index(work.iteration)] += seconds / program_.gpus;
    replay_.events += 1;
    if (!(seconds > 0)) return end(strand);
    if (computes_.empty()) return events_.push_at(now_s_ + seconds, {strand, 0});
    computes_[to_index(gpu)].begin(now_s_, {strand, seconds, work.fill});
    await_compute(gpu);
  }

  void await_compute(int gpu) {
    const GpuCompute& compute = computes_[to_index(gpu)];
    if (compute.next_end_s() == kInfinity) return;
    events_.push_at(compute.next_end_s(), {static_cast<int>(strands_.size()) + gpu, compute.changes()});
  }

  void happen(const Event& event) {
    if (event.what >= static_cast<int>(strands_.size()))
      return end_compute(event.what - static_cast<int>(strands_.size()), event.changes);
    const int strand = event.what;
    switch (strands_[to_index(strand)].step) {
      case Step::launching:
        return enter_collective(strand);
      case Step::in_call:
        return exchange_in_call(strand);
      default:
        return end(strand);
    }
  }

  void end_compute(int gpu, int changes) {
    GpuCompute& compute = computes_[to_index(gpu)];
    if (compute.changes() != changes) return;
    for (const GpuCompute::Piece& piece : compute.end(now_s_)) {
      const int iteration = program_.work[to_index(work_of(piece.token))].iteration;
      replay_.compute_s[to_index(iteration)] += piece.slowed_s / program_.gpus;
      replay_.slowed_s[to_index(iteration)] += piece.slowed_s / program_.gpus;
      end(piece.token);
    }
    await_compute(gpu);
  }

  // Ends the strand's work; strands that waited for it may continue.
  void end(int strand) {
    Strand& s = strands_[to_index(strand)];
    const int w = work_of(strand), gpu = gpu_of(strand);
    note(strand, w, &GpuTimeline::end_s);
    const int iteration = program_.work[to_index(w)].iteration;
    if (program_.iteration_ends[to_index(iteration)] == w) {
      replay_.iteration_end_s[to_index(iteration)] = std::max(replay_.iteration_end_s[to_index(iteration)], now_s_);
      if (options_.keep_ends) replay_.ends_s[to_index(iteration)][to_index(gpu)] = now_s_;
    }
    s.step = Step::waiting;
    ++s.next;
    --works_left_;
    s.met = 0;
    for (int stream : go_on_after_[to_index(s.stream)]) {
      const int other = gpu * streams_ + stream;
      if (strands_[to_index(other)].step == Step::waiting) ready_.push_back(other);
    }
  }

  void enter_collective(int strand) {
    const int w = work_of(strand), gpu = gpu_of(strand);
    if (is_slowed_) {
      computes_[to_index(gpu)].enter_collective(now_s_, program_.work[to_index(w)].slows);
      await_compute(gpu);
    }
    Strand& s = strands_[to_index(strand)];
    s.low = 0;
    if (program_.plans[to_index(program_.work[to_index(w)].plan)].call) return gather(strand, Step::entering_call);
    s.step = Step::exchanging;
    enter_phase(strand, 0);
  }

  void leave_collective(int strand) {
    const int gpu = gpu_of(strand);
    if (is_slowed_) {
      computes_[to_index(gpu)].leave_collective(now_s_, program_.work[to_index(work_of(strand))].slows);
      await_compute(gpu);
    }
    end(strand);
  }

  // Enters the first phase, from `phase` on, in which the rank takes part.
  void enter_phase(int strand, int phase) {
    Strand& s = strands_[to_index(strand)];
    const RankSpans& ranks = *exchanges_of_[to_index(work_of(strand))]->ranks;
    const Span* const spans = ranks.begin(gpu_of(strand));
    const int count = static_cast<int>(ranks.end(gpu_of(strand)) - spans);
    while (s.low < count && spans[s.low].last <= phase) ++s.low;
    if (s.low == count) return leave_collective(strand);
    s.phase = std::max(phase, spans[s.low].first);
    s.round = 0;
    s.since_s = now_s_;
    post_round(strand);
  }

  template <typename Do>
  void for_spans(int strand, Do&& what) const {
    const Strand& s = strands_[to_index(strand)];
    const RankSpans& ranks = *exchanges_of_[to_index(work_of(strand))]->ranks;
    for (const Span* span = ranks.begin(gpu_of(strand)) + s.low; span != ranks.end(gpu_of(strand)); ++span) {
      if (span->first > s.phase) break;
      if (span->is_in(s.phase)) what(*span);
    }
  }

  void post_round(int strand) {
    Exchanges& exchanges = *exchanges_of_[to_index(work_of(strand))];
    int& pending = strands_[to_index(strand)].pending;
    pending = 0;
    for_spans(strand, [&](const Span& span) {
      ++pending;
      replay_.events += span.is_send;
      if (!exchanges.is_posted[to_index(span.transfer)]) {
        exchanges.is_posted[to_index(span.transfer)] = true;
        return;
      }
      exchanges.is_posted[to_index(span.transfer)] = false;
      const int other = span.peer * streams_ + stream_of(strand);
      const std::int64_t bytes = exchanges.bytes[to_index(span.run)];
      const double most = most_bytes_per_s(bytes, span.reduces, exchanges.transfer_s);
      send((*exchanges.ways)[to_index(span.transfer)], bytes, most,
           span.is_send ? Pair{strand, other} : Pair{other, strand});
    });
  }

  // Maximum rate of a transfer. `at_least_s`: time that every transfer takes in addition to latency, even on the
  // fastest links.
  double most_bytes_per_s(std::int64_t bytes, bool reduces, double at_least_s) const {
    if (at_least_s > 0) return static_cast<double>(bytes) / at_least_s;
    if (reduces && program_.reduction_rate_bytes_per_s > 0) return program_.reduction_rate_bytes_per_s;
    return kInfinity;
  }

  void send(int way, std::int64_t bytes, double most_bytes_per_s, const Pair& pair) {
    int token = static_cast<int>(pairs_.size());
    if (unused_.empty()) {
      pairs_.push_back(pair);
    } else {
      token = unused_.back();
      unused_.pop_back();
      pairs_[to_index(token)] = pair;
    }
    flows_.send(now_s_, way, static_cast<double>(bytes), token * jobs_ + number_, most_bytes_per_s);
  }

  void arrive(int token) {
    const Pair pair = pairs_[to_index(token)];
    unused_.push_back(token);
    if (pair.receiver < 0) return end(pair.sender);
    for (int strand : {pair.sender, pair.receiver})
      if (--strands_[to_index(strand)].pending == 0) end_round(strand);
  }

  void end_round(int strand) {
    Strand& s = strands_[to_index(strand)];
    const int w = work_of(strand);
    Exchanges& exchanges = *exchanges_of_[to_index(w)];
    if (exchanges.transfer_s > 0) return gather(strand, Step::leaving_call);
    const int rounds = exchanges.ranks->rounds(s.phase);
    if (++s.round < rounds) return post_round(strand);
    const int timeline = replay_.timelines.empty() ? -1 : timeline_of_[to_index(gpu_of(strand))];
    if (timeline >= 0)
      for_spans(strand, [&](const Span& span) {
        replay_.timelines[to_index(timeline)].add(
            {w, span.peer, span.is_send, exchanges.bytes[to_index(span.run)] * rounds, rounds, s.since_s, now_s_});
      });
    enter_phase(strand, s.phase + 1);
  }

  void gather(int strand, Step step) {
    const Plan& plan = program_.plans[to_index(program_.work[to_index(work_of(strand))].plan)];
    Exchanges& exchanges = *exchanges_of_[to_index(work_of(strand))];
    strands_[to_index(strand)].step = step;
    exchanges.gathered.push_back(strand);
    if (static_cast<int>(exchanges.gathered.size()) < plan.ranks) return;
    std::vector<int> all;
    all.swap(exchanges.gathered);
    for (int rank : all) {
      if (step == Step::leaving_call) {
        leave_collective(rank);
      } else {
        strands_[to_index(rank)].step = Step::in_call;
        after(exchanges.wait_s, rank);
      }
    }
  }

  void exchange_in_call(int strand) {
    strands_[to_index(strand)].step = Step::exchanging;
    strands_[to_index(strand)].phase = 0;
    int transfers = 0;
    for_spans(strand, [&](const Span&) { ++transfers; });
    if (transfers == 0) return gather(strand, Step::leaving_call);
    post_round(strand);
  }

  void note(int strand, int work, std::vector<double> GpuTimeline::*times) {
    if (replay_.timelines.empty()) return;
    const int timeline = timeline_of_[to_index(gpu_of(strand))];
    if (timeline >= 0) (replay_.timelines[to_index(timeline)].*times)[to_index(work)] = now_s_;
  }

  const Program& program_;
  const Cluster& cluster_;
  GpuJitter jitter_;
  const ReplayOptions& options_;
  const int number_, jobs_;
  const double starts_s_;
  bool has_started_ = false;
  std::size_t works_left_ = 0;  // of all strands
  const int streams_;
  const std::vector<std::vector<Enqueued>> works_;   // by stream
  const std::vector<std::vector<int>> go_on_after_;  // by stream
  MessageFlows& flows_;
  PlanShapes shapes_;
  std::map<std::pair<int, int>, Exchanges> exchanges_;       // by plan and stream
  std::vector<Exchanges*> exchanges_of_;                     // by work
  std::map<Work::Source, std::vector<int>> ways_of_copies_;  // by GPU
  std::vector<Strand> strands_;                              // by GPU, then stream
  const bool is_slowed_;
  std::vector<GpuCompute> computes_;  // by GPU; empty if each GPU computes one work at a time, at full speed
  DelayQueue<Event> events_;
  std::vector<int> ready_;  // strands
  std::vector<Pair> pairs_;
  std::vector<int> unused_;  // in pairs_
  std::vector<int> timeline_of_;
  double now_s_ = 0;
  Replay replay_;
};

}  // namespace lockstep::sim::replay
