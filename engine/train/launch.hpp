#pragma once
// Determines whether this program runs alone or as one of several processes of mpirun or srun.
#include <memory>
#include <string>

#include "engine/sync/processes.hpp"

namespace lockstep::train {

/// The number of processes, from the environment variables of Open MPI, MPICH and Slurm with PMIx; 1: alone.
int launched_processes();
/// Returns the processes of this run, and initialises MPI only if there are several. Throws std::runtime_error if there
/// are several but this build has no MPI, because all would write the same files. Prints binding_remark() to standard
/// error, once per machine.
std::unique_ptr<sync::Processes> join_processes(int& argc, char**& argv);
/// A warning if the launcher has bound each process to fewer processors than the machine has per process, as Open MPI
/// does by default; else empty. The host's work for GPUs (input, launches, exchange) would compete for these few
/// processors.
std::string binding_remark(int bound, int processors, int local_processes);
/// Clears the launcher's variables, so that programs started from here run alone.
void forget_launcher();

}  // namespace lockstep::train
