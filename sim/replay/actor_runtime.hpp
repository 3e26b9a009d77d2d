#pragma once
// Runs the actors of a replay (actors.hpp): in SimGrid, or, if messages are flows, as fibers in the order of time. Only
// one actor runs at a time, so there are no locks.
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
  /// Call it once for every wait, while the actor waits.
  virtual void wake() = 0;
};

class ActorRuntime {
 public:
  virtual ~ActorRuntime() = default;
  /// Adds an actor at a place of the cluster. The simulation ends when all actors except daemons have ended. `body`
  /// must not throw.
  virtual void add(const std::string& name, Endpoint place, bool is_daemon, std::function<void()> body) = 0;
  /// Runs until the end, or until stop(). Throws std::runtime_error if all actors wait for each other.
  virtual void run() = 0;

  // Within an actor:
  virtual double now_s() const = 0;
  virtual void sleep(double seconds) = 0;
  /// Computes for `seconds` > 0 if no other work runs. `fill`: the fraction of the GPU that the work can use.
  virtual void compute(Endpoint gpu, double seconds, double fill) = 0;
  virtual std::unique_ptr<Waiter> make_waiter() = 0;
  /// Sends a message to another place and returns when it has arrived.
  virtual void carry(Endpoint from, Endpoint to, std::int64_t bytes) = 0;
  /// Sends a message and returns at once; calls `arrived` when it has arrived.
  virtual void send_off(Endpoint from, Endpoint to, std::int64_t bytes, std::function<void()> arrived) = 0;
  /// Ends all actors.
  virtual void stop() = 0;
};

std::unique_ptr<ActorRuntime> simgrid_runtime(const Cluster& cluster);
std::unique_ptr<ActorRuntime> flow_runtime(const Cluster& cluster, int actors);

}  // namespace lockstep::sim::replay
