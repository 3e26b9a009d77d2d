#include "sim/schedule/backup_workers.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {
namespace {

int worker_count(const BackupWorkers& o) {
  return static_cast<int>(o.workers.size());
}
int server_count(const BackupWorkers& o) {
  return static_cast<int>(o.servers.size());
}

// A worker of Alg. 3.
class Worker {
 public:
  Worker(const BackupWorkers& options, ActorContext& context)
      : o_(options), me_(context), held_(options.servers.size(), -1) {}

  void run() {
    for (int j = 0; j < server_count(o_); ++j) ask(j, 0);
    std::int64_t t = wait_to_read(0);
    for (int step = 0; t < o_.steps; ++step) {
      me_.log("read", t);
      compute_and_send(t, o_.factor(me_.self(), step));
      t = wait_to_read(t + 1);
    }
    for (int j = 0; j < server_count(o_); ++j) me_.send(server(j), {-1, kDone, 0, 0});
  }

 private:
  int server(int j) const { return worker_count(o_) + j; }

  void ask(int j, std::int64_t version) {
    me_.send(server(j), {-1, kRead, 0, version});
    ++unanswered_;
  }

  void take(const Message& parameters) {
    std::int64_t& held = held_[to_index(parameters.from - worker_count(o_))];
    held = std::max(held, parameters.value);
    --unanswered_;
  }

  bool is_consistent() const {
    return std::all_of(held_.begin(), held_.end(), [this](std::int64_t version) { return version == held_[0]; });
  }

  // Waits until all servers have answered with the same version, which is at least `wanted`.
  std::int64_t wait_to_read(std::int64_t wanted) {
    for (;;) {
      while (is_behind(wanted)) take(me_.receive({kParameters}));
      if (is_consistent()) return held_[0];
      wanted = *std::max_element(held_.begin(), held_.end());
      if (o_.is_interrupted) continue;  // the other shards come without a request
      for (int j = 0; j < server_count(o_); ++j)
        if (held_[to_index(j)] < wanted) ask(j, wanted);
    }
  }
  bool is_behind(std::int64_t wanted) const {
    if (!o_.is_interrupted) return unanswered_ > 0;
    return std::any_of(held_.begin(), held_.end(), [=](std::int64_t version) { return version < wanted; });
  }

  void compute_and_send(std::int64_t t, double factor) {
    const double began_s = me_.now_s();
    double forward_s = 0;
    for (const Shard& shard : o_.shards) forward_s += shard.forward_s;
    bool goes_on = work(forward_s * factor, t);
    std::vector<std::unique_ptr<Sending>> sendings;
    const auto send = [&](int j) {
      sendings.push_back(me_.start_send(server(j), {-1, kGradient, o_.shards[to_index(j)].bytes, t}));
      ++unanswered_;
    };
    for (int j = server_count(o_) - 1; goes_on && j >= 0; --j) {
      goes_on = work(o_.shards[to_index(j)].backward_s * factor, t);
      if (goes_on && o_.overlap) send(j);
    }
    me_.log("computed", std::llround((me_.now_s() - began_s) * 1e9));
    if (!goes_on) me_.log("abandoned", t);
    for (int j = server_count(o_) - 1; goes_on && !o_.overlap && j >= 0; --j) send(j);
    for (const auto& sending : sendings) {
      sending->wait();
      me_.log("sent", t);
    }
  }

  // Returns false if it was interrupted. Then all servers have published parameters newer than theta(t), so that none
  // needs gradients for t.
  bool work(double seconds, std::int64_t t) {
    if (!o_.is_interrupted) {
      me_.compute("step", seconds);
      return true;
    }
    const double end_s = me_.now_s() + seconds;
    while (const auto parameters = me_.receive_within(end_s - me_.now_s(), {kParameters})) {
      take(*parameters);
      if (!is_behind(t + 1)) return false;
    }
    return true;
  }

  const BackupWorkers& o_;
  ActorContext& me_;
  std::vector<std::int64_t> held_;  // version of each shard
  int unanswered_ = 0;
};

// A server of Alg. 4.
class Server {
 public:
  Server(const BackupWorkers& options, ActorContext& context)
      : o_(options), me_(context), shard_(options.shards[to_index(context.self() - worker_count(options))]) {}

  void run() {
    for (int running = worker_count(o_); running > 0;) {
      const auto message = next();
      if (!message) {
        update();
      } else if (message->tag == kDone) {
        --running;
      } else if (message->tag == kRead) {
        wants(message->from, message->value);
      } else {
        aggregate_or_drop(*message);
      }
    }
  }

 private:
  // Returns nothing if the time-out is over and the server has a gradient to use.
  std::optional<Message> next() {
    if (o_.timeout_s <= 0 || gradients_ == 0) return me_.receive();
    return me_.receive_within(published_s_ + o_.timeout_s - me_.now_s());
  }

  void aggregate_or_drop(const Message& gradient) {
    const bool is_in_time = gradient.value == version_ && version_ < o_.steps;
    me_.log(is_in_time ? "used" : "dropped", gradient.value);
    if (!o_.is_interrupted) wants(gradient.from, gradient.value + 1);
    if (!is_in_time) return;
    if (o_.apply_rate_bytes_per_s > 0) me_.compute("apply", double(shard_.bytes) / o_.apply_rate_bytes_per_s);
    const bool is_late = o_.timeout_s > 0 && me_.now_s() >= published_s_ + o_.timeout_s;
    if (++gradients_ == o_.aggregate || is_late) update();
  }

  void update() {
    ++version_;
    published_s_ = me_.now_s();
    me_.log("update", gradients_);
    gradients_ = 0;
    if (o_.is_interrupted) {
      for (int worker = 0; worker < worker_count(o_); ++worker) answer(worker);
      return;
    }
    std::vector<Reader> waiting;
    waiting.swap(waiting_);
    for (const Reader& reader : waiting) wants(reader.worker, reader.version);
  }

  void wants(int worker, std::int64_t version) {
    if (version > version_)
      waiting_.push_back({worker, version});
    else
      answer(worker);
  }
  void answer(int worker) { me_.start_send(worker, {-1, kParameters, shard_.bytes, version_}); }

  struct Reader {
    int worker;
    std::int64_t version;
  };

  const BackupWorkers& o_;
  ActorContext& me_;
  const Shard& shard_;
  std::int64_t version_ = 0;
  int gradients_ = 0;
  double published_s_ = 0;
  std::vector<Reader> waiting_;
};

}  // namespace

std::vector<Actor> backup_workers(const BackupWorkers& options) {
  if (options.shards.size() != options.servers.size() || options.servers.empty())
    throw std::invalid_argument("backup workers: one shard per server, at least one");
  if (options.aggregate < 1 || options.aggregate > worker_count(options))
    throw std::invalid_argument("backup workers: 1 to N + b gradients make an update");
  const auto shared = std::make_shared<const BackupWorkers>(options);
  std::vector<Actor> actors;
  for (const Place& place : options.workers)
    actors.push_back({"worker" + std::to_string(actors.size()), place,
                      [shared](ActorContext& me) { Worker(*shared, me).run(); }, false});
  for (const Place& place : options.servers)
    actors.push_back({"server" + std::to_string(actors.size() - options.workers.size()), place,
                      [shared](ActorContext& me) { Server(*shared, me).run(); }, false});
  return actors;
}

}  // namespace lockstep::sim::schedule
