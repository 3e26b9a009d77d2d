#pragma once
// Describes the work of every GPU, enqueued on streams. Schedules are written in this language, and replay runs it.
//
// A program is the same for all GPUs (SPMD); GPUs differ by their compute jitter and by their place in the collectives.
// As with CUDA streams, work on one stream runs in the order of enqueueing. Streams run in parallel, and work may wait
// for earlier work of the same GPU on another stream. A collective involves the same stream of all GPUs.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::schedule {

/// The factor by which compute work of a GPU in an iteration takes longer than nominal; 1 without jitter.
using Jitter = std::function<double(int gpu, int iteration)>;

/// A named share of a piece of compute work (a layer), for timelines.
struct Part {
  std::string name;
  double seconds;
};

/// The parts of a piece of work; identical pieces point to the same parts. Null: it has one part.
using Parts = std::shared_ptr<const std::vector<Part>>;

// A piece of work. `copy` brings input to the GPU; `host` is other time next to computing (staging, a server's CPU).
struct Work {
  enum class Kind { compute, copy, collective, host };
  /// The source of a copy. Copies from the memory of the GPU's socket to the GPU, or from the file server to the memory
  /// of the GPU's node, share the cluster's links with all messages. `aside`: the copy takes a fixed time and no link.
  enum class Source { aside, host_memory, file_server };
  Kind kind = Kind::compute;
  int stream = 0;
  int iteration = 0;
  std::string name;
  double seconds = 0;   ///< compute, copy, host: alone and without jitter; collective: launch before first message
  double fill = 1;      ///< compute: fraction of the GPU it can use, 0 < fill <= 1
  double crowding = 1;  ///< compute, closed form: how much longer it takes while other streams compute
  int draw = 0;         ///< compute: which of the iteration's jitter factors it has, below Program::draws
  int plan = -1;        ///< collective: index in Program::plans
  Source source = Source::aside;  ///< copy
  std::int64_t bytes = 0;         ///< copy over links
  double slows = 1;               ///< collective: how many times longer it makes the GPU's compute (in_flight.hpp)
  std::vector<int> after;         ///< indices of earlier work that must have ended on the same GPU
  Parts parts;
};

struct [[nodiscard]] Program {
  int gpus = 0;
  int fed_gpus = 0;  ///< the first GPUs, which get input; others only serve
  int iterations = 0;
  int draws = 1;  ///< jitter factors of a GPU in an iteration
  /// Per GPU, the draw of compute work that is its own: other compute work, and plans without it, pass it by. Empty: every
  /// GPU does everything.
  std::vector<int> roles;
  bool shares_gpu = false;                ///< compute of several streams meets on the GPU: exact by messages only
  double reduction_rate_bytes_per_s = 0;  ///< at most, of a transfer whose data the receiver adds; 0: no limit
  std::vector<std::string> streams;
  std::vector<Plan> plans;
  std::vector<Work> work;           ///< in the order of enqueueing
  std::vector<int> iteration_ends;  ///< per iteration, the work whose end is the iteration's end

  /// Per GPU, mean over GPUs, of one iteration.
  double bytes_sent_per_gpu_and_iteration() const;
  /// All messages of one iteration.
  double messages_per_iteration() const;
};

/// Streams that carry collectives with messages. With more than one, collectives run at the same time.
int collective_streams(const Program& program);

/// True if no GPU ever has two messages in flight. The program then has one stream of collectives, no library's call,
/// no copies over links, and no phase in which a GPU sends twice.
bool sends_one_by_one(const Program& program);

/// Lists each source from which the program's copies cross the cluster's links once.
std::vector<Work::Source> input_sources(const Program& program);
bool has_input_on_links(const Program& program);

/// The first streams of a GPU. A schedule's own begin at kOwnStreams; those that have no kCompute, there.
enum Stream { kInput, kCopy, kCompute, kOwnStreams, kAllReduce = kOwnStreams };

/// Appends work; each call returns the work's index, for `after`.
class Enqueue {
 public:
  Enqueue(int gpus, std::vector<std::string> streams);
  /// The streams of `learners` identical learners compute on the GPU at once. Jitter draw j is that of learner j, draw
  /// `learners` that of all other work.
  void share_gpu(int learners);
  /// GPUs of several roles, whose computing is enqueued for all: draw r is that of role r, and its factor is 0 on other GPUs.
  void have_roles(std::vector<int> role_of_gpu, int roles) {
    program_.roles = std::move(role_of_gpu);
    program_.draws = roles;
  }
  int compute_of(int role, int stream, std::string name, double seconds, std::vector<int> after);
  void begin_iteration();
  int compute(int stream, std::string name, double seconds, std::vector<int> after, Parts parts = nullptr);
  /// Compute that leaves a part of the GPU to other streams; call share_gpu() before.
  int share(int stream, std::string name, double seconds, double fill, int draw, std::vector<int> after);
  int copy(int stream, std::string name, double seconds, std::vector<int> after);
  /// A copy of `bytes` > 0 over the cluster's links.
  int copy_over_links(int stream, std::string name, Work::Source source, std::int64_t bytes, std::vector<int> after);
  int host(int stream, std::string name, double seconds, std::vector<int> after);
  int collective(int stream, std::string name, int plan, double launch_s, std::vector<int> after);
  void end_iteration(int last_work);
  int add_plan(Plan plan);
  Program finish();

 private:
  int append(Work work);
  Program program_;
};

}  // namespace lockstep::sim::schedule
