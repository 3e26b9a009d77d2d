#include "sim/replica/iteration.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/replica/exchange.hpp"

namespace lockstep::sim::replica {
namespace {

constexpr double kRounding = 1e-12;  // a share of idle time that sums of doubles may show without any

// Sums over the passes of a chunk's blocks.
struct PassParts {
  double compute_s = 0, tensor_s = 0, context_s = 0, expert_s = 0, sharding_s = 0;
};

// The passes of a micro-batch through a chunk.
struct ChunkPasses {
  PassParts forward, backward;
  PassParts input_gradient;  // and, after it, the weights'
  ChunkTimes times;
  // Seconds of each block's passes.
  std::vector<double> forward_blocks_s, backward_blocks_s, weight_gradient_blocks_s;
  double before_blocks_s = 0;           // embedding, forward
  double before_backward_blocks_s = 0;  // loss, backward
};

void add(PassParts& sum, const PassSeconds& more) {
  sum.compute_s += more.compute_s;
  sum.tensor_s += more.tensor_s;
  sum.context_s += more.context_s;
  sum.expert_s += more.expert_s;
  sum.sharding_s += more.sharding_s();
}

class IterationTime {
 public:
  IterationTime(const Scenario& scenario, const SplitJob& job, const RankSeconds& seconds, const SplitLinks& links,
                double update_s, double slowest, const Perturbation& perturbation)
      : scenario_(scenario),
        job_(job),
        links_(links),
        factor_(slowest * perturbation.compute),
        update_s_(factor_ * update_s),
        perturbation_(perturbation),
        passes_(job, seconds, links, factor_, perturbation) {
    for (const ModelPart& part : job.parts) chunks_.push_back(chunk_passes(part));
  }

  SplitIteration run(PipelineTimer& pipeline) {
    SplitIteration result;
    const PipelineTimes times = pipeline_times();
    const auto [ops, line] = pipeline.run(times);
    result.pipeline_s = line.makespan_s - first_release_s(times);
    const double bubble = 1 - line.busy_s_of_all() / (result.pipeline_s * job_.spec.pipeline);
    result.bubble_fraction = bubble > kRounding ? bubble : 0;
    result.message_s = times.message_s;
    const double exchanged_s = all_exchanged_s(*ops, line, times);
    result.iteration_s = exchanged_s + update_s_;
    result.exposed_exchange_s = exchanged_s - result.pipeline_s;
    count(result);
    return result;
  }

  std::vector<SplitSpan> spans(const PipelineOrder& pipeline) {
    const PipelineTimes times = pipeline_times();
    const PipelineTimeline line = pipeline.run(times);
    const std::vector<StageOps>& ops = pipeline.stages();
    const double exchanged_s = all_exchanged_s(ops, line, times);
    std::vector<SplitSpan> spans;
    for (int stage = 0; stage < job_.spec.pipeline; ++stage) {
      double passed_s = 0;
      for (std::size_t i = 0; i < ops[to_index(stage)].size(); ++i) {
        const PipelineOp& op = ops[to_index(stage)][i];
        const double start_s = line.starts_s[to_index(stage)][i];
        passed_s = start_s + times.chunks[to_index(stage)][to_index(op.chunk)].of(op.pass);
        spans.push_back({kind_of(op.pass), stage, op.micro_batch, op.chunk, start_s, passed_s});
      }
      const double own_exchanged_s = this->exchanged_s(stage, ops, line, times);
      if (own_exchanged_s > passed_s)
        spans.push_back({SplitSpan::Kind::exchange, stage, 0, 0, passed_s, own_exchanged_s});
      spans.push_back({SplitSpan::Kind::update, stage, 0, 0, exchanged_s, exchanged_s + update_s_});
    }
    return spans;
  }

 private:
  static SplitSpan::Kind kind_of(Pass pass) {
    if (pass == Pass::forward) return SplitSpan::Kind::forward;
    return pass == Pass::weight_gradient ? SplitSpan::Kind::weight_gradient : SplitSpan::Kind::backward;
  }

  ChunkPasses chunk_passes(const ModelPart& part) const {
    ChunkPasses chunk;
    if (part.has_embedding) {
      add_beside(part, chunk, passes_.embedding_forward(), passes_.embedding_backward());
      chunk.before_blocks_s = chunk.times.forward_s;
    }
    if (part.has_loss) {
      const double before_s = chunk.times.backward_s;
      add_beside(part, chunk, passes_.loss_forward(), passes_.loss_backward());
      chunk.before_backward_blocks_s = chunk.times.backward_s - before_s;
    }
    for (int block = part.first_block; block < part.first_block + part.blocks; ++block) {
      const PassSeconds &forward = passes_.forward(block), &backward = passes_.backward(block);
      chunk.forward_blocks_s.push_back(forward.total_s());
      chunk.backward_blocks_s.push_back(backward.total_s());
      // Nothing hides the first gather of a pass.
      if (block == part.first_block) chunk.times.forward_s += forward.beside.seconds;
      chunk.times.forward_s += forward.total_s();
      chunk.times.backward_s += backward.total_s();
      add(chunk.forward, forward);
      add(chunk.backward, backward);
      if (job_.spec.splits_backward()) add_split_backward(block, chunk);
    }
    return chunk;
  }

  void add_split_backward(int block, ChunkPasses& chunk) const {
    const PassSeconds &inputs = passes_.input_gradient(block), &weights = passes_.weight_gradient(block);
    chunk.weight_gradient_blocks_s.push_back(weights.total_s());
    chunk.times.input_gradient_s += inputs.total_s();
    chunk.times.weight_gradient_s += weights.total_s();
    add(chunk.input_gradient, inputs);
    add(chunk.input_gradient, weights);
  }

  // Adds embedding or loss, with their part of the sharded weights.
  void add_beside(const ModelPart& part, ChunkPasses& chunk, PassSeconds forward, PassSeconds backward) const {
    RankParameters parameters = rank_parameters_outside_layers(job_.shape, job_.spec, part),
                   trained = trained_parameters_outside_layers(job_.shape, job_.spec, part);
    if (part.has_embedding && part.has_loss) {
      parameters = parameters.half();
      trained = trained.half();
    }
    if (job_.spec.exchanged_sharding() == ShardingStage::zero3) {
      passes_.add_shards(forward, passes_.gather(parameters));
      passes_.add_shards(backward, passes_.gather(parameters));
    }
    if (job_.spec.exchanged_sharding() == ShardingStage::zero2 ||
        job_.spec.exchanged_sharding() == ShardingStage::zero3)
      passes_.add_shards(backward, passes_.scatter(trained));
    chunk.times.forward_s += forward.total_s();
    chunk.times.backward_s += backward.total_s();
    chunk.times.input_gradient_s += backward.total_s();
    add(chunk.forward, forward);
    add(chunk.backward, backward);
    add(chunk.input_gradient, backward);
  }

  const ChunkPasses& chunk(int stage, int index) const { return chunks_[to_index(index * job_.spec.pipeline + stage)]; }
  const ModelPart& part(int stage, int index) const { return job_.parts[to_index(index * job_.spec.pipeline + stage)]; }

  bool gathers_before() const {
    return job_.spec.exchanged_sharding() == ShardingStage::zero1 ||
           job_.spec.exchanged_sharding() == ShardingStage::zero2;
  }

  ExchangeRule rule() const {
    const CommunicationSpec& c = scenario_.communication;
    return {static_cast<double>(c.bucket_bytes()), c.launch_overhead_s * perturbation_.latency};
  }

  PipelineTimes pipeline_times() const {
    PipelineTimes times;
    times.message_s = passes_.message_s();
    for (int stage = 0; stage < job_.spec.pipeline; ++stage) {
      times.chunks.emplace_back();
      for (int c = 0; c < job_.spec.chunks(); ++c) times.chunks.back().push_back(chunk(stage, c).times);
      if (gathers_before()) times.release_s.push_back(releases_s(stage));
    }
    return times;
  }

  // Earliest starts of the chunks' first forward passes for which no block waits for its weights.
  std::vector<double> releases_s(int stage) const {
    std::vector<double> releases;
    double gathered_s = 0;
    StateSeconds gathered;
    for (int c = 0; c < job_.spec.chunks(); ++c) {
      const ChunkPasses& of = chunk(stage, c);
      double release = 0;
      for (const ExchangeBucket& bucket :
           weight_buckets(job_, part(stage, c), of.forward_blocks_s, of.before_blocks_s, rule())) {
        const StateSeconds gather = passes_.gather(bucket.parameters);
        gathered += gather;
        gathered_s += rule().launch_s + gather.seconds;
        release = std::max(release, gathered_s - bucket.from_start_s);
      }
      releases.push_back(release);
    }
    if (!scenario_.communication.overlap) {
      releases.assign(releases.size(), gathered_s);
      return releases;
    }
    // While the rest is gathered, the first passes are slower.
    const double delay_s = gathered.delay_s(std::max(0.0, gathered_s - releases.front()));
    for (double& release : releases) release += delay_s;
    return releases;
  }

  double first_release_s(const PipelineTimes& times) const {
    return times.release_s.empty() ? 0 : times.release_s.front().front();
  }

  // The last op of a chunk that computes gradients of weights.
  struct LastPass {
    double start_s = 0, seconds = 0;
    int chunk = 0;
    Pass pass = Pass::backward;
  };

  std::vector<LastPass> last_passes(int stage, const std::vector<StageOps>& ops, const PipelineTimeline& line,
                                    const PipelineTimes& times) const {
    std::vector<LastPass> last(to_index(job_.spec.chunks()));
    std::vector<bool> is_found(last.size(), false);
    std::size_t missing = last.size();
    for (std::size_t i = ops[to_index(stage)].size(); i > 0 && missing > 0; --i) {
      const PipelineOp& op = ops[to_index(stage)][i - 1];
      const std::size_t c = to_index(op.chunk);
      if (!gives_weight_gradients(op.pass) || is_found[c]) continue;
      is_found[c] = true;
      --missing;
      last[c] = {line.starts_s[to_index(stage)][i - 1], times.chunks[to_index(stage)][c].of(op.pass), op.chunk,
                 op.pass};
    }
    std::sort(last.begin(), last.end(), [](const LastPass& a, const LastPass& b) { return a.start_s < b.start_s; });
    return last;
  }

  std::vector<ExchangeBucket> buckets_of(int stage, const LastPass& last) const {
    const ChunkPasses& of = chunk(stage, last.chunk);
    const bool is_whole = last.pass == Pass::backward;
    return gradient_buckets(job_, part(stage, last.chunk),
                            is_whole ? of.backward_blocks_s : of.weight_gradient_blocks_s,
                            is_whole ? of.before_backward_blocks_s : 0, rule());
  }

  // When a stage has exchanged its gradients.
  double exchanged_s(int stage, const std::vector<StageOps>& ops, const PipelineTimeline& line,
                     const PipelineTimes& times) const {
    double end_s = 0, exchanged_s = 0;
    const std::vector<LastPass> last = last_passes(stage, ops, line, times);
    for (const LastPass& pass : last) end_s = std::max(end_s, pass.start_s + pass.seconds);
    const bool scatters_before = job_.spec.exchanged_sharding() == ShardingStage::zero2 ||
                                 job_.spec.exchanged_sharding() == ShardingStage::zero3;
    double delay_s = 0;  // of the passes, by exchanges that overlap them
    for (const LastPass& pass : last)
      for (const ExchangeBucket& bucket : buckets_of(stage, pass)) {
        const StateSeconds exchange = passes_.exchange(bucket.parameters);
        if (exchange.seconds <= 0) continue;
        const double ready_s = scenario_.communication.overlap ? pass.start_s + bucket.from_start_s + delay_s : end_s;
        const double begin_s = std::max(exchanged_s, ready_s) + rule().launch_s;
        exchanged_s = begin_s + exchange.seconds;
        if (scenario_.communication.overlap)
          delay_s += exchange.delay_s(std::clamp(end_s + delay_s - begin_s, 0.0, exchange.seconds));
      }
    end_s += delay_s;
    // Gradients were scattered during the passes, except those of the last block, which are scattered after them. A
    // stage may have no block: 27 layers over 8 stages leave the output alone on the last one.
    const ModelPart& first = part(stage, 0);
    if (scatters_before && !job_.spec.waits_for_shards() && first.blocks > 0)
      end_s += passes_.scatter(job_.trained_layers[to_index(first.first_block)]).seconds;
    return std::max(end_s, exchanged_s) + copies_s(stage);
  }

  // Exchange of gradients with a part's other copy. That copy is on the mirrored stage, whose exchange ends at the same
  // time.
  double copies_s(int stage) const {
    if (!job_.spec.has_two_copies()) return 0;
    RankParameters trained;
    for (int c = 0; c < job_.spec.chunks(); ++c) trained += job_.trained_parameters(part(stage, c));
    return links_.seconds(copies_exchange(trained, job_.spec, job_.traffic), perturbation_);
  }

  double all_exchanged_s(const std::vector<StageOps>& ops, const PipelineTimeline& line,
                         const PipelineTimes& times) const {
    std::vector<double> ends;
    for (int stage = 0; stage < job_.spec.pipeline; ++stage) ends.push_back(exchanged_s(stage, ops, line, times));
    double end_s = *std::max_element(ends.begin(), ends.end());
    if (!exchanges_tied_embedding(job_)) return end_s;
    const double bytes =
        double(job_.shape.vocabulary) * job_.shape.hidden / job_.spec.tensor * job_.traffic.gradient_bytes;
    const Traffic tied{"tied embedding's gradients", TrafficKind::all_reduce, TrafficGroup::embeddings, 2, bytes};
    return std::max(end_s, std::max(ends.front(), ends.back()) + links_.seconds(tied, perturbation_));
  }

  void count(SplitIteration& result) const {
    const double m = job_.pipeline().micro_batches_of_chunk(), p = job_.spec.pipeline;
    SplitSeconds& gpu = result.of_gpu;
    for (const ChunkPasses& chunk : chunks_)
      for (const PassParts* pass :
           {&chunk.forward, job_.spec.splits_backward() ? &chunk.input_gradient : &chunk.backward}) {
        gpu.compute_s += m / p * pass->compute_s;
        gpu.tensor_s += m / p * pass->tensor_s;
        gpu.context_s += m / p * pass->context_s;
        gpu.expert_s += m / p * pass->expert_s;
        gpu.sharding_s += m / p * pass->sharding_s;
      }
    gpu.update_s = update_s_;
    gpu.compute_s += update_s_;
    for (int stage = 0; stage < job_.spec.pipeline; ++stage) {
      double forward_s = 0, backward_s = 0;
      for (int c = 0; c < job_.spec.chunks(); ++c) {
        const ChunkTimes& times = chunk(stage, c).times;
        forward_s += times.forward_s;
        backward_s += job_.spec.splits_backward() ? times.input_gradient_s + times.weight_gradient_s : times.backward_s;
      }
      if (forward_s + backward_s <= result.forward_s + result.backward_s) continue;
      result.forward_s = forward_s;
      result.backward_s = backward_s;
    }
  }

  const Scenario& scenario_;
  const SplitJob& job_;
  const SplitLinks& links_;
  double factor_, update_s_;
  Perturbation perturbation_;
  Passes passes_;
  std::vector<ChunkPasses> chunks_;  // chunk c of stage s at c p + s
};

// A group of expert ranks is on `expert_nodes` nodes.
double messages_of(const Traffic& traffic, int expert_nodes) {
  const bool is_dispatch = traffic.kind == TrafficKind::dispatch;
  const double others = is_dispatch ? expert_nodes - 1 + traffic.ranks / expert_nodes - 1 : traffic.ranks - 1;
  if (traffic.kind == TrafficKind::send) return traffic.times;
  return traffic.times * (traffic.kind == TrafficKind::all_reduce ? 2 * others : others);
}

}  // namespace

SplitModel::SplitModel(const Scenario& scenario, const Cluster& cluster, int gpus)
    : scenario_(scenario),
      job_(split_job(scenario, gpus)),
      seconds_(std::make_shared<const RankSeconds>(rank_seconds(scenario, job_))),
      links_(std::make_shared<const SplitLinks>(scenario, cluster, job_.spec)),
      pipeline_(std::make_shared<PipelineTimer>(schedule_of_pipeline(job_.spec), job_.pipeline())),
      update_s_(slowest_update_s()) {}

SplitModel::SplitModel(const Scenario& scenario, int gpus, std::shared_ptr<const SplitLinks> links,
                       RankSecondsOfSplits& seconds, PipelineTimers& timers)
    : scenario_(scenario),
      job_(split_job(scenario, gpus)),
      seconds_(seconds.at(job_)),
      links_(std::move(links)),
      pipeline_(timers.at(schedule_of_pipeline(job_.spec), job_.pipeline())),
      update_s_(slowest_update_s()) {}

double SplitModel::slowest_update_s() const {
  double slowest_s = 0;
  for (int stage = 0; stage < job_.spec.pipeline; ++stage)
    slowest_s = std::max(slowest_s, update_of_stage_s(scenario_, job_, *seconds_, stage));
  return slowest_s;
}

SplitIteration SplitModel::iteration(double slowest, const Perturbation& perturbation) {
  return IterationTime(scenario_, job_, *seconds_, *links_, update_s_, slowest, perturbation).run(*pipeline_);
}

std::vector<SplitSpan> SplitModel::spans(double slowest) const {
  if (!pipeline_->can_be_whole())
    throw InputError("a timeline of " + std::to_string(job_.micro_batches) +
                     " micro-batches has too many passes; allowed: at most " +
                     std::to_string(static_cast<int>(kMostPasses / 2 / job_.spec.pipeline / job_.spec.chunks())) +
                     " micro-batches");
  return IterationTime(scenario_, job_, *seconds_, *links_, update_s_, slowest, {})
      .spans(PipelineOrder(job_.ops(), job_.pipeline()));
}

double SplitModel::bytes_sent() const {
  double bytes = 0;
  for (int stage = 0; stage < job_.spec.pipeline; ++stage)
    bytes += sent_bytes(iteration_traffic(job_.shape, job_.spec, job_.parts, stage, job_.micro_batches, job_.traffic),
                        links_->of(TrafficGroup::expert).most_nodes);
  return bytes / job_.spec.pipeline;
}

double SplitModel::messages() const {
  double messages = 0;
  for (int stage = 0; stage < job_.spec.pipeline; ++stage)
    for (const Traffic& traffic :
         iteration_traffic(job_.shape, job_.spec, job_.parts, stage, job_.micro_batches, job_.traffic))
      messages += messages_of(traffic, links_->of(TrafficGroup::expert).most_nodes);
  return messages * job_.spec.tensor * job_.spec.context * job_.spec.data;
}

}  // namespace lockstep::sim::replica
