#pragma once
// Models the compute of one GPU in a replay by flows: pieces of work share the GPU, and collectives slow them
// (in_flight.hpp).
//
// A piece that can fill the fraction f of the GPU gets f. If the pieces together could fill more than the GPU, each
// gets its max-min fair part. During collectives that slow compute s times, a piece makes 1/s of that progress.
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class GpuCompute {
 public:
  struct Piece {
    int token;
    double seconds;  ///< if it runs alone
    double fill;
    double slowed_s = 0;  ///< seconds lost to collectives in flight
    double left = 0;      ///< work left: seconds * fill
  };

  /// Starts a piece at `now_s`. Times of successive calls must not decrease.
  void begin(double now_s, const Piece& piece);
  void enter_collective(double now_s, double slows);
  void leave_collective(double now_s, double slows);
  /// When the next piece ends; infinity: no piece runs.
  double next_end_s() const { return next_end_s_; }
  /// Removes and returns the pieces that are done at `now_s`, which is next_end_s().
  std::vector<Piece> end(double now_s);
  /// Number of changes so far. After a change, earlier values of next_end_s() are invalid.
  int changes() const { return changes_; }

 private:
  double slows() const;
  void serve(double now_s);
  void share_out();

  std::vector<Piece> pieces_;
  std::vector<double> rates_;      // fraction of the GPU, by piece
  std::vector<double> in_flight_;  // slowdown factors of the collectives
  double now_s_ = 0;
  double next_end_s_ = 0;
  int changes_ = 0;
};

}  // namespace lockstep::sim::replay
