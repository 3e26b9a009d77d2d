#pragma once
// Describes the work of every GPU, enqueued on streams. Schedules are written in this language. replay/ runs it.
//
// All GPUs run the same program (SPMD). They differ by their compute jitter and by their place in the collectives. As
// with CUDA streams, work on one stream runs in the order of enqueueing. Streams run in parallel, and work may wait for
// earlier work of the same GPU on another stream. A collective involves the same stream of all GPUs.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::schedule {

/// Returns a GPU's compute time over nominal compute time in an iteration; 1 without jitter.
using Jitter = std::function<double(int gpu, int iteration)>;

/// A named part of compute work (a layer), for timelines.
struct Part {
  std::string name;
  double seconds;
};

/// The parts of compute work; identical work shares them. Null: a single part.
using Parts = std::shared_ptr<const std::vector<Part>>;

// A piece of work. `copy` brings input to the GPU. `host` is time in parallel with computation, such as staging or a
// server's CPU. If a field's comment begins with kinds of work and a colon, only these use it.
struct Work {
  enum class Kind { compute, copy, collective, host };
  /// The source of a copy. `host_memory` (to the GPU of the socket) and `file_server` (to the memory of the GPU's node)
  /// share the cluster's links with all messages. `aside`: the copy takes a fixed time and no link.
  enum class Source { aside, host_memory, file_server };
  Kind kind = Kind::compute;
  int stream = 0;
  int iteration = 0;
  std::string name;
  double seconds = 0;             ///< compute, copy, host: alone and without jitter; collective: launch before messages
  double fill = 1;                ///< compute: fraction of the GPU that it can use, 0 < fill <= 1
  double crowding = 1;            ///< compute, closed form: slowdown while other streams compute
  int draw = 0;                   ///< compute: index of its jitter factor in the iteration, below Program::draws
  int plan = -1;                  ///< collective: index in Program::plans
  Source source = Source::aside;  ///< copy: where the input comes from
  std::int64_t bytes = 0;         ///< copy: bytes, if it shares the cluster's links
  double slows = 1;               ///< collective: slowdown of the GPU's compute work (in_flight.hpp)
  std::vector<int> after;         ///< indices of earlier work that must end before, on the same GPU
  Parts parts;
};

struct [[nodiscard]] Program {
  int gpus = 0;
  int fed_gpus = 0;  ///< number of GPUs that get input, counted from the first; others only serve
  int iterations = 0;
  int draws = 1;  ///< jitter factors per GPU and iteration
  /// By GPU, the draw of its own compute work. A GPU skips compute work with other draws, and plans in which it does
  /// not take part. Empty: every GPU does everything.
  std::vector<int> roles;
  bool shares_gpu = false;                ///< compute work of several streams shares the GPU: exact only by messages
  double reduction_rate_bytes_per_s = 0;  ///< limit on the bytes/s of a transfer whose data the receiver adds; 0: none
  std::vector<std::string> streams;
  std::vector<Plan> plans;
  std::vector<Work> work;           ///< in the order of enqueueing
  std::vector<int> iteration_ends;  ///< per iteration: the work that ends it

  /// Returns the bytes that a GPU sends in one iteration, as a mean over GPUs.
  double bytes_sent_per_gpu_and_iteration() const;
  /// Returns the number of messages of one iteration.
  double messages_per_iteration() const;
};

/// Returns the program of the first iterations alone. Schedules enqueue one iteration after the other, so it is the
/// program that they make for that number of iterations.
Program first_iterations(const Program& program, int iterations);

/// Returns the number of streams with collectives that send messages. If there are several, collectives are concurrent.
int collective_streams(const Program& program);

/// True if no GPU ever has two messages in flight. Such a program has a single stream of collectives, no library
/// operations, no copies over links, and no phase in which a GPU sends twice.
bool sends_one_by_one(const Program& program);

/// Lists each source from which the program's copies cross the cluster's links once.
std::vector<Work::Source> input_sources(const Program& program);
bool has_input_on_links(const Program& program);

/// The first streams of a GPU. A schedule's own streams begin at kOwnStreams, or at kCompute if that is unused.
enum Stream { kInput, kCopy, kCompute, kOwnStreams, kAllReduce = kOwnStreams };

/// Appends work. Each function returns the work's index, for `after`.
class Enqueue {
 public:
  Enqueue(int gpus, std::vector<std::string> streams);
  /// Lets the streams of `learners` identical learners compute on the GPU concurrently. Jitter draw j is that of
  /// learner j; draw `learners` is that of all other work.
  void share_gpu(int learners);
  /// Gives GPUs roles. Compute work is enqueued for all. Draw r is that of role r; on GPUs of other roles its factor is
  /// 0.
  void have_roles(std::vector<int> role_of_gpu, int roles) {
    program_.roles = std::move(role_of_gpu);
    program_.draws = roles;
  }
  int compute_of(int role, int stream, std::string name, double seconds, std::vector<int> after);
  void begin_iteration();
  int compute(int stream, std::string name, double seconds, std::vector<int> after, Parts parts = nullptr);
  /// Adds compute work that leaves part of the GPU to other streams; requires an earlier share_gpu().
  int share(int stream, std::string name, double seconds, double fill, int draw, std::vector<int> after);
  int copy(int stream, std::string name, double seconds, std::vector<int> after);
  /// Adds a copy of `bytes` > 0 over the cluster's links.
  int copy_over_links(int stream, std::string name, Work::Source source, std::int64_t bytes, std::vector<int> after);
  int host(int stream, std::string name, double seconds, std::vector<int> after);
  int collective(int stream, std::string name, int plan, double launch_s, std::vector<int> after, double slows = 1);
  void end_iteration(int last_work);
  int add_plan(Plan plan);
  Program finish();

 private:
  int append(Work work);
  Program program_;
};

}  // namespace lockstep::sim::schedule
