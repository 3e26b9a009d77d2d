#pragma once
// The pace of a GPU's compute during its collectives, in a replay by SimGrid's actors: its progress per second, and the
// waiters to notify of changes (in_flight.hpp). SimGrid runs one actor at a time, so there is no lock.
#include <memory>
#include <set>
#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::messages {

class Pace {
 public:
  /// Call on the only stream that computes. Returns when work that takes `seconds` without collectives is done.
  void compute(double seconds);
  /// Call on one of several streams that compute on the GPU. The work takes `seconds` without others and can fill
  /// `fill` of the GPU. Returns when it is done. A collective slows it by the same factor, whatever part of the GPU it
  /// gets. Returns the seconds that collectives cost it.
  double share(double seconds, double fill);
  /// Call from another stream when a collective begins; call the next function when it ends.
  void enter(double slows);
  void leave(double slows);

 private:
  // SimGrid's work on the GPU, and the rest of it when it was stopped.
  struct Piece {
    simgrid::s4u::ExecPtr exec;
    double left = 0;
  };

  double slows() const { return in_flight_.empty() ? 1 : *in_flight_.rbegin(); }
  static bool run_to_end(Piece& piece);
  void tell(double slows_before);

  std::multiset<double> in_flight_;
  bool waits_ = false;
  simgrid::s4u::SemaphorePtr changed_ = simgrid::s4u::Semaphore::create(0);
  std::vector<std::shared_ptr<Piece>> pieces_;  // on streams that share the GPU
};

}  // namespace lockstep::sim::messages
