#include "sim/replay/actors.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/replay/actor_runtime.hpp"
#include "sim/replay/message_reach.hpp"

namespace lockstep::sim::replay {
namespace {

bool has_tag(const std::vector<int>& tags, int tag) {
  return tags.empty() || std::find(tags.begin(), tags.end(), tag) != tags.end();
}

// Messages that arrived at an actor, and whether the actor waits for more.
class Inbox {
 public:
  explicit Inbox(ActorRuntime& runtime) : waiter_(runtime.make_waiter()) {}

  void deliver(const Message& message) {
    arrived_.push_back(message);
    if (!waits_ || !has_tag(*wanted_, message.tag)) return;
    waits_ = false;
    waiter_->wake();
  }

  Message receive(const std::vector<int>& tags) {
    for (;;) {
      if (auto message = take(tags)) return *message;
      wait_for(tags);
      waiter_->wait();
    }
  }

  std::optional<Message> receive_within(double timeout_s, const std::vector<int>& tags) {
    if (auto message = take(tags)) return message;
    if (!(timeout_s > 0)) return std::nullopt;
    wait_for(tags);
    waiter_->wait_within(timeout_s);
    waits_ = false;
    return take(tags);
  }

 private:
  void wait_for(const std::vector<int>& tags) {
    waits_ = true;
    wanted_ = &tags;
  }
  std::optional<Message> take(const std::vector<int>& tags) {
    const auto found =
        std::find_if(arrived_.begin(), arrived_.end(), [&](const Message& m) { return has_tag(tags, m.tag); });
    if (found == arrived_.end()) return std::nullopt;
    const Message message = *found;
    arrived_.erase(found);
    return message;
  }

  std::deque<Message> arrived_;
  bool waits_ = false;
  const std::vector<int>* wanted_ = nullptr;  // valid while waits_
  std::unique_ptr<Waiter> waiter_;
};

// A message in flight, and the actor that waits for it.
class Transfer {
 public:
  void wait(ActorRuntime& runtime) {
    if (arrived_) return;
    waiter_ = runtime.make_waiter();
    waiter_->wait();
  }
  void arrive() {
    arrived_ = true;
    if (waiter_) waiter_->wake();
  }

 private:
  bool arrived_ = false;
  std::unique_ptr<Waiter> waiter_;
};

// The return value of start_send. The carrier of the message also keeps the transfer alive.
class TransferHandle : public Sending {
 public:
  TransferHandle(ActorRuntime& runtime, std::shared_ptr<Transfer> transfer)
      : runtime_(runtime), transfer_(std::move(transfer)) {}
  void wait() override { transfer_->wait(runtime_); }

 private:
  ActorRuntime& runtime_;
  std::shared_ptr<Transfer> transfer_;
};

class ActorReplayer {
 public:
  ActorReplayer(const std::vector<Actor>& actors, const Cluster& cluster, Fidelity fidelity)
      : actors_(actors),
        runtime_(fidelity == Fidelity::message ? simgrid_runtime(cluster)
                                               : flow_runtime(cluster, static_cast<int>(actors.size()))) {
    replay_.busy_s.assign(actors.size(), 0);
    replay_.bytes_sent.assign(actors.size(), 0);
    for (const Actor& actor : actors) {
      inboxes_.emplace_back(*runtime_);
      places_.push_back(actor.place.kind == Place::Kind::gpu ? cluster.gpu(actor.place.index)
                                                             : cluster.cpu(cluster.node_at(actor.place.index)));
    }
  }

  ActorReplay run() {
    for (int self = 0; self < static_cast<int>(actors_.size()); ++self)
      runtime_->add(actors_[to_index(self)].name, places_[to_index(self)], actors_[to_index(self)].is_daemon,
                    [this, self] { run_actor(self); });
    runtime_->run();
    if (error_) std::rethrow_exception(error_);
    std::stable_sort(replay_.log.begin(), replay_.log.end(), [](const ActorEvent& a, const ActorEvent& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.actor < b.actor;
    });
    return std::move(replay_);
  }

  // Operations of actors; each returns when it is finished.
  void compute(int self, double seconds, double fill) {
    if (!(seconds >= 0) || !(fill > 0 && fill <= 1))
      throw std::invalid_argument(actors_[to_index(self)].name + ": work needs seconds >= 0 and a fill in (0, 1]");
    if (seconds == 0) return;
    const double began_s = runtime_->now_s();
    if (actors_[to_index(self)].place.kind == Place::Kind::gpu)
      runtime_->compute(places_[to_index(self)], seconds, fill);
    else
      runtime_->sleep(seconds);
    replay_.busy_s[to_index(self)] += runtime_->now_s() - began_s;
  }

  void sleep(double seconds) {
    if (seconds > 0) runtime_->sleep(seconds);
  }

  // A message between two actors on the same GPU, or in the memory of the same node, takes no time.
  void send(int self, int to, const Message& message) {
    note_sending(self, to, message);
    if (!(places_[to_index(self)] == places_[to_index(to)]))
      runtime_->carry(places_[to_index(self)], places_[to_index(to)], message.bytes);
    deliver(self, to, message);
  }

  std::unique_ptr<Sending> start_send(int self, int to, const Message& message) {
    note_sending(self, to, message);
    auto transfer = std::make_shared<Transfer>();
    const auto arrived = [this, self, to, message, transfer] {
      deliver(self, to, message);
      transfer->arrive();
    };
    if (places_[to_index(self)] == places_[to_index(to)])
      arrived();
    else
      runtime_->send_off(places_[to_index(self)], places_[to_index(to)], message.bytes, arrived);
    return std::make_unique<TransferHandle>(*runtime_, std::move(transfer));
  }

  double now_s() const { return runtime_->now_s(); }
  Inbox& inbox(int self) { return inboxes_[to_index(self)]; }
  void log(int self, const std::string& what, std::int64_t value) {
    replay_.log.push_back({runtime_->now_s(), self, what, value});
  }

 private:
  void run_actor(int self);

  // The first error ends the simulation; run() throws it.
  void fail() {
    if (error_) return;
    error_ = std::current_exception();
    runtime_->stop();
  }

  void note_sending(int self, int to, const Message& message) {
    if (to < 0 || to >= static_cast<int>(actors_.size()) || message.bytes < 0)
      throw std::invalid_argument(actors_[to_index(self)].name + ": a message needs a receiver and bytes >= 0");
    replay_.bytes_sent[to_index(self)] += message.bytes;
    ++replay_.messages;
  }

  void deliver(int from, int to, Message message) {
    message.from = from;
    inboxes_[to_index(to)].deliver(message);
  }

  const std::vector<Actor>& actors_;
  std::vector<Inbox> inboxes_;
  std::vector<Endpoint> places_;
  std::exception_ptr error_;
  ActorReplay replay_;
  const std::unique_ptr<ActorRuntime> runtime_;  // destroyed first: its actors use all other members
};

class ReplayContext : public ActorContext {
 public:
  ReplayContext(ActorReplayer& replayer, int self) : replayer_(replayer), self_(self) {}
  int self() const override { return self_; }
  double now_s() const override { return replayer_.now_s(); }
  void compute(const std::string&, double seconds, double fill) override { replayer_.compute(self_, seconds, fill); }
  void sleep(double seconds) override { replayer_.sleep(seconds); }
  void send(int to, const Message& message) override { replayer_.send(self_, to, message); }
  std::unique_ptr<Sending> start_send(int to, const Message& message) override {
    return replayer_.start_send(self_, to, message);
  }
  Message receive(const std::vector<int>& tags) override { return replayer_.inbox(self_).receive(tags); }
  std::optional<Message> receive_within(double timeout_s, const std::vector<int>& tags) override {
    return replayer_.inbox(self_).receive_within(timeout_s, tags);
  }
  void log(const std::string& what, std::int64_t value) override { replayer_.log(self_, what, value); }

 private:
  ActorReplayer& replayer_;
  int self_;
};

void ActorReplayer::run_actor(int self) {
  const Actor& actor = actors_[to_index(self)];
  try {
    ReplayContext context(*this, self);
    actor.body(context);
    if (!actor.is_daemon) replay_.end_s = std::max(replay_.end_s, runtime_->now_s());
  } catch (const std::exception&) {  // SimGrid ends actors by exceptions of other types
    fail();
  }
}

}  // namespace

ActorReplay replay_actors(const std::vector<Actor>& actors, const Cluster& cluster, Fidelity fidelity) {
  if (fidelity == Fidelity::message)
    require_reach(message_needs(static_cast<std::int64_t>(actors.size()), cluster), message_reach(), cluster);
  auto replayer = std::make_unique<ActorReplayer>(actors, cluster, fidelity);
  try {
    return replayer->run();
  } catch (...) {
    // Actors of SimGrid that still wait end with the process, so the objects that they wait for must stay.
    if (fidelity == Fidelity::message) static_cast<void>(replayer.release());
    throw;
  }
}

}  // namespace lockstep::sim::replay
