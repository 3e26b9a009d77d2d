#include "sim/replica/least_time.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/replica/passes.hpp"

namespace lockstep::sim::replica {
namespace {

double least_backward_s(const Passes& passes, const ParallelSpec& spec, int block) {
  const double whole_s = passes.backward(block).total_s();
  if (!spec.splits_backward()) return whole_s;
  return std::min(whole_s, passes.input_gradient(block).total_s() + passes.weight_gradient(block).total_s());
}

}  // namespace

LeastTime::LeastTime(const SplitJob& job, RankSecondsOfSplits& of_splits, const SplitLinks& links, double slowest) {
  SplitJob unsharded = job;
  unsharded.spec.sharding = ShardingStage::none;
  unsharded.spec.sharding_group = 0;
  const std::shared_ptr<const RankSeconds> seconds = of_splits.at(job);
  const Passes passes(unsharded, *seconds, links, slowest, {});
  forward_until_s_.push_back(0);
  backward_until_s_.push_back(0);
  for (int block = 0; block < unsharded.shape.layers; ++block) {
    forward_until_s_.push_back(forward_until_s_.back() + passes.forward(block).total_s());
    backward_until_s_.push_back(backward_until_s_.back() + least_backward_s(passes, unsharded.spec, block));
  }
  embedding_ = {passes.embedding_forward().total_s(), passes.embedding_backward().total_s()};
  loss_ = {passes.loss_forward().total_s(), passes.loss_backward().total_s()};
}

LeastTime::PassTimes LeastTime::find_pass_times(const ModelPart& part) const {
  const std::size_t from = to_index(part.first_block), to = to_index(part.first_block + part.blocks);
  PassTimes passed{forward_until_s_[to] - forward_until_s_[from], backward_until_s_[to] - backward_until_s_[from]};
  for (const auto& [stands_here, beside] :
       {std::pair(part.has_embedding, embedding_), std::pair(part.has_loss, loss_)}) {
    if (!stands_here) continue;
    passed.forward_s += beside.forward_s;
    passed.backward_s += beside.backward_s;
  }
  return passed;
}

double LeastTime::seconds(const SplitJob& job) const {
  const int stages = job.spec.pipeline, chunks = job.spec.chunks();
  const PipelineShape pipeline = job.pipeline();
  const auto part = [&](int stage, int chunk) { return find_pass_times(job.parts[to_index(chunk * stages + stage)]); };
  double seconds = 0;
  // The last stage waits for the first pass of the others, unless micro-batches also enter at it. If its last pass only
  // computes gradients of weights, the other stages need not wait for it.
  const bool begins_later = pipeline.order != ChunkOrder::mirrored;
  for (int stage = 0; begins_later && stage + 1 < stages; ++stage) {
    double backward_s = part(stage, 0).backward_s;
    for (int chunk = 1; chunk < chunks; ++chunk) backward_s = std::min(backward_s, part(stage, chunk).backward_s);
    seconds += part(stage, 0).forward_s + (job.spec.splits_backward() ? 0 : backward_s);
  }
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const PassTimes passed = part(stages - 1, chunk);
    seconds += pipeline.micro_batches_of_chunk() * (passed.forward_s + passed.backward_s);
  }
  return seconds;
}

}  // namespace lockstep::sim::replica
