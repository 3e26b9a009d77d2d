#include "sim/plan_mpi/mpi_workers.hpp"

#include <cstdlib>

#include "engine/base/clock.hpp"
#include "engine/base/field_bytes.hpp"
#include "engine/base/json.hpp"

#ifdef LOCKSTEP_WITH_MPI
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <map>
#endif

namespace lockstep::sim::plan_mpi {
namespace {

// True if the environment is that of a launcher: Open MPI, MPICH, Intel MPI, or Slurm's srun with PMIx.
bool is_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return true;
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks && std::atoi(tasks) > 1;
}

}  // namespace

#ifndef LOCKSTEP_WITH_MPI

MpiSession::MpiSession() {
  if (is_launched()) throw InputError("plan: built without MPI; allowed: one process, with --jobs");
}
MpiSession::~MpiSession() = default;
bool MpiSession::agree(const std::string&) const {
  return true;
}
std::unique_ptr<Workers> mpi_workers(MpiSession&, int jobs, const RunTask& run, double) {
  return local_workers(jobs, run);
}
bool serve_mpi(MpiSession&, int, const RunTask&, double) {
  return true;
}

#else

namespace {

enum Tag { chunk_tag = 1, event_tag, life_tag, quit_tag };
constexpr int kPatience_ms = 5;      // interval at which messages are polled
constexpr double kLifeEvery_s = 1;   // interval of each rank's heartbeats
constexpr std::size_t kDigest = 64;  // characters of a digest
// Rank 0 answers only between other work, such as reading the journal, ranking points and writing the report.
constexpr double kFirstRankPatience = 3;

/// Sends messages without waiting for them, so that two ranks that send to each other do not deadlock.
class Post {
 public:
  void send(int rank, Tag tag, std::string text) {
    prune();
    sent_.push_back({std::move(text), MPI_REQUEST_NULL});
    MPI_Isend(sent_.back().text.data(), static_cast<int>(sent_.back().text.size()), MPI_CHAR, rank, tag, MPI_COMM_WORLD,
              &sent_.back().request);
  }
  /// Returns false if there is no message.
  static bool receive(int& rank, Tag& tag, std::string& text) {
    int is_there = 0, size = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
    if (!is_there) return false;
    MPI_Get_count(&status, MPI_CHAR, &size);
    text.resize(static_cast<std::size_t>(size));
    MPI_Recv(&text[0], size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rank = status.MPI_SOURCE;
    tag = static_cast<Tag>(status.MPI_TAG);
    return true;
  }
  /// Waits until all messages have arrived.
  void wait() {
    for (Sent& sent : sent_) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
    sent_.clear();
  }

 private:
  struct Sent {
    std::string text;
    MPI_Request request;
  };
  void prune() {
    for (auto sent = sent_.begin(); sent != sent_.end();) {
      int has_arrived = 0;
      MPI_Test(&sent->request, &has_arrived, MPI_STATUS_IGNORE);
      sent = has_arrived ? sent_.erase(sent) : std::next(sent);
    }
  }
  std::list<Sent> sent_;
};

template <class T>
std::string text_of(const T& value) {
  std::string text;
  append_bytes(value, text);
  return text;
}

template <class T>
T value_of(const std::string& text) {
  T value;
  FieldBytes(text).read(value);
  return value;
}

// Holds what rank 0 knows of another rank.
struct Remote {
  int free = 0;
  double heard_s = 0;
  bool is_dead = false;
  std::map<int, std::size_t> done;  // number of finished tasks, by chunk
};

class MpiWorkers : public Workers {
 public:
  MpiWorkers(MpiSession& session, int jobs, const RunTask& run, double patience_s)
      : session_(session), jobs_(jobs), patience_s_(patience_s), local_(local_workers(jobs, run)) {
    remotes_.resize(static_cast<std::size_t>(session.size() - 1));
    for (Remote& remote : remotes_) {
      remote.free = jobs;
      remote.heard_s = steady_now_s();
    }
  }
  ~MpiWorkers() override {
    for (std::size_t i = 0; i < remotes_.size(); ++i)
      if (!remotes_[i].is_dead) post_.send(static_cast<int>(i) + 1, quit_tag, session_.has_lost_rank() ? "lost" : "");
    if (!session_.has_lost_rank()) post_.wait();
  }
  int slots() const override { return jobs_ * static_cast<int>(remotes_.size() + 1); }
  int free_slots() const override {
    int free = local_->free_slots();
    for (const Remote& remote : remotes_) free += remote.is_dead ? 0 : remote.free;
    return free;
  }

  void start(const Chunk& chunk) override {
    const auto freest = std::max_element(remotes_.begin(), remotes_.end(), [](const Remote& a, const Remote& b) {
      return (a.is_dead ? -1 : a.free) < (b.is_dead ? -1 : b.free);
    });
    if (freest == remotes_.end() || freest->is_dead || freest->free < local_->free_slots()) return local_->start(chunk);
    --freest->free;
    freest->done[chunk.id] = 0;
    post_.send(static_cast<int>(freest - remotes_.begin()) + 1, chunk_tag, text_of(chunk));
  }

  std::vector<WorkerEvent> wait(int timeout_ms) override {
    const double until_s = steady_now_s() + timeout_ms / 1e3;
    std::vector<WorkerEvent> events;
    say_alive();
    while (events.empty() && steady_now_s() < until_s) {
      events = local_->wait(kPatience_ms);
      if (local_->free_slots() == jobs_ && events.empty()) usleep(kPatience_ms * 1000);
      hear(events);
      bury(events);
    }
    return events;
  }

 private:
  void say_alive() {
    if (steady_now_s() - said_alive_s_ < kLifeEvery_s) return;
    said_alive_s_ = steady_now_s();
    for (std::size_t i = 0; i < remotes_.size(); ++i)
      if (!remotes_[i].is_dead) post_.send(static_cast<int>(i) + 1, life_tag, "");
  }

  void hear(std::vector<WorkerEvent>& events) {
    int rank = 0;
    Tag tag{};
    std::string text;
    while (Post::receive(rank, tag, text)) {
      Remote& remote = remotes_[static_cast<std::size_t>(rank - 1)];
      remote.heard_s = steady_now_s();
      if (tag != event_tag || remote.is_dead) continue;
      const WorkerEvent event = value_of<WorkerEvent>(text);
      if (event.is_end) {
        remote.done.erase(event.chunk);
        ++remote.free;
      } else {
        remote.done[event.chunk] = event.task + 1;
      }
      events.push_back(event);
    }
  }

  // Gives up ranks that have been silent for too long, and reports the end of each of their chunks. The event names the
  // first unfinished task but no cause of death, so that this task is not blamed.
  void bury(std::vector<WorkerEvent>& events) {
    for (std::size_t i = 0; i < remotes_.size(); ++i) {
      Remote& remote = remotes_[i];
      if (remote.is_dead || steady_now_s() - remote.heard_s < patience_s_) continue;
      remote.is_dead = true;
      session_.lose_rank();
      std::fprintf(stderr, "rank %zu is silent for %.0f s: given up, its points are done again\n", i + 1, patience_s_);
      for (const auto& [chunk, done] : remote.done) events.push_back({chunk, done, true, {}});
      remote.done.clear();
    }
  }

  MpiSession& session_;
  int jobs_;
  double patience_s_;
  double said_alive_s_ = 0;
  std::unique_ptr<Workers> local_;
  std::vector<Remote> remotes_;
  Post post_;
};

}  // namespace

MpiSession::MpiSession() {
  if (!is_launched()) return;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

MpiSession::~MpiSession() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized && !has_lost_rank_) MPI_Finalize();
}

bool MpiSession::agree(const std::string& text) const {
  if (size_ == 1) return true;
  std::string first = text;
  first.resize(kDigest, ' ');
  const std::string mine = first;
  MPI_Bcast(&first[0], static_cast<int>(kDigest), MPI_CHAR, 0, MPI_COMM_WORLD);
  int is_same = !text.empty() && mine == first, all_same = 0;
  MPI_Allreduce(&is_same, &all_same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_same != 0;
}

std::unique_ptr<Workers> mpi_workers(MpiSession& session, int jobs, const RunTask& run, double patience_s) {
  if (session.size() == 1) return local_workers(jobs, run);
  return std::make_unique<MpiWorkers>(session, jobs, run, patience_s);
}

bool serve_mpi(MpiSession& session, int jobs, const RunTask& run, double patience_s) {
  const std::unique_ptr<Workers> local = local_workers(jobs, run);
  Post post;
  double lived_s = 0, heard_s = steady_now_s();
  for (;;) {
    const std::vector<WorkerEvent> events = local->wait(kPatience_ms);
    for (const WorkerEvent& event : events) post.send(0, event_tag, text_of(event));
    if (steady_now_s() - lived_s > kLifeEvery_s) {
      post.send(0, life_tag, "");
      lived_s = steady_now_s();
    }
    int rank = 0;
    Tag tag{};
    std::string text;
    bool is_idle = events.empty() && local->free_slots() == jobs;
    while (Post::receive(rank, tag, text)) {
      heard_s = steady_now_s();
      if (tag == life_tag) continue;
      is_idle = false;
      if (tag == quit_tag) {
        if (text == "lost") session.lose_rank();
        return true;
      }
      local->start(value_of<Chunk>(text));
    }
    if (steady_now_s() - heard_s > kFirstRankPatience * patience_s) {
      session.lose_rank();
      std::fprintf(stderr, "rank 0 is silent for %.0f s: rank %d gives up; --resume goes on from the journal\n",
                   steady_now_s() - heard_s, session.rank());
      return false;
    }
    if (is_idle) usleep(kPatience_ms * 1000);
  }
}

#endif

}  // namespace lockstep::sim::plan_mpi
