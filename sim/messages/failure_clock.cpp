#include "sim/messages/messages.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/random.hpp"
#include "sim/messages/engine.hpp"
#include "sim/messages/simgrid_compat.hpp"

namespace lockstep::sim::messages {
namespace {

namespace sg4 = simgrid::s4u;

constexpr double kNever_s = std::numeric_limits<double>::infinity();

double now_s() {
  return sg4::Engine::get_clock();
}

// One training: the state that survives its host, and the actors that make the events around it.
class TrainingRun {
 public:
  TrainingRun(const ClockedTrainings& o, int number, sg4::Host* machine, sg4::Host* world)
      : o_(o),
        number_(number),
        machine_(machine),
        world_(world),
        spares_(sg4::Semaphore::create(static_cast<unsigned>(o.process.spares))),
        left_s_(o.useful_s) {
    if (o.trace != nullptr) holdings_.emplace(*o.trace, o.nodes, number * o.trace->length_s / o.runs);
    result_.wall_s = kNever_s;
  }

  void start() {
    compat::add_actor("world", world_, [this] { happen(); });
  }
  const ClockedRun& result() const { return result_; }

 private:
  bool is_done() const { return left_s_ <= 0; }

  // Trains from the last checkpoint. Its host may be turned off at any time.
  void train() {
    const FailureProcess& p = o_.process;
    if (has_run_) sg4::this_actor::sleep_for(p.restart_s);
    has_run_ = true;
    while (!is_done()) {
      double piece_s = std::min(p.interval_s, left_s_);
      // Warned in time, it writes a checkpoint of its progress, whatever the interval, and stops.
      if (now_s() + piece_s + p.checkpoint_s > saves_until_s_) piece_s = saves_until_s_ - p.checkpoint_s - now_s();
      if (piece_s <= 0) return;
      sg4::this_actor::sleep_for(piece_s + p.checkpoint_s);
      left_s_ -= piece_s;
    }
    result_.wall_s = now_s();
  }

  void turn_on() {
    machine_->turn_on();
    compat::add_actor("training", machine_, [this] { train(); });
  }

  double until_failure_s() {
    if (o_.process.mttf_s <= 0) return kNever_s;
    return -o_.process.mttf_s * std::log(1 - random_uniform(o_.seed, static_cast<std::uint64_t>(number_), draws_++));
  }

  // Produces events, from one period with all nodes to the next.
  void happen() {
    machine_->turn_off();
    while (!is_done()) {
      const std::optional<Holding> holding = holdings_ ? holdings_->next() : Holding();
      if (!holding) return;
      sg4::this_actor::sleep_until(holding->from_s);
      const bool is_warned = o_.trace != nullptr && o_.trace->notice_s >= o_.process.checkpoint_s;
      saves_until_s_ = is_warned ? holding->to_s : kNever_s;
      fail_until(holding->to_s);
      if (is_done() || !std::isfinite(holding->to_s)) return;
      machine_->turn_off();
      ++result_.losses;
    }
  }

  void fail_until(double end_s) {
    for (turn_on(); !is_done();) {
      const double failure_s = now_s() + until_failure_s();
      if (failure_s >= end_s) {
        if (std::isfinite(end_s)) sg4::this_actor::sleep_until(end_s);
        return;
      }
      sg4::this_actor::sleep_until(failure_s);
      if (is_done()) return;
      machine_->turn_off();
      ++result_.failures;
      if (!replace_node(end_s)) return;
      turn_on();
    }
  }

  // Returns false if the nodes are lost before a replacement arrives.
  bool replace_node(double end_s) {
    const double repair_s = o_.process.repair_s;
    if (repair_s <= 0) return true;
    compat::add_actor("repair", world_, [spares = spares_, repair_s] {
      sg4::this_actor::sleep_for(repair_s);
      spares->release();
    });
    if (std::isfinite(end_s)) return !spares_->acquire_timeout(end_s - now_s());
    spares_->acquire();
    return true;
  }

  const ClockedTrainings& o_;
  int number_;
  sg4::Host *machine_, *world_;
  sg4::SemaphorePtr spares_;
  std::optional<Holdings> holdings_;
  double left_s_, saves_until_s_ = kNever_s;
  bool has_run_ = false;
  std::uint64_t draws_ = 0;
  ClockedRun result_;
};

}  // namespace

std::vector<ClockedRun> simulate_trainings(const ClockedTrainings& trainings) {
  start_engine();
  sg4::NetZone* const zone = compat::add_full_zone(compat::root_zone(), "trainings");
  sg4::Host* const world = compat::add_host(zone, "world", 1);
  std::vector<std::unique_ptr<TrainingRun>> runs;
  for (int run = 0; run < trainings.runs; ++run) {
    sg4::Host* const machine = compat::add_host(zone, "machine " + std::to_string(run), 1);
    runs.push_back(std::make_unique<TrainingRun>(trainings, run, machine, world));
  }
  zone->seal();
  for (const auto& run : runs) run->start();
  sg4::Engine::get_instance()->run();
  std::vector<ClockedRun> results;
  for (const auto& run : runs) results.push_back(run->result());
  return results;
}

}  // namespace lockstep::sim::messages
