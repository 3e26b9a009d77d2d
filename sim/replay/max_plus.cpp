#include <algorithm>
#include <map>

#include "engine/base/index.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/max_plus_plan.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {
inline namespace replay {
namespace {

// Index of the last work that waits for each work; a work's times can be dropped after it.
std::vector<int> last_uses(const Program& program) {
  std::vector<int> last(program.work.size());
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    last[w] = static_cast<int>(w);
    for (int waited : program.work[w].after) last[at(waited)] = static_cast<int>(w);
  }
  for (int end : program.iteration_ends) last[at(end)] = std::max(last[at(end)], end);
  return last;
}

class MaxPlusReplay {
 public:
  MaxPlusReplay(const Program& program, const Cluster& cluster, const Jitter& jitter, const ReplayOptions& options,
                Replay& replay)
      : program_(program),
        jitter_(jitter),
        options_(options),
        replay_(replay),
        links_(cluster),
        is_slowed_(has_slowdowns(program)),
        in_flight_(program.gpus) {
    for (const Plan& plan : program.plans) plans_.emplace_back(plan, links_, program.reduction_rate_bytes_per_s);
    for (const Work::Source source : input_sources(program))
      for (const Route& route : routes_of_copies(program, source, cluster))
        copies_[source].push_back(links_.other_flow(route));
    links_.find_contested_links();
  }

  bool run() {
    if (collective_streams(program_) > 1) return false;  // flows of different collectives may meet anywhere
    if (program_.shares_gpu) return false;
    if (is_slowed_ && !knows_what_is_in_flight(program_)) return false;
    for (const MaxPlusPlan& plan : plans_)
      if (!plan.fits(links_)) return false;
    // Copies and messages come at any time: a link that could not carry all of them at once may slow some.
    for (const auto& [source, flows] : copies_)
      for (int flow : flows)
        if (links_.is_contested(flow)) return false;
    prepare();
    const std::vector<int> last_use = last_uses(program_);
    std::vector<std::vector<int>> drop(program_.work.size());
    for (std::size_t w = 0; w < last_use.size(); ++w) drop[at(last_use[w])].push_back(static_cast<int>(w));
    for (std::size_t w = 0; w < program_.work.size(); ++w) {
      if (!run_work(static_cast<int>(w))) return false;
      for (int done : drop[w]) std::vector<double>().swap(ends_[at(done)]);
    }
    return true;
  }

 private:
  void prepare() {
    replay_ = Replay{};
    replay_.method = "max-plus";
    replay_.iteration_end_s.assign(at(program_.iterations), 0);
    replay_.compute_s.assign(at(program_.iterations), 0);
    replay_.slowed_s.assign(at(program_.iterations), 0);
    replay_.input_wait_s.assign(at(program_.iterations), 0);
    if (options_.keep_ends) replay_.ends_s.resize(at(program_.iterations));
    for (int gpu : options_.timeline_gpus)
      replay_.timelines.push_back(
          {gpu, std::vector<double>(program_.work.size()), std::vector<double>(program_.work.size()), {}});
    ends_.resize(program_.work.size());
    free_s_.assign(program_.streams.size(), std::vector<double>(at(program_.gpus), 0));
  }

  bool run_work(int w) {
    const Work& work = program_.work[at(w)];
    std::vector<double>& times = free_s_[at(work.stream)];
    note_input_wait(work, times);
    for (int waited : work.after)
      for (int gpu = 0; gpu < program_.gpus; ++gpu)
        times[at(gpu)] = std::max(times[at(gpu)], ends_[at(waited)][at(gpu)]);
    for (GpuTimeline& timeline : replay_.timelines) timeline.start_s[at(w)] = times[at(timeline.gpu)];

    if (!advance(w, times)) return false;
    ends_[at(w)] = times;
    for (GpuTimeline& timeline : replay_.timelines) timeline.end_s[at(w)] = times[at(timeline.gpu)];
    if (program_.iteration_ends[at(work.iteration)] == w) {
      replay_.iteration_end_s[at(work.iteration)] = *std::max_element(times.begin(), times.end());
      if (options_.keep_ends) replay_.ends_s[at(work.iteration)] = times;
    }
    return true;
  }

  bool advance(int w, std::vector<double>& times) {
    const Work& work = program_.work[at(w)];
    switch (work.kind) {
      case Work::Kind::copy:
      case Work::Kind::host:
        for (double& time : times) time += work.seconds;
        if (work.source != Work::Source::aside) copy_over_links(work, times);
        return true;
      case Work::Kind::compute: {
        double busy = 0, slowed = 0;
        for (int gpu = 0; gpu < program_.gpus; ++gpu) {
          const double seconds = work.seconds * factor(gpu, work.iteration);
          busy += seconds;
          if (is_slowed_)
            slowed += beside_collectives(times[at(gpu)], gpu, seconds);
          else
            times[at(gpu)] += seconds;
        }
        replay_.compute_s[at(work.iteration)] += (busy + slowed) / program_.gpus;
        replay_.slowed_s[at(work.iteration)] += slowed / program_.gpus;
        replay_.events += program_.gpus;
        return true;
      }
      case Work::Kind::collective:
        return run_collective(w, times);
    }
    return true;
  }

  void copy_over_links(const Work& work, std::vector<double>& times) {
    for (int gpu = 0; gpu < program_.fed_gpus; ++gpu) {
      const int flow = copies_[work.source][at(gpu)];
      times[at(gpu)] += links_.latency_s(flow) + static_cast<double>(work.bytes) / links_.bandwidth(flow);
    }
    replay_.events += program_.fed_gpus;
  }

  // Moves the GPU's time on by the work; returns how much longer than alone it took.
  double beside_collectives(double& time_s, int gpu, double seconds) {
    const double start_s = time_s;
    time_s = in_flight_.end_s(gpu, start_s, seconds);
    return time_s - start_s - seconds;
  }

  bool run_collective(int w, std::vector<double>& times) {
    const Work& work = program_.work[at(w)];
    for (double& time : times) time += work.seconds;
    const std::vector<double> launched_s = work.slows > 1 ? times : std::vector<double>();
    const MaxPlusPlan& plan = plans_[at(work.plan)];
    const bool fits = replay_.timelines.empty() ? plan.run(times, links_, replay_.events)
                                                : plan.run_noting(times, links_, replay_.events, w, replay_.timelines);
    for (std::size_t gpu = 0; fits && gpu < launched_s.size(); ++gpu)
      in_flight_.add(static_cast<int>(gpu), launched_s[gpu], times[gpu], work.slows);
    return fits;
  }

  // Compute work that waits for a copy beyond everything else it waits for has run out of input.
  void note_input_wait(const Work& work, const std::vector<double>& stream_free) {
    if (work.kind != Work::Kind::compute) return;
    double wait = 0;
    for (int gpu = 0; gpu < program_.gpus; ++gpu) {
      double other = stream_free[at(gpu)], input = 0;
      for (int waited : work.after) {
        const double end = ends_[at(waited)][at(gpu)];
        if (program_.work[at(waited)].kind == Work::Kind::copy)
          input = std::max(input, end);
        else
          other = std::max(other, end);
      }
      wait += std::max(0.0, input - other);
    }
    replay_.input_wait_s[at(work.iteration)] += wait / program_.gpus;
  }

  double factor(int gpu, int iteration) {
    if (iteration != factors_of_) {
      factors_.resize(at(program_.gpus));
      for (int g = 0; g < program_.gpus; ++g) factors_[at(g)] = jitter_(g, iteration);
      factors_of_ = iteration;
    }
    return factors_[at(gpu)];
  }

  const Program& program_;
  const Jitter& jitter_;
  const ReplayOptions& options_;
  Replay& replay_;
  LinkUse links_;
  const bool is_slowed_;  // compute, by collectives beside it
  InFlight in_flight_;
  std::vector<MaxPlusPlan> plans_;
  std::map<Work::Source, std::vector<int>> copies_;  // by GPU, the flow of its copies
  std::vector<std::vector<double>> ends_;            // by work, then GPU
  std::vector<std::vector<double>> free_s_;          // by stream, then GPU
  std::vector<double> factors_;
  int factors_of_ = -1;
};

}  // namespace

bool replay_max_plus(const Program& program, const Cluster& cluster, const Jitter& jitter, const ReplayOptions& options,
                     Replay& replay) {
  return MaxPlusReplay(program, cluster, jitter, options, replay).run();
}

bool plan_by_max_plus(const Plan& plan, const Cluster& cluster, std::vector<double>& times_s, double reduction_rate) {
  LinkUse links(cluster);
  const MaxPlusPlan compiled(plan, links, reduction_rate);
  links.find_contested_links();
  std::int64_t events = 0;
  return compiled.fits(links) && compiled.run(times_s, links, events);
}

}  // namespace replay
}  // namespace lockstep::sim
