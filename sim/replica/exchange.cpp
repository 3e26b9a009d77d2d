#include "sim/replica/exchange.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::replica {
namespace {

RankParameters scaled(const RankParameters& parameters, double factor) {
  return {parameters.dense * factor, parameters.experts * factor, parameters.matrices * factor};
}

// The shares of parameters outside blocks, before the first block and after the last one. The gradient of a tied table
// is complete when the embedding's is.
struct Shares {
  double embedding, loss;
};

Shares shares_of(const SplitJob& job, const ModelPart& part) {
  if (!part.has_embedding) return {0, part.has_loss ? 1.0 : 0.0};
  if (!part.has_loss || job.shape.tied_output) return {1, 0};
  return {0.5, 0.5};
}

class Filling {
 public:
  explicit Filling(double most_parameters) : most_(most_parameters) {}
  /// `at_s`: when gradients are ready, or when the first weights of a bucket are needed.
  void add_block(const RankParameters& parameters, double at_s, bool takes_first_time) {
    if (parameters.total() <= 0) return;
    if (!is_open_ || !takes_first_time) open_.from_start_s = at_s;
    open_.parameters += parameters;
    is_open_ = true;
    if (open_.parameters.total() >= most_) close();
  }
  void close() {
    if (is_open_) buckets.push_back(open_);
    open_ = {};
    is_open_ = false;
  }
  std::vector<ExchangeBucket> buckets;

 private:
  double most_;
  ExchangeBucket open_;
  bool is_open_ = false;
};

}  // namespace

bool exchanges_tied_embedding(const SplitJob& job) {
  const bool is_on_two_stages = job.spec.pipeline > 1 && job.pipeline().order == ChunkOrder::looped;
  return job.shape.tied_output && is_on_two_stages && job.spec.lora_rank == 0;
}

std::vector<ExchangeBucket> gradient_buckets(const SplitJob& job, const ModelPart& part,
                                             const std::vector<double>& blocks_s, double before_blocks_s,
                                             const ExchangeRule& rule) {
  const RankParameters beside = trained_parameters_outside_layers(job.shape, job.spec, part);
  const Shares shares = shares_of(job, part);
  Filling filling(rule.bucket_bytes / job.traffic.gradient_bytes);
  double at_s = before_blocks_s;
  filling.add_block(scaled(beside, shares.loss), at_s, false);
  for (int i = part.blocks - 1; i >= 0; --i) {
    at_s += blocks_s[to_index(i)];
    filling.add_block(job.trained_layers[to_index(part.first_block + i)], at_s, false);
  }
  filling.add_block(scaled(beside, shares.embedding), at_s, false);
  filling.close();
  return filling.buckets;
}

std::vector<ExchangeBucket> weight_buckets(const SplitJob& job, const ModelPart& part,
                                           const std::vector<double>& blocks_s, double before_blocks_s,
                                           const ExchangeRule& rule) {
  // FSDP gathers frozen weights, too. Others gather the weights that were updated.
  const bool gathers_all = job.spec.keeps_gathered_state();
  const RankParameters beside = gathers_all ? rank_parameters_outside_layers(job.shape, job.spec, part)
                                            : trained_parameters_outside_layers(job.shape, job.spec, part);
  const std::vector<RankParameters>& layers = gathers_all ? job.gathered_layers : job.trained_layers;
  const Shares shares = shares_of(job, part);
  Filling filling(rule.bucket_bytes / job.traffic.weight_bytes);
  filling.add_block(scaled(beside, shares.embedding), 0, true);
  double at_s = before_blocks_s;
  for (int i = 0; i < part.blocks; ++i) {
    filling.add_block(layers[to_index(part.first_block + i)], at_s, true);
    at_s += blocks_s[to_index(i)];
  }
  filling.add_block(scaled(beside, shares.loss), at_s, true);
  filling.close();
  return filling.buckets;
}

}  // namespace lockstep::sim::replica
