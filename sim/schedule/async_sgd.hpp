#pragma once
// Asynchronous SGD with parameter servers (Async-Opt; Chen et al. 2016, section 2, Algs. 1 and 2), and asynchronous
// elastic averaging (Zhang, Choromanska & LeCun 2015, as Theano-MPI runs it: Ma, Mao & Taylor 2016, section 4).
//
// A worker reads the parameters, computes a gradient from them and sends it. Servers apply every gradient as it comes.
// The staleness of a layer's gradient is the number of updates of the layer between the worker's read and this update.
// Parameters are read from the bottom up and gradients sent from the top down (the paper's Fig. 1), so that bottom
// layers are staler. A side branch (an auxiliary classifier) has its backward pass right after its forward pass, before
// the layers above its input.
#include "sim/schedule/actor.hpp"
#include "sim/schedule/backup_workers.hpp"

namespace lockstep::sim::schedule {

struct AsyncSgd {
  std::vector<Place> workers;
  std::vector<Place> servers;
  std::vector<Shard> shards;          ///< bottom first; any number per server
  int steps = 1;                      ///< most steps of each worker
  std::int64_t total_steps = 0;       ///< steps of all workers together; then no worker begins another; 0: no limit
  bool reads_in_forward = true;       ///< reads a shard when the forward pass reaches it; false: all at the beginning
  bool sends_in_backward = true;      ///< sends a gradient when it is ready; false: all at the end (clipping)
  double apply_rate_bytes_per_s = 0;  ///< rate at which a server applies gradients; 0: takes no time
  /// Returns the start time of a worker. Workers that start together would stay in step for ever.
  std::function<double(int worker)> begin_s = [](int) { return 0.0; };
  StepFactor factor = [](int, int) { return 1.0; };
};

/// Returns workers, then servers; run these actors only once. They log:
///
///   `worker "step" ns`    Its step has ended after this number of nanoseconds of computation.
///   `server "update" u`   u = update_event(shard, staleness).
std::vector<Actor> async_sgd(const AsyncSgd& options);

std::int64_t update_event(int shard, std::int64_t staleness);
int shard_of(std::int64_t update_event);
std::int64_t staleness_of(std::int64_t update_event);

struct AsyncEasgd {
  std::vector<Place> workers;
  Place server;  ///< holds the centre x~ of all parameters
  std::int64_t bytes = 0;
  double step_s = 0;             ///< a worker's step without communication
  int steps = 1;                 ///< most steps of each worker
  std::int64_t total_steps = 0;  ///< steps of all workers together, as above
  int period = 1;                ///< tau: steps between two exchanges
  double elastic_rate = 0.5;  ///< alpha: x -= alpha (x - x~), x~ += alpha (x - x~). Takes no time; affects convergence
  double first_steps_apart_s = 0;     ///< worker w of W begins w/W of this time after the start
  double apply_rate_bytes_per_s = 0;  ///< rate of the elastic update on both sides; 0: takes no time
  StepFactor factor = [](int, int) { return 1.0; };
};

/// Every tau steps, a worker exchanges its x for the centre (one send-receive, both directions at once). The server
/// serves workers one after the other, in the order of their requests. Returns the workers, then the server. They log:
///   `worker "step" ns`       As above.
///   `worker "exchanged" ns`  Nanoseconds from its request to the end of its exchange.
///   `server "update" n`      Its n-th exchange has ended.
/// Throws std::invalid_argument for alpha outside (0, 1) or tau < 1.
std::vector<Actor> async_easgd(const AsyncEasgd& options);

}  // namespace lockstep::sim::schedule
