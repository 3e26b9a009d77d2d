#pragma once
// A GPU's compute beside its collectives, in a replay by SimGrid's actors: what it gets done in a second, and whom to
// tell that it has changed (in_flight.hpp). SimGrid runs one actor at a time, so that no lock is needed.
#include <memory>
#include <set>
#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class Pace {
 public:
  /// On the one stream that computes: returns when work of `seconds` alone is done.
  void compute(double seconds);
  /// On one of several streams that compute on the GPU: returns when work is done that takes `seconds` alone and can
  /// fill so much of the GPU. Whatever part of the GPU it gets, beside a collective it gets as many times less done.
  /// Returns the seconds that collectives cost it.
  double share(double seconds, double fill);
  /// On another stream: a collective begins, and ends.
  void enter(double slows);
  void leave(double slows);

 private:
  // Work of SimGrid on the GPU, and what was left of it when it was stopped.
  struct Piece {
    simgrid::s4u::ExecPtr exec;
    double left = 0;
  };

  double slows() const { return in_flight_.empty() ? 1 : *in_flight_.rbegin(); }
  static bool finishes(Piece& piece);
  void tell(double slows_before);

  std::multiset<double> in_flight_;
  bool waits_ = false;
  simgrid::s4u::SemaphorePtr changed_ = simgrid::s4u::Semaphore::create(0);
  std::vector<std::shared_ptr<Piece>> pieces_;  // of streams that share the GPU
};

}  // namespace lockstep::sim::replay
