#pragma once
// Inside sim/replica: what a pass of a chunk consists of, in its order.
#include <vector>

#include "sim/replica/passes.hpp"

namespace lockstep::sim::replica {

/// A block's pass, or one of the embedding or the loss.
struct Piece {
  PieceSeconds seconds;
  TrafficList traffic;
  RankParameters weights;    ///< gathered before it
  RankParameters gradients;  ///< exchanged behind it
  int block = -1;            ///< of the part; -1: before or behind the blocks
};

/// Embedding and loss are computed in the pass of the inputs' gradients; their own are exchanged with those of the blocks'
/// weights.
std::vector<Piece> pieces_of(const SplitJob& job, const RankSeconds& seconds, const ModelPart& part, Pass pass);

}  // namespace lockstep::sim::replica
