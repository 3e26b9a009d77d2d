#include "sim/schedule/async_sgd.hpp"

#include <cmath>
#include <stdexcept>

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {
namespace {

// A message's tag contains its kind and its shard. An update event contains its shard and staleness.
constexpr std::int64_t kStalenessRange = std::int64_t{1} << 40;

int tag_of(ServerMessage kind, int shard) {
  return shard * kKinds + kind;
}
ServerMessage kind_of(int tag) {
  return static_cast<ServerMessage>(tag % kKinds);
}
std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

// Counts the steps of all workers together.
struct StepCount {
  std::int64_t limit;  // 0: none
  std::int64_t ended = 0;
  bool allows_another() const { return limit == 0 || ended < limit; }
};

// A worker of Alg. 1.
class AsyncWorker {
 public:
  AsyncWorker(const AsyncSgd& options, StepCount& count, ActorContext& context)
      : o_(options), count_(count), me_(context), read_(options.shards.size()) {}

  void run() {
    me_.sleep(o_.begin_s(me_.self()));
    for (int step = 0; step < o_.steps && count_.allows_another(); ++step) {
      const double factor = o_.factor(me_.self(), step);
      computed_s_ = 0;
      forward(factor);
      backward(factor);
      me_.log("step", nanoseconds(computed_s_));
      ++count_.ended;
    }
    for (int j = 0; j < static_cast<int>(o_.servers.size()); ++j)
      me_.send(static_cast<int>(o_.workers.size()) + j, {-1, kDone, 0, 0});
  }

 private:
  int shards() const { return static_cast<int>(o_.shards.size()); }
  int server_of(int shard) const { return static_cast<int>(o_.workers.size()) + o_.shards[to_index(shard)].server; }

  void ask(int shard) { me_.start_send(server_of(shard), {-1, tag_of(kRead, shard), 0, 0}); }

  // Computes the forward pass. Reads each shard's parameters first, from the bottom up.
  void forward(double factor) {
    for (int shard = 0; shard < shards() && !o_.reads_in_forward; ++shard) ask(shard);
    for (int shard = 0; shard < shards(); ++shard) {
      if (o_.reads_in_forward) ask(shard);
      read_[to_index(shard)] = me_.receive({tag_of(kParameters, shard)}).value;
      compute(o_.shards[to_index(shard)].forward_s * factor);
      if (o_.shards[to_index(shard)].is_side_branch) go_back(shard, factor);
    }
  }

  // Sends gradients from the top down. The step is over when all have arrived.
  void backward(double factor) {
    for (int shard = shards() - 1; shard >= 0; --shard)
      if (!o_.shards[to_index(shard)].is_side_branch) go_back(shard, factor);
    for (int shard = shards() - 1; shard >= 0 && !o_.sends_in_backward; --shard) send(shard);
    for (const auto& sending : sendings_) sending->wait();
    sendings_.clear();
  }

  void go_back(int shard, double factor) {
    compute(o_.shards[to_index(shard)].backward_s * factor);
    if (o_.sends_in_backward) send(shard);
  }

  void send(int shard) {
    sendings_.push_back(me_.start_send(
        server_of(shard), {-1, tag_of(kGradient, shard), o_.shards[to_index(shard)].bytes, read_[to_index(shard)]}));
  }

  void compute(double seconds) {
    me_.compute("step", seconds);
    computed_s_ += seconds;
  }

  const AsyncSgd& o_;
  StepCount& count_;
  ActorContext& me_;
  std::vector<std::int64_t> read_;                  // number of updates of each shard when it was read
  std::vector<std::unique_ptr<Sending>> sendings_;  // gradients of this step that are in flight
  double computed_s_ = 0;
};

// A server of Alg. 2.
void run_async_server(const AsyncSgd& o, ActorContext& me) {
  std::vector<std::int64_t> updates(o.shards.size(), 0);
  for (int running = static_cast<int>(o.workers.size()); running > 0;) {
    const Message message = me.receive();
    const ServerMessage kind = kind_of(message.tag);
    const int shard = message.tag / kKinds;
    if (kind == kDone) {
      --running;
    } else if (kind == kRead) {
      me.start_send(message.from,
                    {-1, tag_of(kParameters, shard), o.shards[to_index(shard)].bytes, updates[to_index(shard)]});
    } else {
      if (o.apply_rate_bytes_per_s > 0)
        me.compute("apply", double(o.shards[to_index(shard)].bytes) / o.apply_rate_bytes_per_s);
      me.log("update", update_event(shard, updates[to_index(shard)]++ - message.value));
    }
  }
}

// ---- elastic averaging

enum EasgdTag { kAsk, kGo, kReplica, kCentre, kFinished };

class EasgdWorker {
 public:
  EasgdWorker(const AsyncEasgd& options, StepCount& count, ActorContext& context)
      : o_(options), count_(count), me_(context), server_(static_cast<int>(options.workers.size())) {}

  void run() {
    me_.sleep(o_.first_steps_apart_s * me_.self() / double(o_.workers.size()));
    for (int step = 0; step < o_.steps && count_.allows_another(); ++step) {
      const double seconds = o_.step_s * o_.factor(me_.self(), step);
      me_.compute("step", seconds);
      if ((step + 1) % o_.period == 0) exchange();
      me_.log("step", nanoseconds(seconds));
      ++count_.ended;
    }
    me_.send(server_, {-1, kFinished, 0, 0});
  }

 private:
  void exchange() {
    const double began_s = me_.now_s();
    me_.send(server_, {-1, kAsk, 0, 0});
    me_.receive({kGo});
    const auto replica = me_.start_send(server_, {-1, kReplica, o_.bytes, 0});
    me_.receive({kCentre});
    replica->wait();
    if (o_.apply_rate_bytes_per_s > 0) me_.compute("elastic update", double(o_.bytes) / o_.apply_rate_bytes_per_s);
    me_.log("exchanged", nanoseconds(me_.now_s() - began_s));
  }

  const AsyncEasgd& o_;
  StepCount& count_;
  ActorContext& me_;
  int server_;
};

void run_easgd_server(const AsyncEasgd& o, ActorContext& me) {
  std::int64_t exchanges = 0;
  for (int running = static_cast<int>(o.workers.size()); running > 0;) {
    const Message message = me.receive({kAsk, kFinished});
    if (message.tag == kFinished) {
      --running;
      continue;
    }
    me.start_send(message.from, {-1, kGo, 0, 0});
    const auto centre = me.start_send(message.from, {-1, kCentre, o.bytes, 0});
    me.receive({kReplica});
    centre->wait();
    if (o.apply_rate_bytes_per_s > 0) me.compute("elastic update", double(o.bytes) / o.apply_rate_bytes_per_s);
    me.log("update", ++exchanges);
  }
}

}  // namespace

std::int64_t update_event(int shard, std::int64_t staleness) {
  return shard * kStalenessRange + staleness;
}
int shard_of(std::int64_t event) {
  return static_cast<int>(event / kStalenessRange);
}
std::int64_t staleness_of(std::int64_t event) {
  return event % kStalenessRange;
}

std::vector<Actor> async_sgd(const AsyncSgd& options) {
  const auto shared = std::make_shared<const AsyncSgd>(options);
  const auto count = std::make_shared<StepCount>(StepCount{options.total_steps});
  std::vector<Actor> actors;
  for (const Place& place : options.workers)
    actors.push_back({"worker" + std::to_string(actors.size()), place,
                      [shared, count](ActorContext& me) { AsyncWorker(*shared, *count, me).run(); }, false});
  for (const Place& place : options.servers)
    actors.push_back({"server" + std::to_string(actors.size() - options.workers.size()), place,
                      [shared](ActorContext& me) { run_async_server(*shared, me); }, false});
  return actors;
}

std::vector<Actor> async_easgd(const AsyncEasgd& options) {
  if (!(options.elastic_rate > 0 && options.elastic_rate < 1) || options.period < 1)
    throw std::invalid_argument("asynchronous EASGD: alpha in (0, 1), tau of at least 1");
  const auto shared = std::make_shared<const AsyncEasgd>(options);
  const auto count = std::make_shared<StepCount>(StepCount{options.total_steps});
  std::vector<Actor> actors;
  for (const Place& place : options.workers)
    actors.push_back({"worker" + std::to_string(actors.size()), place,
                      [shared, count](ActorContext& me) { EasgdWorker(*shared, *count, me).run(); }, false});
  actors.push_back({"server", options.server, [shared](ActorContext& me) { run_easgd_server(*shared, me); }, false});
  return actors;
}

}  // namespace lockstep::sim::schedule
