#pragma once
// The compute of one GPU in a replay by flows: work that shares the GPU, and collectives beside it (in_flight.hpp).
//
// A piece that can fill the fraction f of the GPU gets f, or its max-min fair part where the pieces together could fill
// more than all of it; beside collectives that slow compute s times it gets 1/s of that done.
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class GpuCompute {
 public:
  struct Piece {
    int token;
    double seconds;  ///< alone
    double fill;
    double slowed_s = 0;  ///< what collectives beside it cost
    double left = 0;      ///< of seconds * fill
  };

  /// At `now_s`, no earlier than before.
  void begin(double now_s, const Piece& piece);
  void enter_collective(double now_s, double slows);
  void leave_collective(double now_s, double slows);
  /// When the next piece is done; infinity: none is under way.
  double next_end_s() const { return next_end_s_; }
  /// Those that are done at `now_s`, which is next_end_s().
  std::vector<Piece> end(double now_s);
  /// Counts the changes: what was said before a change is void.
  int changes() const { return changes_; }

 private:
  double slows() const;
  void serve(double now_s);
  void share_out();

  std::vector<Piece> pieces_;
  std::vector<double> rates_;      // of the GPU, by piece
  std::vector<double> in_flight_;  // factors of the collectives
  double now_s_ = 0;
  double next_end_s_ = 0;
  int changes_ = 0;
};

}  // namespace lockstep::sim::replay
