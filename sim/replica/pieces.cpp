#include "sim/replica/pieces.hpp"

#include "engine/base/index.hpp"
#include "sim/replica/exchange.hpp"

namespace lockstep::sim::replica {
namespace {

using TrafficOfEnd = TrafficList (*)(const TransformerShape&, const ParallelSpec&, const TrafficOptions&);

Piece piece_of_block(const SplitJob& job, const RankSeconds& seconds, int block, Pass pass) {
  const BlockSeconds& s = seconds.blocks[to_index(block)];
  const RankParameters &weights = job.gathered_layers[to_index(block)],
                       &gradients = job.trained_layers[to_index(block)];
  if (pass == Pass::weight_gradient) return {{s.weight_gradient_s, 0, 0, 0}, {}, weights, gradients};
  if (pass == Pass::forward)
    return {{s.forward_s, s.attention_forward_s, s.products_forward_s, s.waiting_forward_s},
            layer_forward(job.shape, job.spec, block, job.traffic),
            weights,
            gradients};
  const double apart_s = pass == Pass::input_gradient ? s.weight_gradient_s : 0;
  return {{s.backward_s - apart_s, s.attention_backward_s, s.products_backward_s - apart_s,
           s.waiting_backward_of(s.backward_s - apart_s)},
          layer_backward(job.shape, job.spec_of(block), block, job.traffic),
          weights,
          gradients};
}

// Makes the piece of the embedding, or of the loss.
Piece piece_of_end(const SplitJob& job, const ModelPart& part, const BlockSeconds& seconds, TrafficOfEnd forward,
                   TrafficOfEnd backward, Pass pass) {
  RankParameters weights = rank_parameters_outside_layers(job.shape, job.spec, part),
                 trained = trained_parameters_outside_layers(job.shape, job.spec, part);
  if (part.has_embedding && part.has_loss) {
    weights = weights.half();
    trained = trained.half();
  }
  if (pass == Pass::weight_gradient) return {{}, {}, weights, trained};
  const bool is_forward = pass == Pass::forward;
  return {{is_forward ? seconds.forward_s : seconds.backward_s, 0,
           is_forward ? seconds.products_forward_s : seconds.products_backward_s,
           is_forward ? seconds.waiting_forward_s : seconds.waiting_backward_s},
          (is_forward ? forward : backward)(job.shape, job.spec, job.traffic),
          weights,
          trained};
}

}  // namespace

std::vector<Piece> pieces_of(const SplitJob& job, const RankSeconds& seconds, const ModelPart& part, Pass pass) {
  const bool is_forward = pass == Pass::forward;
  std::vector<Piece> all;
  const auto add_embedding = [&] {
    if (part.has_embedding)
      all.push_back(piece_of_end(job, part, seconds.embedding, embedding_forward, embedding_backward, pass));
  };
  const auto add_loss = [&] {
    if (part.has_loss) all.push_back(piece_of_end(job, part, seconds.loss, loss_forward, loss_backward, pass));
  };
  is_forward ? add_embedding() : add_loss();
  for (int i = 0; i < part.blocks; ++i) {
    const int index = is_forward ? i : part.blocks - 1 - i;
    all.push_back(piece_of_block(job, seconds, part.first_block + index, pass));
    all.back().block = index;
  }
  is_forward ? add_loss() : add_embedding();
  return all;
}

}  // namespace lockstep::sim::replica
