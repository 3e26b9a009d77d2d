#include <algorithm>
#include <deque>
#include <queue>
#include <stdexcept>
#include <unordered_map>

#include "engine/base/index.hpp"
#include "sim/replay/actor_runtime.hpp"
#include "sim/replay/fibers.hpp"
#include "sim/replay/gpu_compute.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/message_flows.hpp"

namespace lockstep::sim::replay {
namespace {

class FlowRuntime : public ActorRuntime {
 public:
  FlowRuntime(const Cluster& cluster, int actors)
      : cluster_(cluster), flows_(cluster), fibers_(actors), waits_(to_index(actors), 0) {}

  void add(const std::string&, Endpoint, bool is_daemon, std::function<void()> body) override {
    if (!is_daemon) ++left_;
    ready_.push_back(fibers_.add([this, is_daemon, body = std::move(body)] {
      body();
      if (!is_daemon) --left_;
    }));
  }

  void run() override {
    std::vector<int> arrived;
    resume_ready();
    while (left_ > 0 && !is_stopped_) {
      const double flows_s = flows_.next_s(), events_s = events_.empty() ? kInfinity : events_.top().at_s;
      if (flows_s == kInfinity && events_s == kInfinity)
        throw std::runtime_error("the simulation deadlocked: every actor waits");
      now_s_ = std::max(now_s_, std::min(flows_s, events_s));
      if (flows_s <= now_s_) {
        arrived.clear();
        flows_.advance(now_s_, arrived);
        for (int token : arrived) arrive(token);
      }
      while (!events_.empty() && events_.top().at_s <= now_s_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
      resume_ready();
    }
  }

  double now_s() const override { return now_s_; }
  void sleep(double seconds) override { wait_within(seconds); }

  void compute(Endpoint gpu, double seconds, double fill) override {
    const int number = gpu.node * cluster_.layout().endpoints() + gpu.part;
    computes_[number].begin(now_s_, {fibers_.current(), seconds, fill});
    await_compute(number);
    wait();
  }

  std::unique_ptr<Waiter> make_waiter() override;

  void carry(Endpoint from, Endpoint to, std::int64_t bytes) override {
    send_off(from, to, bytes, [this, actor = fibers_.current()] { wake(actor); });
    wait();
  }
  void send_off(Endpoint from, Endpoint to, std::int64_t bytes, std::function<void()> arrived) override {
    int token = static_cast<int>(arrivals_.size());
    if (unused_.empty()) {
      arrivals_.push_back(std::move(arrived));
    } else {
      token = unused_.back();
      unused_.pop_back();
      arrivals_[to_index(token)] = std::move(arrived);
    }
    flows_.send(now_s_, flows_.way(cluster_, from, to), static_cast<double>(bytes), token);
  }
  void stop() override { is_stopped_ = true; }

  // These functions are called by the running actor; wake() is for a waiting one.
  int current() const { return fibers_.current(); }
  void wait() {
    ++waits_[to_index(fibers_.current())];
    fibers_.wait();
  }
  void wait_within(double seconds) {
    const int actor = fibers_.current();
    events_.push({now_s_ + seconds, events_so_far_++, actor, ++waits_[to_index(actor)]});
    fibers_.wait();
  }
  void wake(int actor) {
    ++waits_[to_index(actor)];
    ready_.push_back(actor);
  }

 private:
  struct Event {
    double at_s;
    std::uint64_t number;
    int what;   // an actor, or -1 - the number of a computing place
    int count;  // the actor's waits, or the place's changes, when the event was scheduled
    bool operator>(const Event& other) const { return at_s != other.at_s ? at_s > other.at_s : number > other.number; }
  };

  void resume_ready() {
    while (!ready_.empty() && !is_stopped_) {
      const int actor = ready_.front();
      ready_.pop_front();
      fibers_.resume(actor);
    }
  }

  void await_compute(int place) {
    const GpuCompute& compute = computes_.at(place);
    if (compute.next_end_s() < kInfinity)
      events_.push({compute.next_end_s(), events_so_far_++, -1 - place, compute.changes()});
  }

  void happen(const Event& event) {
    if (event.what >= 0) {
      if (waits_[to_index(event.what)] == event.count) wake(event.what);
      return;
    }
    GpuCompute& compute = computes_.at(-1 - event.what);
    if (compute.changes() != event.count) return;
    for (const GpuCompute::Piece& piece : compute.end(now_s_)) wake(piece.token);
    await_compute(-1 - event.what);
  }

  void arrive(int token) {
    const std::function<void()> arrived = std::move(arrivals_[to_index(token)]);
    unused_.push_back(token);
    arrived();
  }

  const Cluster& cluster_;
  MessageFlows flows_;
  std::unordered_map<int, GpuCompute> computes_;  // by place
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  std::uint64_t events_so_far_ = 0;
  std::vector<std::function<void()>> arrivals_;  // by token
  std::vector<int> unused_;                      // tokens
  std::deque<int> ready_;                        // actors
  Fibers fibers_;
  std::vector<int> waits_;  // by actor: how often it started or ended a wait
  int left_ = 0;            // actors that still run, without daemons
  bool is_stopped_ = false;
  double now_s_ = 0;
};

class FlowWaiter : public Waiter {
 public:
  explicit FlowWaiter(FlowRuntime& runtime) : runtime_(runtime) {}
  void wait() override {
    actor_ = runtime_.current();
    runtime_.wait();
  }
  void wait_within(double timeout_s) override {
    actor_ = runtime_.current();
    runtime_.wait_within(timeout_s);
  }
  void wake() override { runtime_.wake(actor_); }

 private:
  FlowRuntime& runtime_;
  int actor_ = -1;
};

std::unique_ptr<Waiter> FlowRuntime::make_waiter() {
  return std::make_unique<FlowWaiter>(*this);
}

}  // namespace

std::unique_ptr<ActorRuntime> flow_runtime(const Cluster& cluster, int actors) {
  return std::make_unique<FlowRuntime>(cluster, actors);
}

}  // namespace lockstep::sim::replay
