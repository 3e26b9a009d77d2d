#include <deque>
#include <simgrid/s4u.hpp>

#include "sim/messages/messages.hpp"
#include "sim/messages/platform.hpp"
#include "sim/messages/simgrid_compat.hpp"
#include "sim/replay/actor_runtime.hpp"

namespace lockstep::sim::messages {
namespace {

namespace sg4 = simgrid::s4u;

class SimgridWaiter : public Waiter {
 public:
  void wait() override {
    token_->acquire();
    is_woken_ = false;
  }
  void wait_within(double timeout_s) override {
    const bool timed_out = token_->acquire_timeout(timeout_s);
    // An actor that wakes it at this very moment has released the semaphore as well: its token must not stay.
    if (timed_out && is_woken_) token_->acquire();
    is_woken_ = false;
  }
  void wake() override {
    is_woken_ = true;
    token_->release();
  }

 private:
  sg4::SemaphorePtr token_ = sg4::Semaphore::create(0);
  bool is_woken_ = false;
};

class SimgridRuntime : public ActorRuntime {
 public:
  explicit SimgridRuntime(const Cluster& cluster) : platform_(Platform::of(cluster)) {}

  void add(const std::string& name, Endpoint place, bool is_daemon, std::function<void()> body) override {
    compat::add_actor(name, platform_.host(place), [is_daemon, body = std::move(body)] {
      if (is_daemon) sg4::Actor::self()->daemonize();
      body();
    });
  }
  void run() override { sg4::Engine::get_instance()->run(); }  // throws if the actors deadlock

  double now_s() const override { return sg4::Engine::get_clock(); }
  void sleep(double seconds) override { sg4::this_actor::sleep_for(seconds); }
  // Work of seconds * fill at a maximum rate of `fill`: alone it takes `seconds`, and leaves 1 - fill of the GPU to
  // others.
  void compute(Endpoint, double seconds, double fill) override {
    sg4::this_actor::exec_init(seconds * fill)->set_bound(fill)->wait();
  }
  std::unique_ptr<Waiter> make_waiter() override { return std::make_unique<SimgridWaiter>(); }
  void carry(Endpoint from, Endpoint to, std::int64_t bytes) override {
    sg4::Comm::sendto(platform_.host(from), platform_.host(to), static_cast<std::uint64_t>(bytes));
  }
  // A courier, a SimGrid actor at the sender's place, waits for the message. There are as many couriers as the largest
  // number of messages in flight.
  void send_off(Endpoint from, Endpoint to, std::int64_t bytes, std::function<void()> arrived) override {
    if (idle_.empty()) {
      couriers_.push_back({sg4::Semaphore::create(0), {}});
      Courier* const courier = &couriers_.back();
      compat::add_actor("courier", platform_.host(from), [this, courier] { run_courier(*courier); });
      idle_.push_back(courier);
    }
    Courier* const courier = idle_.back();
    idle_.pop_back();
    courier->parcel = {from, to, bytes, std::move(arrived)};
    courier->called->release();
  }
  void stop() override { sg4::Actor::kill_all(); }

 private:
  struct Parcel {
    Endpoint from;
    Endpoint to;
    std::int64_t bytes;
    std::function<void()> arrived;
  };
  struct Courier {
    sg4::SemaphorePtr called;
    Parcel parcel;
  };

  void run_courier(Courier& courier) {
    sg4::Actor::self()->daemonize();
    for (;;) {
      courier.called->acquire();
      const Parcel parcel = std::move(courier.parcel);
      carry(parcel.from, parcel.to, parcel.bytes);
      parcel.arrived();
      idle_.push_back(&courier);
    }
  }

  const Platform& platform_;
  std::deque<Courier> couriers_;  // a deque, because pointers to couriers must stay valid
  std::vector<Courier*> idle_;
};

}  // namespace

std::unique_ptr<ActorRuntime> make_simgrid_runtime(const Cluster& cluster) {
  return std::make_unique<SimgridRuntime>(cluster);
}

}  // namespace lockstep::sim::messages
