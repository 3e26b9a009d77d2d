#pragma once
// The second language of schedules, for algorithms whose ranks run different programs: parameter servers without a
// barrier, backup workers, asynchronous SGD, and learners that take tasks as they become free. If all GPUs run the same
// program, use program.hpp, which is shorter and much faster to replay.
//
// An actor is a sequential program on a GPU or on a node's CPU, written as in its paper: compute, send, receive, wait.
// Actors share the links and GPUs of the cluster. replay/actors.hpp runs them.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::schedule {

/// Where an actor runs: on a GPU, or on the CPU of a node (servers, loaders).
struct Place {
  enum class Kind { gpu, node };
  Kind kind = Kind::gpu;
  int index = 0;
};

/// Messages between workers and parameter servers: a worker requests parameters, receives them, sends its gradient, and
/// reports that it has finished.
enum ServerMessage { kRead, kGradient, kDone, kParameters, kKinds };

/// A message from one actor to another. Its bytes take time on the links. The algorithm interprets tag and value.
struct Message {
  int from = -1;  ///< index of the sender, set on receipt
  int tag = 0;
  std::int64_t bytes = 0;
  std::int64_t value = 0;
};

/// A message in flight.
class Sending {
 public:
  virtual ~Sending() = default;
  /// Waits until the message has arrived.
  virtual void wait() = 0;
};

/// The operations of an actor. Only the actor's body may call them.
class ActorContext {
 public:
  virtual ~ActorContext() = default;
  virtual int self() const = 0;
  virtual double now_s() const = 0;
  /// Does work that takes `seconds` alone on this actor's GPU and can use its fraction `fill` in (0, 1]. If concurrent
  /// work exceeds the GPU, all of it slows down. On a CPU, only time passes. Returns at once for 0 seconds.
  virtual void compute(const std::string& name, double seconds, double fill = 1) = 0;
  virtual void sleep(double seconds) = 0;
  /// Returns when the message has arrived. The receiver need not wait for it: messages queue in order of arrival.
  virtual void send(int to, const Message& message) = 0;
  /// Sends a message and returns at once.
  virtual std::unique_ptr<Sending> start_send(int to, const Message& message) = 0;
  /// Returns the oldest message that has arrived with one of the tags (any tag if `tags` is empty). Waits if there is
  /// none.
  virtual Message receive(const std::vector<int>& tags = {}) = 0;
  /// Receives a message, but gives up after `timeout_s`.
  virtual std::optional<Message> receive_within(double timeout_s, const std::vector<int>& tags = {}) = 0;
  /// Records an event in the log that replay returns.
  virtual void log(const std::string& what, std::int64_t value) = 0;
};

struct Actor {
  std::string name;
  Place place;
  std::function<void(ActorContext&)> body;
  bool is_daemon = false;  ///< the simulation ends when all other actors have ended
};

}  // namespace lockstep::sim::schedule
