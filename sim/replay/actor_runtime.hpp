#pragma once
// Runs the actors of a replay (actors.hpp): in SimGrid, or, with messages as flows, as fibers in the order of time. One
// actor runs at a time, so that nothing needs a lock.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/cluster/cluster.hpp"

namespace lockstep::sim::replay {

/// Lets an actor wait until another one wakes it. Actors that wait at the same time need a Waiter each.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void wait() = 0;
  /// Waits for at most `timeout_s`.
  virtual void wait_within(double timeout_s) = 0;
  /// Call it once for every wait, while that lasts.
  virtual void wake() = 0;
};

class ActorRuntime {
 public:
  virtual ~ActorRuntime() = default;
  /// An actor at a place of the cluster. The simulation ends when all that are no daemons have ended. `body` throws
  /// nothing of its own.
  virtual void add(const std::string& name, Endpoint place, bool is_daemon, std::function<void()> body) = 0;
  /// Runs until the end, or stop(). Throws std::runtime_error if all actors wait for each other.
  virtual void run() = 0;

  // Within an actor:
  virtual double now_s() const = 0;
  virtual void sleep(double seconds) = 0;
  /// Work of `seconds` > 0 alone, of which the GPU can be filled by `fill`.
  virtual void compute(Endpoint gpu, double seconds, double fill) = 0;
  virtual std::unique_ptr<Waiter> make_waiter() = 0;
  /// Returns when a message has arrived at another place.
  virtual void carry(Endpoint from, Endpoint to, std::int64_t bytes) = 0;
  /// Returns at once; `arrived` is called when it has.
  virtual void send_off(Endpoint from, Endpoint to, std::int64_t bytes, std::function<void()> arrived) = 0;
  /// Ends all actors.
  virtual void stop() = 0;
};

std::unique_ptr<ActorRuntime> simgrid_runtime(const Cluster& cluster);
std::unique_ptr<ActorRuntime> flow_runtime(const Cluster& cluster, int actors);

}  // namespace lockstep::sim::replay
