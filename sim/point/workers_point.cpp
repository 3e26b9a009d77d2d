#include "sim/point/workers_point.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/format_printf.hpp"
#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"
#include "sim/cost/delay.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replay/actors.hpp"
#include "sim/scenario/profile_quality.hpp"
#include "sim/schedule/async_sgd.hpp"

namespace lockstep::sim::point {
namespace {

constexpr int kWarmUp = 2;  // iterations before the measured ones
// A stream of random numbers. Workers begin at independent random places of a step, as after a long run. With evenly
// spaced beginnings they would stay too regular for hundreds of steps.
constexpr std::uint64_t kBeginStream = 0x626567696e;

std::vector<Place> worker_places(int gpus) {
  std::vector<Place> places;
  for (int gpu = 0; gpu < gpus; ++gpu) places.push_back({Place::Kind::gpu, gpu});
  return places;
}

// Places separate servers on nodes after the workers'. Other servers are placed on the workers' nodes in turn.
std::vector<Place> server_places(const Scenario& s, int gpus) {
  std::vector<Place> places;
  const int nodes = s.cluster.nodes_for(gpus);
  for (int server = 0; server < s.workers->servers; ++server)
    places.push_back({Place::Kind::node, s.workers->separate ? nodes + server : server % nodes});
  return places;
}

// The scenario's jitter times its delays; delays in seconds are those of a whole step.
StepFactor step_factor(const Scenario& s, const PointRequest& request, const Delay& delay, double step_s) {
  const double unit = s.workers->delay.in_seconds ? step_s : 1;
  return [jitter = jitter_of(s, request.seed), delay, unit, seed = request.seed](int worker, int step) {
    return jitter(worker, step) * delay.draw(seed, worker, step) / unit;
  };
}

double step_seconds(const ModelCost& cost) {
  return cost.forward_s() + cost.backward_s();
}

SampleSummary summarise(const std::vector<double>& samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  return {*least, mean(samples), median(samples), *most, standard_deviation(samples), samples.size()};
}

// Values in ascending order, and how often each occurs.
std::vector<std::pair<double, int>> histogram(const std::vector<double>& samples) {
  std::map<double, int> counts;
  for (double sample : samples) ++counts[sample];
  return {counts.begin(), counts.end()};
}

// Makes one prediction from the log of its replay.
class WorkersPoint {
 public:
  WorkersPoint(const Scenario& scenario, const PointRequest& request)
      : s_(scenario),
        request_(request),
        cost_(model_cost(scenario, request.batch_per_gpu)),
        delay_(scenario.workers->delay),
        cluster_(scenario.cluster, (scenario.cluster.nodes_for(request.gpus) + scenario.workers->server_nodes()) *
                                       scenario.cluster.gpus_per_node) {
    apply_overheads(scenario, cluster_);
  }

  PointResult predict() {
    if (s_.algorithm == Algorithm::backup_workers)
      predict_backup_workers();
    else if (s_.algorithm == Algorithm::async_sgd)
      predict_async_sgd();
    else
      predict_async_easgd();
    describe_point();
    return std::move(point_);
  }

 private:
  double step_s() const { return step_seconds(cost_); }
  int iterations() const { return kWarmUp + request_.iterations; }
  // Bytes of an element on the wire; none if the delays include communication.
  int wire_bytes() const {
    if (s_.workers->delay.includes_communication) return 0;
    return bytes_of(s_.communication.wire);
  }

  void predict_backup_workers() {
    BackupWorkers o;
    o.workers = worker_places(request_.gpus);
    o.servers = server_places(s_, request_.gpus);
    o.shards = equal_shards(s_.model, cost_, wire_bytes(), s_.workers->servers);
    o.aggregate = s_.workers->aggregate_of(request_.gpus);
    o.steps = iterations();
    o.timeout_s = s_.workers->timeout_s;
    o.is_interrupted = s_.workers->is_interrupted;
    o.overlap = s_.communication.overlap;
    o.apply_rate_bytes_per_s = s_.workers->apply_bytes_per_s;
    o.factor = step_factor(s_, request_, delay_, step_s());
    if (are_servers_identical()) merge_identical_servers(o);
    replay_ = replay_actors(backup_workers(o), cluster_, request_.fidelity);
    count_gradients(o);
  }

  // Separate servers with equal shards receive their parts of every worker's gradient at once. They all send and
  // receive the same at the same moment. This does not hold over a fabric whose links messages share.
  bool are_servers_identical() const {
    return request_.fidelity != Fidelity::message && s_.workers->separate && s_.workers->servers > 1 &&
           !s_.communication.overlap && s_.cluster.fabric.kind == FabricKind::star && s_.cluster.faults.empty();
  }

  // One server represents all. Each message to or from it represents as many messages as there are servers; they share
  // the links of the worker's node evenly. This is exact, with fewer messages by that factor.
  void merge_identical_servers(BackupWorkers& o) {
    represented_servers_ = static_cast<int>(o.servers.size());
    for (std::size_t j = 1; j < o.shards.size(); ++j) {
      o.shards[0].forward_s += o.shards[j].forward_s;
      o.shards[0].backward_s += o.shards[j].backward_s;
    }
    o.shards.resize(1);
    o.servers.resize(1);
    for (int node = 0; node < s_.cluster.nodes_for(request_.gpus); ++node)
      cluster_.divide_bandwidth_of_node(cluster_.node_at(node), represented_servers_);
  }

  // For each version, reads from the log when all servers had published it, its number of gradients, and their
  // arrivals.
  void count_gradients(const BackupWorkers& o) {
    std::vector<double> published_s(to_index(o.steps) + 1, 0), aggregated(to_index(o.steps), 0);
    std::vector<std::vector<double>> used_s(
        to_index(o.steps));  // at the first server, by version, as the paper measured
    std::vector<std::size_t> versions(o.servers.size(), 0);
    double used = 0, dropped = 0, computed_s = 0;
    for (const ActorEvent& event : replay_.log) {
      const int server = event.actor - request_.gpus;
      if (event.what == "computed") computed_s += double(event.value) * 1e-9;
      if (event.what == "used" && server == 0) used_s[static_cast<std::size_t>(event.value)].push_back(event.time_s);
      used += event.what == "used";
      dropped += event.what == "dropped";
      if (event.what != "update") continue;
      const std::size_t version = versions[to_index(server)]++;
      published_s[version + 1] = std::max(published_s[version + 1], event.time_s);
      aggregated[version] += double(event.value) / double(o.servers.size());
    }
    for (int i = kWarmUp; i < iterations(); ++i)
      point_.iteration_s.push_back(published_s[to_index(i) + 1] - published_s[to_index(i)]);
    const double gradients = mean({aggregated.begin() + kWarmUp, aggregated.end()});
    point_.samples_per_iteration = gradients * request_.batch_per_gpu;
    point_.compute_s = std::min(computed_s / request_.gpus / iterations(), point_.mean_iteration_s());
    details_.aggregated_gradients = gradients;
    details_.backups = request_.gpus - o.aggregate;
    details_.dropped_share = dropped / (used + dropped);
    details_.arrivals_s = arrivals(used_s, published_s, o.aggregate);
    point_.notes.push_back(format_printf(
        "%d workers: %.4g gradients make an update, %.1f %% are dropped; GPUs idle %.1f %%.", request_.gpus, gradients,
        100 * dropped / (used + dropped), 100 * (1 - point_.compute_s / point_.mean_iteration_s())));
  }

  // Time from the publication of the parameters to the k-th gradient computed from them.
  std::vector<GradientArrival> arrivals(const std::vector<std::vector<double>>& used_s,
                                        const std::vector<double>& published_s, int aggregate) const {
    std::vector<GradientArrival> table;
    for (int k = 1; k <= aggregate; ++k) {
      std::vector<double> after_s;
      for (int i = kWarmUp; i < iterations(); ++i)
        if (static_cast<int>(used_s[to_index(i)].size()) >= k)
          after_s.push_back(used_s[to_index(i)][to_index(k) - 1] - published_s[to_index(i)]);
      if (after_s.empty()) continue;
      table.push_back({k, mean(after_s), median(after_s)});
    }
    return table;
  }

  void predict_async_sgd() {
    AsyncSgd o;
    o.workers = worker_places(request_.gpus);
    o.servers = server_places(s_, request_.gpus);
    o.shards = s_.workers->by_module ? module_shards(s_.model, cost_, wire_bytes(), s_.workers->servers)
                                     : equal_shards(s_.model, cost_, wire_bytes(), s_.workers->servers);
    o.total_steps = std::int64_t{request_.gpus} * iterations();
    o.steps = static_cast<int>(o.total_steps);
    o.reads_in_forward = s_.workers->reads_in_forward;
    o.sends_in_backward = s_.workers->sends_in_backward;
    o.apply_rate_bytes_per_s = s_.workers->apply_bytes_per_s;
    o.begin_s = [seed = request_.seed, step_s = step_s()](int worker) {
      return step_s * random_uniform(seed, kBeginStream, static_cast<std::uint64_t>(worker));
    };
    o.factor = step_factor(s_, request_, delay_, step_s());
    replay_ = replay_actors(async_sgd(o), cluster_, request_.fidelity);
    const double measured_from_s = count_steps();
    describe_staleness(o, measured_from_s);
  }

  // Iterations of asynchronous workers are N ended steps each. Returns when the measured ones begin.
  double count_steps() {
    std::vector<double> ended_s;
    double computed_s = 0;
    for (const ActorEvent& event : replay_.log)
      if (event.what == "step") {
        ended_s.push_back(event.time_s);
        computed_s += double(event.value) * 1e-9;
      }
    const auto end_of = [&](int iteration) { return ended_s[to_index((iteration + 1) * request_.gpus) - 1]; };
    for (int i = kWarmUp; i < iterations(); ++i) point_.iteration_s.push_back(end_of(i) - end_of(i - 1));
    point_.samples_per_iteration = double(request_.gpus) * request_.batch_per_gpu;
    // Workers compute all the time except during communication. So their share of computing follows from the mean time
    // of a step.
    const double steps = double(ended_s.size());
    point_.compute_s = std::min(computed_s / steps, point_.mean_iteration_s());
    measured_until_s_ = end_of(iterations() - 1);
    return end_of(kWarmUp - 1);
  }

  void describe_staleness(const AsyncSgd& o, double from_s) {
    std::vector<std::vector<double>> staleness(o.shards.size());
    for (const ActorEvent& event : replay_.log)
      if (event.what == "update" && event.time_s > from_s && event.time_s <= measured_until_s_)
        staleness[to_index(shard_of(event.value))].push_back(double(staleness_of(event.value)));
    std::vector<ShardStaleness> table;
    for (std::size_t i = 0; i < staleness.size(); ++i)
      if (!staleness[i].empty()) table.push_back({summarise(staleness[i]), histogram(staleness[i]), o.shards[i].name});
    details_.staleness = table;
    if (table.empty()) return;
    point_.notes.push_back(
        format_printf("%d workers: mean staleness %.1f updates in the bottom layers, %.1f in the top ones.",
                      request_.gpus, table.front().summary.mean, table.back().summary.mean));
  }

  void predict_async_easgd() {
    AsyncEasgd o;
    o.workers = worker_places(request_.gpus);
    o.server = server_places(s_, request_.gpus).front();
    o.bytes = s_.model.parameter_count() * wire_bytes();
    o.step_s = cost_.iteration_s();
    o.total_steps = std::int64_t{request_.gpus} * (kWarmUp + request_.iterations);
    o.steps = static_cast<int>(o.total_steps);
    o.period = s_.workers->period;
    o.first_steps_apart_s = o.step_s * o.period;
    o.elastic_rate = s_.workers->elastic_rate;
    o.apply_rate_bytes_per_s = s_.workers->apply_bytes_per_s;
    o.factor = step_factor(s_, request_, delay_, o.step_s);
    replay_ = replay_actors(async_easgd(o), cluster_, request_.fidelity);
    count_steps();
    std::vector<double> exchange_s;
    for (const ActorEvent& event : replay_.log)
      if (event.what == "exchanged") exchange_s.push_back(double(event.value) * 1e-9);
    details_.alpha = o.elastic_rate;
    details_.tau = o.period;
    if (!exchange_s.empty()) details_.exchange_s = summarise(exchange_s);
  }

  void describe_point() {
    PointResult& p = point_;
    p.gpus = request_.gpus;
    p.nodes = cluster_.nodes();
    p.batch_per_gpu = request_.batch_per_gpu;
    p.exposed_communication_s = std::max(0.0, p.mean_iteration_s() - p.compute_s);
    const double computed = p.compute_s / p.mean_iteration_s();
    const MeasuredQuality quality = measured_quality(s_, p.gpus, p.batch_per_gpu, {});
    const UncertaintySpec u = widened(s_.uncertainty, quality);
    const double spread = std::hypot(u.compute * computed, u.bandwidth * (1 - computed));
    p.interval.low = 1 - spread;
    p.interval.high = 1 + spread;
    if (const std::string why = find_imprecision(quality, p.interval.high); !why.empty()) throw std::runtime_error(why);
    double bytes = 0;
    for (int worker = 0; worker < request_.gpus; ++worker) bytes += double(replay_.bytes_sent[to_index(worker)]);
    p.bytes_sent_per_gpu = represented_servers_ * bytes / request_.gpus / iterations();
    p.messages = double(replay_.messages) * represented_servers_ / iterations();
    p.fidelity = request_.fidelity;
    p.method = choose_workers_method(request_.fidelity);
    if (represented_servers_ > 1) p.method.part = ReplayedPart::servers;
    p.method.represented = represented_servers_;
    p.events = replay_.messages + static_cast<std::int64_t>(replay_.log.size());
    if (s_.workers->delay.kind == DelaySpec::Kind::percentiles)
      details_.delay = DelayFit{delay_.spec().scale, delay_.spec().shape, delay_.spec().tail_probability,
                                delay_.spec().tail_index, delay_.fit_residual()};
    details_.servers = s_.workers->servers;
    details_.idle_share = 1 - p.compute_s / p.mean_iteration_s();
    p.details.workers = std::move(details_);
    if (!request_.trace.gpus.empty())
      p.notes.push_back("The trace is empty: " + name_of(s_.algorithm) + " has no timeline.");
  }

  const Scenario& s_;
  const PointRequest& request_;
  const ModelCost cost_;
  const Delay delay_;
  Cluster cluster_;
  ActorReplay replay_;
  PointResult point_;
  WorkersDetails details_;
  double measured_until_s_ = 0;
  int represented_servers_ = 1;  // servers that each replayed server represents
};

}  // namespace

PointResult predict_workers(const Scenario& scenario, const PointRequest& request) {
  return WorkersPoint(scenario, request).predict();
}

}  // namespace lockstep::sim::point
