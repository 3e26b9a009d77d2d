#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/index.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/max_plus_plan.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/rounds_fit.hpp"
#include "sim/replay/shared_rounds.hpp"

namespace lockstep::sim::replay {
namespace {

// Index of the last work that waits for each work. The work's times can be dropped after it.
std::vector<int> last_uses(const Program& program) {
  std::vector<int> last(program.work.size());
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    last[w] = static_cast<int>(w);
    for (int waited : program.work[w].after) last[to_index(waited)] = static_cast<int>(w);
  }
  for (int end : program.iteration_ends) last[to_index(end)] = std::max(last[to_index(end)], end);
  return last;
}

// Where messages may meet on links: nowhere; within a round, on links of one GPU; or within a round, on any link. The
// last neglects meetings between different rounds.

enum class Meetings { none, on_own_links, in_rounds };

class MaxPlusReplay {
 public:
  MaxPlusReplay(const Program& program, const Cluster& cluster, const Jitter& jitter, const ReplayOptions& options,
                Meetings meetings, Replay& replay)
      : program_(program),
        jitter_(jitter),
        options_(options),
        replay_(replay),
        meetings_(meetings),
        links_(cluster),
        is_slowed_(has_slowdowns(program)),
        factors_(to_index(program.draws)) {
    if (meetings != Meetings::none) round_.emplace(cluster);
  }

  bool run() {
    // Flows of different collectives may meet anywhere.
    if (meetings_ != Meetings::in_rounds && collective_streams(program_) > 1) return false;
    if (program_.shares_gpu) return false;
    if (is_slowed_ && !knows_what_is_in_flight(program_)) return false;
    if (meetings_ == Meetings::none && !rounds_fit(program_, links_.cluster())) return false;
    lay_out_plans();
    for (const MaxPlusPlan& plan : plans_)
      if (!plan.has_time()) return false;
    for (const SharedPlan& plan : shared_plans_)
      if (meetings_ == Meetings::on_own_links && !plan.has_own_links()) return false;
    // Copies and messages may be in flight at any time. A link slows them if it cannot carry all of them at once.
    for (const auto& [source, flows] : copies_)
      for (int flow : flows)
        if (links_.is_contested(flow)) return false;
    prepare();
    find_ends_by_gpu();
    const std::vector<int> last_use = last_uses(program_);
    std::vector<std::vector<int>> drop(program_.work.size());
    for (std::size_t w = 0; w < last_use.size(); ++w) drop[to_index(last_use[w])].push_back(static_cast<int>(w));
    for (std::size_t w = 0; w < program_.work.size(); ++w) {
      if (!run_work(static_cast<int>(w))) return false;
      for (int done : drop[w])
        if (std::vector<double>& memory = ends_[to_index(done)].of_gpu; memory.capacity() > 0)
          free_memory_.push_back(std::move(memory));
    }
    return true;
  }

 private:
  void lay_out_plans() {
    const double reduction_rate = program_.reduction_rate_bytes_per_s;
    MaxPlusShapes shapes;
    const std::shared_ptr<const UnitClasses> units_of_calls = round_ ? nullptr : find_units_of_calls();
    if (round_)
      shared_plans_.reserve(program_.plans.size());
    else
      plans_.reserve(program_.plans.size());
    for (const Plan& plan : program_.plans) {
      if (round_)
        shared_plans_.emplace_back(plan, links_.cluster(), reduction_rate, *round_, plan_with_ranks_of(plan));
      else if (plan.call)
        plans_.emplace_back(plan, links_.cluster(), *units_of_calls);
      else
        plans_.emplace_back(plan, links_, shapes, reduction_rate);
    }
    if (round_ && collective_streams(program_) <= 1) round_->forget_messages_of_owned_links();
    for (const Work::Source source : input_sources(program_))
      for (const Route& route : routes_of_copies(program_, source, links_.cluster()))
        copies_[source].push_back(links_.other_flow(route));
    if (!copies_.empty() && !round_)
      for (const Plan& plan : program_.plans)
        if (plan.call) links_.add_call(plan);
    links_.find_contested_links();
    for (MaxPlusPlan& plan : plans_) plan.find_watched(links_);
  }

  // The buckets of a job differ in size only, so their library operations share units.
  std::shared_ptr<const UnitClasses> find_units_of_calls() const {
    if (options_.units) return options_.units;
    std::vector<const Plan*> calls;
    for (const Plan& plan : program_.plans)
      if (plan.call) calls.push_back(&plan);
    if (calls.empty()) return nullptr;
    return std::make_shared<const UnitClasses>(calls, links_.cluster());
  }

  // A previous plan between the same ranks; nullptr if there is none.
  const SharedPlan* plan_with_ranks_of(const Plan& plan) const {
    for (std::size_t p = 0; p < shared_plans_.size() && !plan.call; ++p)
      if (!program_.plans[p].call && have_same_ranks(program_.plans[p], plan)) return &shared_plans_[p];
    return nullptr;
  }

  void prepare() {
    replay_ = begin_replay(program_, round_ ? ReplayMethod::shared_rounds : ReplayMethod::max_plus, options_);
    ends_.resize(program_.work.size());
    ranges_of_roles_.assign(to_index(program_.draws), {program_.gpus, 0});
    for (int gpu = 0; gpu < static_cast<int>(program_.roles.size()); ++gpu) {
      GpuRange& range = ranges_of_roles_[to_index(program_.roles[to_index(gpu)])];
      range = {std::min(range.first, gpu), std::max(range.end, gpu + 1)};
    }
    streams_.assign(program_.streams.size(), {std::vector<double>(to_index(program_.gpus), 0), 0, true});
  }

  // GPUs first .. end - 1, which include all that take part in a piece of work.
  struct GpuRange {
    int first, end;
  };
  // Ends of work on the GPUs from `first` on. Only the latest is kept if no work needs others.
  struct Ends {
    int first = 0;
    std::vector<double> of_gpu;
    double latest_s = 0;
    bool are_equal = false;  // latest_s is the end on every GPU, and of_gpu is empty
    int end() const { return first + static_cast<int>(of_gpu.size()); }
    bool has(int gpu) const { return are_equal || (gpu >= first && gpu < end()); }
    double at_gpu(int gpu) const { return are_equal ? latest_s : of_gpu[to_index(gpu - first)]; }
  };
  // When a stream is free on each GPU.
  struct StreamTimes {
    std::vector<double> of_gpu;
    double latest_s = 0;
    bool are_equal = true;  // latest_s is the time on every GPU, and of_gpu is out of date
  };

  // A library operation that all GPUs enter and leave together needs only the latest times. `of_gpu` is not needed.
  bool is_joint_call(const Work& work) const {
    return work.kind == Work::Kind::collective && !round_ && plans_[to_index(work.plan)].call() && work.slows <= 1 &&
           replay_.timelines.empty() && !options_.keep_ends;
  }

  void find_ends_by_gpu() {
    needs_ends_by_gpu_.assign(program_.work.size(), false);
    for (const Work& work : program_.work)
      if (!is_joint_call(work))
        for (int waited : work.after) needs_ends_by_gpu_[to_index(waited)] = true;
  }

  void run_joint_call(int w, const Work& work) {
    StreamTimes& stream = streams_[to_index(work.stream)];
    double begin_s = stream.are_equal ? stream.latest_s : latest_of(stream.of_gpu);
    for (int waited : work.after) begin_s = std::max(begin_s, ends_[to_index(waited)].latest_s);
    const double end_s = begin_s + work.seconds + plans_[to_index(work.plan)].call()->seconds;
    stream.latest_s = ends_[to_index(w)].latest_s = end_s;
    stream.are_equal = ends_[to_index(w)].are_equal = true;
    replay_.events += 1;
    if (program_.iteration_ends[to_index(work.iteration)] == w)
      replay_.iteration_end_s[to_index(work.iteration)] = end_s;
  }

  static Eigen::Map<Eigen::ArrayXd> part_of(std::vector<double>& values, const GpuRange& range) {
    return {values.data() + range.first, range.end - range.first};
  }
  static Eigen::Map<const Eigen::ArrayXd> part_of(const std::vector<double>& values, const GpuRange& range) {
    return {values.data() + range.first, range.end - range.first};
  }
  double latest_of(const std::vector<double>& times) const { return part_of(times, {0, program_.gpus}).maxCoeff(); }

  // The stream's times by GPU, up to date.
  std::vector<double>& times_of(int stream_number) {
    StreamTimes& stream = streams_[to_index(stream_number)];
    if (stream.are_equal) std::fill(stream.of_gpu.begin(), stream.of_gpu.end(), stream.latest_s);
    stream.are_equal = false;
    return stream.of_gpu;
  }

  GpuRange range_of(const Work& work) const {
    if (program_.roles.empty()) return {0, program_.gpus};
    if (work.kind == Work::Kind::compute) return ranges_of_roles_[to_index(work.draw)];
    if (work.kind != Work::Kind::collective || !round_) return {0, program_.gpus};
    return {shared_plans_[to_index(work.plan)].first_rank(), shared_plans_[to_index(work.plan)].end_rank()};
  }

  bool run_work(int w) {
    const Work& work = program_.work[to_index(w)];
    if (is_joint_call(work)) {
      run_joint_call(w, work);
      return true;
    }
    const GpuRange range = range_of(work);
    std::vector<double>& times = times_of(work.stream);
    note_input_wait(work, times);
    for (int waited : work.after) wait_for(ends_[to_index(waited)], range, times);
    for (GpuTimeline& timeline : replay_.timelines) timeline.start_s[to_index(w)] = times[to_index(timeline.gpu)];

    if (!advance(w, range, times)) return false;
    keep_ends(w, range, times);
    for (GpuTimeline& timeline : replay_.timelines) timeline.end_s[to_index(w)] = times[to_index(timeline.gpu)];
    if (program_.iteration_ends[to_index(work.iteration)] == w) {
      replay_.iteration_end_s[to_index(work.iteration)] = latest_of(times);
      if (options_.keep_ends) replay_.ends_s[to_index(work.iteration)] = times;
    }
    return true;
  }

  static void wait_for(const Ends& ends, const GpuRange& range, std::vector<double>& times) {
    if (ends.are_equal) {
      part_of(times, range) = part_of(times, range).max(ends.latest_s);
      return;
    }
    const GpuRange both{std::max(range.first, ends.first), std::min(range.end, ends.end())};
    if (both.first >= both.end) return;
    part_of(times, both) =
        part_of(times, both).max(part_of(ends.of_gpu, {both.first - ends.first, both.end - ends.first}));
  }

  void keep_ends(int w, const GpuRange& range, const std::vector<double>& times) {
    Ends& ends = ends_[to_index(w)];
    if (range.first < range.end) ends.latest_s = part_of(times, range).maxCoeff();
    if (!needs_ends_by_gpu_[to_index(w)]) return;
    ends.first = range.first;
    if (!free_memory_.empty()) {
      ends.of_gpu = std::move(free_memory_.back());
      free_memory_.pop_back();
    }
    ends.of_gpu.assign(times.begin() + range.first, times.begin() + range.end);
  }

  bool advance(int w, const GpuRange& range, std::vector<double>& times) {
    const Work& work = program_.work[to_index(w)];
    switch (work.kind) {
      case Work::Kind::copy:
      case Work::Kind::host:
        for (double& time : times) time += work.seconds;
        if (work.source != Work::Source::aside) copy_over_links(work, times);
        return true;
      case Work::Kind::compute:
        compute(work, range, times);
        return true;
      case Work::Kind::collective:
        return run_collective(w, range, times);
    }
    return true;
  }

  void compute(const Work& work, const GpuRange& range, std::vector<double>& times) {
    const Factors& factors = factors_of(work, range);
    const double work_s = work.seconds, busy = work_s * factors.sum;
    double slowed = 0;
    if (!in_flight_.is_empty() && range.first < range.end) in_flight_.forget_until(part_of(times, range).minCoeff());
    if (in_flight_.is_empty()) {
      part_of(times, range) += work_s * part_of(factors.of_gpu, range);
    } else {
      const double before_s = part_of(times, range).sum();
      in_flight_.advance(range.first, range.end, work_s, factors.of_gpu, times);
      slowed = std::max(0.0, part_of(times, range).sum() - before_s - busy);
    }
    replay_.compute_s[to_index(work.iteration)] += (busy + slowed) / program_.gpus;
    replay_.slowed_s[to_index(work.iteration)] += slowed / program_.gpus;
    replay_.events += range.end - range.first;
  }

  void copy_over_links(const Work& work, std::vector<double>& times) {
    for (int gpu = 0; gpu < program_.fed_gpus; ++gpu) {
      const int flow = copies_[work.source][to_index(gpu)];
      times[to_index(gpu)] += links_.latency_s(flow) + static_cast<double>(work.bytes) / links_.bandwidth(flow);
    }
    replay_.events += program_.fed_gpus;
  }

  bool run_collective(int w, const GpuRange& range, std::vector<double>& times) {
    const Work& work = program_.work[to_index(w)];
    for (int gpu = range.first; gpu < range.end; ++gpu) times[to_index(gpu)] += work.seconds;
    std::vector<double> launched_s;
    if (work.slows > 1) launched_s = times;
    const bool fits = run_plan(w, times);
    if (fits && work.slows > 1) in_flight_.add(std::move(launched_s), times, work.slows);
    return fits;
  }

  bool run_plan(int w, std::vector<double>& times) {
    const int plan = program_.work[to_index(w)].plan;
    if (!round_)
      return replay_.timelines.empty()
                 ? plans_[to_index(plan)].run(times, links_, replay_.events)
                 : plans_[to_index(plan)].run_noting(times, links_, replay_.events, w, replay_.timelines);
    shared_plans_[to_index(plan)].run(times, *round_, replay_.events, w, replay_.timelines);
    return true;
  }

  // Compute work lacks input while it waits for a copy after all its other conditions are met.
  void note_input_wait(const Work& work, const std::vector<double>& stream_free) {
    const auto is_copy = [this](int waited) { return program_.work[to_index(waited)].kind == Work::Kind::copy; };
    if (work.kind != Work::Kind::compute || std::none_of(work.after.begin(), work.after.end(), is_copy)) return;
    double wait = 0;
    for (int gpu = 0; gpu < program_.gpus; ++gpu) {
      double other = stream_free[to_index(gpu)], input = 0;
      for (int waited : work.after) {
        if (!ends_[to_index(waited)].has(gpu)) continue;
        double& latest = is_copy(waited) ? input : other;
        latest = std::max(latest, ends_[to_index(waited)].at_gpu(gpu));
      }
      wait += std::max(0.0, input - other);
    }
    replay_.input_wait_s[to_index(work.iteration)] += wait / program_.gpus;
  }

  struct Factors {
    int iteration = -1;
    std::vector<double> of_gpu;
    double sum = 0;  // over the GPUs of the draw's role
  };

  // All work of a draw and iteration has the same range.
  const Factors& factors_of(const Work& work, const GpuRange& range) {
    Factors& factors = factors_[to_index(work.draw)];
    if (factors.iteration == work.iteration) return factors;
    factors.iteration = work.iteration;
    factors.of_gpu.resize(to_index(program_.gpus));
    for (int gpu = range.first; gpu < range.end; ++gpu)
      factors.of_gpu[to_index(gpu)] = jitter_(gpu, work.iteration * program_.draws + work.draw);
    factors.sum = part_of(factors.of_gpu, range).sum();
    return factors;
  }

  const Program& program_;
  const Jitter& jitter_;
  const ReplayOptions& options_;
  Replay& replay_;
  const Meetings meetings_;
  LinkUse links_;
  const bool is_slowed_;  // compute is slower during collectives
  InFlight in_flight_;
  std::optional<RoundOfMessages> round_;  // used if messages may meet
  std::vector<MaxPlusPlan> plans_;        // used if they may not
  std::vector<SharedPlan> shared_plans_;
  std::map<Work::Source, std::vector<int>> copies_;  // flow of the copies, by GPU
  std::vector<GpuRange> ranges_of_roles_;
  std::vector<Ends> ends_;                        // by work
  std::vector<bool> needs_ends_by_gpu_;           // by work
  std::vector<std::vector<double>> free_memory_;  // of ends that no later work needs
  std::vector<StreamTimes> streams_;
  std::vector<Factors> factors_;  // by draw
};

}  // namespace

bool replay_max_plus(const Program& program, const Cluster& cluster, const Jitter& jitter, const ReplayOptions& options,
                     Replay& replay) {
  return MaxPlusReplay(program, cluster, jitter, options, Meetings::none, replay).run();
}

bool replay_shared_rounds(const Program& program, const Cluster& cluster, const Jitter& jitter,
                          const ReplayOptions& options, MeetingLinks links, Replay& replay) {
  const Meetings meetings = links == MeetingLinks::own ? Meetings::on_own_links : Meetings::in_rounds;
  return MaxPlusReplay(program, cluster, jitter, options, meetings, replay).run();
}

bool plan_by_max_plus(const Plan& plan, const Cluster& cluster, std::vector<double>& times_s, double reduction_rate) {
  if (!rounds_fit(plan, cluster)) return false;
  LinkUse links(cluster);
  MaxPlusShapes shapes;
  MaxPlusPlan compiled = plan.call ? MaxPlusPlan(plan, cluster, UnitClasses({&plan}, cluster))
                                   : MaxPlusPlan(plan, links, shapes, reduction_rate);
  links.find_contested_links();
  compiled.find_watched(links);
  std::int64_t events = 0;
  return compiled.has_time() && compiled.run(times_s, links, events);
}

std::vector<double> plan_by_shared_rounds(const Plan& plan, const Cluster& cluster, std::vector<double> arrivals_s,
                                          double reduction_rate) {
  RoundOfMessages round(cluster);
  std::int64_t events = 0;
  std::vector<GpuTimeline> none;
  SharedPlan(plan, cluster, reduction_rate, round).run(arrivals_s, round, events, 0, none);
  return arrivals_s;
}

}  // namespace lockstep::sim::replay
