#pragma once
// Runs a plan over MPI ranks. Rank 0 hands out chunks and gathers outcomes. Every rank, including rank 0, runs chunks
// in forked processes of its own. Only rank 0 reads the journal and writes results.
//
// Every rank sends a heartbeat each second. If a rank is silent for `patience_s`, rank 0 hands out its unfinished
// chunks again. If rank 0 is silent for three times as long, the others exit, and the journal has the finished points.
// The launcher decides whether the other ranks survive a dead one. Open MPI needs mpirun --enable-recovery. Otherwise
// it ends the job, and --resume continues from the journal.
#include <memory>
#include <string>

#include "sim/plan/workers.hpp"

namespace lockstep::sim::plan_mpi {

constexpr double kPatience_s = 20;  ///< default

/// Initialises MPI if a launcher started this process as one of several, by the environment of mpirun and srun.
/// Otherwise there is one rank, and MPI is not started. A build without MPI always has one rank, and throws InputError
/// under a launcher.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// True if all ranks pass the same text (a digest). False if one passes another text or none.
  bool agree(const std::string& text) const;
  /// Records that a rank died. MPI can then no longer be finalised, so each rank exits on its own.
  void lose_rank() { has_lost_rank_ = true; }
  bool has_lost_rank() const { return has_lost_rank_; }

 private:
  int rank_ = 0;
  int size_ = 1;
  bool has_lost_rank_ = false;
};

/// For rank 0: runs chunks on the processes of all ranks, `jobs` on each. Its destructor tells the other ranks to exit.
std::unique_ptr<Workers> mpi_workers(MpiSession& session, int jobs, const RunTask& run,
                                     double patience_s = kPatience_s);
/// For the other ranks: serves rank 0 until it ends. If rank 0 is silent too long, returns false and reports it.
bool serve_mpi(MpiSession& session, int jobs, const RunTask& run, double patience_s = kPatience_s);

}  // namespace lockstep::sim::plan_mpi
