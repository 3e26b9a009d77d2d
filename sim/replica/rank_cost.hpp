#pragma once
// Computes the seconds of a micro-batch on a rank of a split, block by block, by the roofline of sim/cost.
//
// A rank computes a transformer whose heads, inner columns and vocabulary are divided by the tensor ranks (Shoeybi et
// al. 2019), on 1/c of the tokens. With sequence parallelism, norms, dropouts and sums over the hidden state are on 1/t
// of those (Korthikanti et al. 2022).
//
// Attention is 1/c of that of the whole sequence. Each context rank has a piece of the front and one of the back, so
// that all have equally many pairs.
//
// A rank has 1/x of the experts and that share of the rows, which it orders by expert (token_cost.hpp). Tensor ranks
// that hold whole experts (/parallel/expert_tensor of 1) have the rows of their 1/t of the sequence.
//
// Recomputation adds to the backward pass. `selective` adds the attention's forward pass. `alternate_matrices` adds all
// others, and half of the matrices. `full` adds the whole forward pass of a block.
//
// If the schedule computes a weight's gradient separately, it takes half of a matrix's backward pass, and the sums of
// gradients (gradient_sums.hpp). Frozen weights (lora_rank) have no gradients, and the embedding then has no backward
// pass. Adapters are layers of their own (adapters.hpp).
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "sim/program/split_job.hpp"

namespace lockstep::sim::replica {

struct BlockSeconds {
  double forward_s = 0;
  double backward_s = 0;                                     ///< includes recomputation
  double weight_gradient_s = 0;                              ///< part of backward_s for the gradients of weights
  double attention_forward_s = 0, attention_backward_s = 0;  ///< part of these that communication can overlap
  double products_forward_s = 0, products_backward_s = 0;    ///< likewise, for GEMMs with weights
  double products_s = 0, attention_s = 0;                    ///< in both passes, with recomputation
  /// Parts of forward_s and backward_s in which the GPU waits for the processor that launches kernels.
  double waiting_forward_s = 0, waiting_backward_s = 0;
  /// Returns the waiting part of `seconds` of the backward pass.
  double waiting_backward_of(double seconds) const {
    return backward_s > 0 ? waiting_backward_s * seconds / backward_s : 0;
  }

  bool operator==(const BlockSeconds& o) const {
    return forward_s == o.forward_s && backward_s == o.backward_s && weight_gradient_s == o.weight_gradient_s &&
           attention_forward_s == o.attention_forward_s && attention_backward_s == o.attention_backward_s &&
           products_forward_s == o.products_forward_s && products_backward_s == o.products_backward_s &&
           products_s == o.products_s && attention_s == o.attention_s && waiting_forward_s == o.waiting_forward_s &&
           waiting_backward_s == o.waiting_backward_s;
  }
};

struct RankSeconds {
  BlockSeconds embedding, loss;
  std::vector<BlockSeconds> blocks;
};

/// Weights stay in the precision of the activations: no copies are made of them, whatever the scenario says for other
/// trainings. A measured rate of one GPU scales all times.
RankSeconds rank_seconds(const Scenario& scenario, const SplitJob& job);

/// If only the first layers of each chunk are recomputed, their seconds also depend on the number of these layers and
/// on how the layers are divided.
using RecomputedLayersKey = std::tuple<int, int, int, int>;
RecomputedLayersKey layers_key(const ParallelSpec& spec);

/// Caches rank_seconds() for the splits of one scenario. The key holds all facts of a split that they depend on. These
/// are tensor, context and expert ranks, sequence parallelism, how tensor ranks share experts, the experts' load and
/// the micro-batch. Recomputation, recomputed layers, adapters, frozen weights, offloaded layers, how tokens reach experts
/// and how gradients are added up also count. Not thread-safe.
class RankSecondsOfSplits {
 public:
  /// The scenario must outlive it; its split is ignored.
  explicit RankSecondsOfSplits(const Scenario& scenario) : scenario_(scenario) {}
  std::shared_ptr<const RankSeconds> at(const SplitJob& job);

 private:
  using Key =
      std::tuple<int, int, int, int, bool, bool, int, LoraTarget, double, int, Recomputation, std::set<RecomputeModule>,
                 RecomputedLayersKey, bool, double, double, FrozenWeights, int, ExpertDispatch>;
  static Key key_of(const SplitJob& job);

  const Scenario& scenario_;
  std::map<Key, std::shared_ptr<const RankSeconds>> all_;
};

/// For each layer, the share of its forward pass that the backward pass recomputes under `spec`, 0 to 1; 0 outside
/// blocks. The graph must be a transformer described by numbers.
std::vector<double> repeated_shares(const model::Graph& graph, const ParallelSpec& spec);

/// Returns the share of recomputed work in the scenario's split, over forward and backward pass of the model; 0 without
/// a split.
double recomputed_share(const Scenario& scenario);

/// Returns the seconds of updating a rank's part of the optimizer's state: arrays of 4 bytes
/// (engine/model/optimizer.hpp), with a kernel for each of the stage's tensors. Trainings of transformers also clip
/// gradients by their norm, which reads them twice and writes them once (PyTorch's clip_grad_norm_(); Megatron-LM's
/// --clip-grad, 1.0 by default), and copy master weights to half precision. Sums of gradients that have arrays of their
/// own are set to zero.
///
/// With /parallel/offload_optimizer the CPUs of the node update in host memory (Ren et al. 2021, "ZeRO-Offload"). A
/// rank has P parameters, with g bytes of a gradient and w of a weight when they are copied:
///   `gradients`  g P / (bandwidth between GPU and host). This overlaps the stage's last backward pass; the longer
///                counts.
///   `update`     (arrays + g + w) P of all ranks of the node, over the host memory of its sockets. If sockets are not
///                described, a socket has four GPUs.
///   `weights`    w P / (bandwidth between GPU and host). In pieces this overlaps the update; the longer counts.
/// The CPUs are assumed to compute no longer than they read and write.
double update_of_stage_s(const Scenario& scenario, const SplitJob& job, const RankSeconds& seconds, int stage);

}  // namespace lockstep::sim::replica
