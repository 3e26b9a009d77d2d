#include "sim/replay/actors.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <simgrid/s4u.hpp>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/cluster/simgrid_compat.hpp"
#include "sim/replay/message_flows.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

bool has_tag(const std::vector<int>& tags, int tag) {
  return tags.empty() || std::find(tags.begin(), tags.end(), tag) != tags.end();
}

// What has arrived at an actor, and the actor while it waits for more. SimGrid runs one actor at a time, so that no
// lock is needed.
class Inbox {
 public:
  Inbox() : wake_(sg4::Semaphore::create(0)) {}

  void deliver(const Message& message) {
    arrived_.push_back(message);
    if (!waits_ || !has_tag(*wanted_, message.tag)) return;
    waits_ = false;
    wake_->release();
  }

  Message receive(const std::vector<int>& tags) {
    for (;;) {
      if (auto message = take(tags)) return *message;
      wait_for(tags);
      wake_->acquire();
    }
  }

  std::optional<Message> receive_within(double timeout_s, const std::vector<int>& tags) {
    if (auto message = take(tags)) return message;
    if (!(timeout_s > 0)) return std::nullopt;
    wait_for(tags);
    const bool timed_out = wake_->acquire_timeout(timeout_s);
    if (timed_out) {
      // A message of this very moment may have released the semaphore all the same: its token must not stay.
      if (!waits_) wake_->acquire();
      waits_ = false;
    }
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
  sg4::SemaphorePtr wake_;
};

// A message on its way; whoever waits for it holds the semaphore.
class Transfer : public Sending {
 public:
  void wait() override {
    if (arrived_) return;
    waiter_ = sg4::Semaphore::create(0);
    waiter_->acquire();
  }
  void arrive() {
    arrived_ = true;
    if (waiter_) waiter_->release();
  }

 private:
  bool arrived_ = false;
  sg4::SemaphorePtr waiter_;
};

// What start_send returns; the courier keeps the transfer, too.
class TransferHandle : public Sending {
 public:
  explicit TransferHandle(std::shared_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
  void wait() override { transfer_->wait(); }

 private:
  std::shared_ptr<Transfer> transfer_;
};

struct Parcel {
  int from;
  int to;
  Message message;
  std::shared_ptr<Transfer> transfer;
};

class ActorReplayer {
 public:
  ActorReplayer(const std::vector<Actor>& actors, Cluster& cluster, Fidelity fidelity)
      : actors_(actors), cluster_(cluster), inboxes_(actors.size()) {
    replay_.busy_s.assign(actors.size(), 0);
    replay_.bytes_sent.assign(actors.size(), 0);
    for (const Actor& actor : actors) hosts_.push_back(host_of(actor.place));
    if (fidelity != Fidelity::message) flows_ = std::make_unique<MessageFlows>(cluster, hosts_);
  }

  ActorReplay run() {
    for (int self = 0; self < static_cast<int>(actors_.size()); ++self)
      compat::add_actor(actors_[at(self)].name, hosts_[at(self)], [this, self] { run_actor(self); });
    if (flows_) compat::add_actor("network", hosts_.front(), [this] { flows_->run(); });
    sg4::Engine::get_instance()->run();  // throws when the actors deadlock
    if (error_) std::rethrow_exception(error_);
    std::stable_sort(replay_.log.begin(), replay_.log.end(), [](const ActorEvent& a, const ActorEvent& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.actor < b.actor;
    });
    return std::move(replay_);
  }

  // What actors do; each returns when it is done.
  void compute(int self, double seconds, double fill) {
    if (!(seconds >= 0) || !(fill > 0 && fill <= 1))
      throw std::invalid_argument(actors_[at(self)].name + ": work needs seconds >= 0 and a fill in (0, 1]");
    if (seconds == 0) return;
    const double began_s = sg4::Engine::get_clock();
    // seconds * fill of work at a rate of at most fill: alone it takes `seconds`, and leaves 1 - fill to others.
    if (actors_[at(self)].place.kind == Place::Kind::gpu)
      sg4::this_actor::exec_init(seconds * fill)->set_bound(fill)->wait();
    else
      sg4::this_actor::sleep_for(seconds);
    replay_.busy_s[at(self)] += sg4::Engine::get_clock() - began_s;
  }

  void send(int self, int to, const Message& message) {
    if (flows_ && hosts_[at(self)] != hosts_[at(to)]) return start_send(self, to, message)->wait();
    note_sending(self, to, message);
    carry(self, to, message);
  }

  std::shared_ptr<Transfer> start_send(int self, int to, const Message& message) {
    note_sending(self, to, message);
    auto transfer = std::make_shared<Transfer>();
    if (hosts_[at(self)] == hosts_[at(to)]) {
      carry(self, to, message);
      transfer->arrive();
    } else if (flows_) {
      flows_->send(self, to, double(message.bytes), [this, self, to, message, transfer] {
        deliver(self, to, message);
        transfer->arrive();
      });
    } else {
      dispatch({self, to, message, transfer});
    }
    return transfer;
  }

  Inbox& inbox(int self) { return inboxes_[at(self)]; }
  void log(int self, const std::string& what, std::int64_t value) {
    replay_.log.push_back({sg4::Engine::get_clock(), self, what, value});
  }

 private:
  struct Courier {
    sg4::SemaphorePtr called;
    Parcel parcel;
  };

  sg4::Host* host_of(const Place& place) const {
    return place.kind == Place::Kind::gpu ? cluster_.gpu_host(place.index) : cluster_.cpu_host(place.index);
  }

  void run_actor(int self);

  // The first error ends the simulation; run() throws it.
  void fail() {
    if (error_) return;
    error_ = std::current_exception();
    sg4::Actor::kill_all();
  }

  void note_sending(int self, int to, const Message& message) {
    if (to < 0 || to >= static_cast<int>(actors_.size()) || message.bytes < 0)
      throw std::invalid_argument(actors_[at(self)].name + ": a message needs a receiver and bytes >= 0");
    replay_.bytes_sent[at(self)] += message.bytes;
    ++replay_.messages;
  }

  // Takes a message from place to place; between actors of one place in no time.
  void carry(int from, int to, const Message& message) {
    if (hosts_[at(from)] != hosts_[at(to)])
      sg4::Comm::sendto(hosts_[at(from)], hosts_[at(to)], static_cast<std::uint64_t>(message.bytes));
    deliver(from, to, message);
  }
  void deliver(int from, int to, Message message) {
    message.from = from;
    inboxes_[at(to)].deliver(message);
  }

  // A courier, a SimGrid actor, waits for the message in the sender's place. There are as many as there ever are
  // messages on their way at once.
  void dispatch(Parcel parcel) {
    if (idle_.empty()) {
      couriers_.push_back({sg4::Semaphore::create(0), {}});
      Courier* const courier = &couriers_.back();
      compat::add_actor("courier", hosts_[at(parcel.from)], [this, courier] { run_courier(*courier); });
      idle_.push_back(courier);
    }
    Courier* const courier = idle_.back();
    idle_.pop_back();
    courier->parcel = std::move(parcel);
    courier->called->release();
  }

  void run_courier(Courier& courier) {
    sg4::Actor::self()->daemonize();
    for (;;) {
      courier.called->acquire();
      const Parcel parcel = std::move(courier.parcel);
      carry(parcel.from, parcel.to, parcel.message);
      parcel.transfer->arrive();
      idle_.push_back(&courier);
    }
  }

  const std::vector<Actor>& actors_;
  Cluster& cluster_;
  std::vector<Inbox> inboxes_;
  std::vector<sg4::Host*> hosts_;
  std::deque<Courier> couriers_;  // a deque: they are pointed to
  std::vector<Courier*> idle_;
  std::unique_ptr<MessageFlows> flows_;  // instead of couriers
  std::exception_ptr error_;
  ActorReplay replay_;
};

class ReplayContext : public ActorContext {
 public:
  ReplayContext(ActorReplayer& replayer, int self) : replayer_(replayer), self_(self) {}
  int self() const override { return self_; }
  double now_s() const override { return sg4::Engine::get_clock(); }
  void compute(const std::string&, double seconds, double fill) override { replayer_.compute(self_, seconds, fill); }
  void sleep(double seconds) override {
    if (seconds > 0) sg4::this_actor::sleep_for(seconds);
  }
  void send(int to, const Message& message) override { replayer_.send(self_, to, message); }
  std::unique_ptr<Sending> start_send(int to, const Message& message) override {
    return std::make_unique<TransferHandle>(replayer_.start_send(self_, to, message));
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
  const Actor& actor = actors_[at(self)];
  if (actor.is_daemon) sg4::Actor::self()->daemonize();
  try {
    ReplayContext context(*this, self);
    actor.body(context);
    if (!actor.is_daemon) replay_.end_s = std::max(replay_.end_s, sg4::Engine::get_clock());
  } catch (const std::exception&) {  // SimGrid ends actors by an exception of another type
    fail();
  }
}

}  // namespace

ActorReplay replay_actors(const std::vector<Actor>& actors, Cluster& cluster, Fidelity fidelity) {
  auto replayer = std::make_unique<ActorReplayer>(actors, cluster, fidelity);
  try {
    return replayer->run();
  } catch (...) {
    // Actors of SimGrid that still wait in there end with the process: their semaphores must stay.
    static_cast<void>(replayer.release());
    throw;
  }
}

}  // namespace lockstep::sim
