#include "sim/point/split_point.hpp"

#include <cmath>

#include "engine/base/text.hpp"
#include "sim/point/split_trace.hpp"
#include "sim/program/jitter.hpp"
#include "sim/replica/iteration.hpp"
#include "sim/replica/program.hpp"
#include "sim/replica/representative_replicas.hpp"

namespace lockstep::sim::point {
namespace {

SplitDetails split_details(const Scenario& scenario, const SplitModel& model, const SplitIteration& iteration) {
  const SplitJob& job = model.job();
  const SplitSeconds& gpu = iteration.of_gpu;
  SplitDetails details;
  details.replicas = job.spec.data;
  details.gpus_of_replica = job.spec.gpus_of_replica();
  details.micro_batches = job.micro_batches;
  details.forward_s = iteration.forward_s;
  details.backward_s = iteration.backward_s;
  details.pipeline_s = iteration.pipeline_s;
  details.bubble_fraction = iteration.bubble_fraction;
  details.stage_message_s = iteration.message_s;
  details.tensor_s = gpu.tensor_s;
  details.context_s = gpu.context_s;
  details.expert_s = gpu.expert_s;
  details.sharding_s = gpu.sharding_s;
  details.exposed_exchange_s = iteration.exposed_exchange_s;
  details.update_s = gpu.update_s;
  details.recomputed_share = recomputed_share(scenario);
  return details;
}

// Writes "1024 GPUs: 8 replicas of 128, 192 micro-batches of 1 each; of an iteration 5.1 % bubble, ...".
std::string note_of(const SplitModel& model, const SplitIteration& iteration) {
  const SplitJob& job = model.job();
  std::string text =
      std::to_string(job.spec.data * job.spec.gpus_of_replica()) + " GPUs: " + std::to_string(job.spec.data) +
      (job.spec.data == 1 ? " replica of " : " replicas of ") + std::to_string(job.spec.gpus_of_replica()) + ", " +
      std::to_string(job.micro_batches) + " micro-batches of " + std::to_string(job.spec.micro_batch) + " each";
  const SplitSeconds& gpu = iteration.of_gpu;
  const std::vector<std::pair<double, const char*>> parts{{iteration.bubble_fraction * iteration.pipeline_s, "bubble"},
                                                          {gpu.tensor_s, "tensor ranks' exchange"},
                                                          {gpu.context_s, "context ranks' exchange"},
                                                          {gpu.expert_s, "experts' exchange"},
                                                          {gpu.sharding_s, "sharded weights"},
                                                          {iteration.exposed_exchange_s, "exchange between replicas"}};
  std::string shares;
  for (const auto& [seconds, what] : parts) {
    const double percent = std::round(1000 * seconds / iteration.iteration_s) / 10;
    if (percent > 0) shares += (shares.empty() ? "" : ", ") + short_number(percent) + " % " + what;
  }
  return text + (shares.empty() ? "." : "; of an iteration " + shares + ".");
}

// Every iteration begins when all GPUs have ended the previous one. Without jitter, the fidelity `fast` replays only
// the replicas that determine the times of all.
void replay_split(const Scenario& scenario, const PointRequest& request, const Cluster& cluster,
                  const SplitModel& model, PointResult& point) {
  const bool varies = scenario.compute.jitter != JitterKind::none, is_fast = request.fidelity == Fidelity::fast;
  const int iterations = varies ? request.iterations : 1;
  const SplitJob& job = model.job();
  const int replicas = is_fast && !varies ? representative_replicas(job.spec, cluster.gpus_of_unit()) : job.spec.data;
  const int gpus = job.spec.gpus_of_replica() * replicas;
  // Every GPU processes the passes of all stages, including those of others.
  check_split_events(request.fidelity, 2.0 * gpus * job.micro_batches * job.shape.layers * iterations, varies);
  const Program program = split_program(scenario, model, iterations, replicas);
  const double events = events_of(program) * iterations;
  if (!is_fast) check_split_events(request.fidelity, events, varies);
  const Jitter jitter = jitter_of_stages(model, jitter_of(scenario, request.seed), replicas);
  const Cluster part = cluster.take_first_gpus(gpus);
  const Replay replay = replay_by_first(choose_split_methods(request.fidelity, events), program,
                                        is_fast ? part : cluster, jitter, {}, {}, point.method);
  point.iteration_s.clear();
  point.compute_s = 0;
  for (std::size_t i = 0; i < replay.iteration_end_s.size(); ++i) {
    point.iteration_s.push_back(replay.iteration_end_s[i] - (i == 0 ? 0 : replay.iteration_end_s[i - 1]));
    point.compute_s += replay.compute_s[i] / double(replay.compute_s.size());
  }
  point.exposed_communication_s = std::max(0.0, point.mean_iteration_s() - point.compute_s);
  point.messages = program.messages_per_iteration() * job.spec.data / replicas;
  point.fidelity = request.fidelity;
  if (replicas < job.spec.data) point.method.part = ReplayedPart::replicas;
  point.method.replayed = replicas;
  point.method.represented = job.spec.data;
  point.events = replay.events;
}

}  // namespace

Scenario without_split(const Scenario& scenario, int gpus) {
  const ParallelSpec spec = scenario.parallel_at(gpus);
  Scenario plain = scenario;
  plain.communication.accumulation = micro_batches(spec, static_cast<int>(global_batch_of(spec, spec.data)));
  plain.parallel.reset();
  if (spec.recompute != Recomputation::none) plain.compute.repeated_shares = repeated_shares(scenario.model, spec);
  return plain;
}

PointResult predict_split(const Scenario& scenario, const PointRequest& request) {
  Cluster cluster(scenario.cluster, request.gpus);
  apply_overheads(scenario, cluster);
  SplitModel model(scenario, cluster, request.gpus);
  const double slowest = expected_slowest(scenario, request.gpus);
  const SplitIteration iteration = model.iteration(slowest);
  PointResult point;
  point.gpus = request.gpus;
  point.nodes = cluster.nodes();
  point.batch_per_gpu = model.job().spec.micro_batch;
  point.samples_per_iteration = static_cast<double>(global_batch_of(model.job().spec, model.job().spec.data));
  point.iteration_s = {iteration.iteration_s};
  point.compute_s = iteration.of_gpu.compute_s;
  point.exposed_communication_s = std::max(0.0, iteration.iteration_s - point.compute_s);
  point.bytes_sent_per_gpu = model.bytes_sent();
  point.messages = model.messages();
  point.fidelity = Fidelity::analytic;
  point.notes.push_back(note_of(model, iteration));
  point.details.split = split_details(scenario, model, iteration);
  point.interval = relative_interval(scenario.uncertainty, [&](const Perturbation& perturbation) {
    return model.iteration(slowest, perturbation).iteration_s;
  });
  if (!request.trace.gpus.empty()) write_split_trace(model, slowest, request.trace.gpus, request.trace.sink);
  if (request.fidelity != Fidelity::analytic) replay_split(scenario, request, cluster, model, point);
  return point;
}

}  // namespace lockstep::sim::point
