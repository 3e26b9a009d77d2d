#pragma once
// Transfers as fair flows: a message leaves when its sender and its receiver are both there, as SimGrid's mailboxes
// have it.
#include <cstdint>
#include <deque>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "sim/replay/message_flows.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim {

class Meetings {
 public:
  /// The transfers of a rank in a round, and the actor while it waits for them.
  class Round {
   public:
    explicit Round(simgrid::s4u::SemaphorePtr wake) : wake_(std::move(wake)) {}
    void add() { ++left_; }
    void end_one() {
      if (--left_ == 0 && waits_) wake_->release();
    }
    void wait() {
      waits_ = true;
      if (left_ > 0) wake_->acquire();
    }

   private:
    simgrid::s4u::SemaphorePtr wake_;
    int left_ = 0;
    bool waits_ = false;
  };

  /// Between the GPUs of a program, and whatever hosts its input comes from.
  Meetings(const Cluster& cluster, const Program& program);

  /// The body of the network's actor.
  void run() { flows_.run(); }

  /// `round` stays where it is until it has ended. The bytes and the rate are the sender's.
  void post(int stream, int src, int dst, bool is_send, std::int64_t bytes, double most_bytes_per_s, Round& round);
  /// Without a receiver to wait for; the actor waits by `wake` until the bytes have arrived.
  void carry(const Cluster::Ends& ends, std::int64_t bytes, const simgrid::s4u::SemaphorePtr& wake);

 private:
  struct Post {
    bool is_send;
    std::int64_t bytes;
    double most_bytes_per_s;
    Round* round;
  };

  int gpus_;
  std::vector<simgrid::s4u::Host*> hosts_;                             // the GPUs', then those of the input
  std::unordered_map<const simgrid::s4u::Host*, int> number_of_host_;  // of those of the input, and their GPUs
  MessageFlows flows_;
  std::unordered_map<std::uint64_t, std::deque<Post>> posts_;  // by stream, sender, receiver: all of one side
};

}  // namespace lockstep::sim
