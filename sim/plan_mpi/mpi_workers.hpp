#pragma once
// Runs a plan over MPI ranks. Rank 0 hands out chunks and gathers outcomes. Every rank, rank 0 too, runs chunks in
// forked processes of its own. Only rank 0 reads the journal and writes results.
//
// Every rank sends a heartbeat each second. If a rank is silent for `patience_s`, rank 0 hands out its unfinished
// chunks again. If rank 0 is silent for three times as long, the others leave, and the journal has the finished points.
// The launcher decides whether the other ranks outlive a dead one. Open MPI needs mpirun --enable-recovery; otherwise
// it ends the job, and --resume continues from the journal.
#include <memory>
#include <string>

#include "sim/plan/workers.hpp"

namespace lockstep::sim::plan_mpi {

constexpr double kPatience_s = 20;  ///< by default

/// MPI, started where a launcher made this process one of several (by the environment that mpirun and srun set);
/// otherwise one rank and nothing started. Without MPI in the build always so; a launcher is then refused with
/// InputError.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Every rank must say the same text (a digest); false where one says another, or nothing.
  bool agree(const std::string& text) const;
  /// A rank is dead: MPI cannot be ended in order any more, and each rank leaves on its own.
  void lose_rank() { has_lost_rank_ = true; }
  bool has_lost_rank() const { return has_lost_rank_; }

 private:
  int rank_ = 0;
  int size_ = 1;
  bool has_lost_rank_ = false;
};

/// Rank 0: all ranks' processes, `jobs` of each. Its destructor tells the others to end.
std::unique_ptr<Workers> mpi_workers(MpiSession& session, int jobs, const RunTask& run,
                                     double patience_s = kPatience_s);
/// The other ranks: until rank 0 ends. False where rank 0 is given up, which is said on stderr.
bool serve_mpi(MpiSession& session, int jobs, const RunTask& run, double patience_s = kPatience_s);

}  // namespace lockstep::sim::plan_mpi
