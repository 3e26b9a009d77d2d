#pragma once
// Inside sim/replica: lists the pieces of a chunk's pass, in order.
#include <vector>

#include "sim/replica/passes.hpp"

namespace lockstep::sim::replica {

/// The pass through one block, the embedding or the loss.
struct Piece {
  PieceSeconds seconds;
  TrafficList traffic;
  RankParameters weights;    ///< gathered before it
  RankParameters gradients;  ///< exchanged after it
  int block = -1;            ///< index in the part; -1: the embedding or the loss
};

/// The pass of the inputs' gradients includes the backward pass of embedding and loss. The gradients of their weights
/// are exchanged together with those of the blocks.
std::vector<Piece> pieces_of(const SplitJob& job, const RankSeconds& seconds, const ModelPart& part, Pass pass);

}  // namespace lockstep::sim::replica
