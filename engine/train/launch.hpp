#pragma once
// How this program was started: alone, or as one of several processes by mpirun or srun.
#include <memory>
#include <string>

#include "engine/sync/processes.hpp"

namespace lockstep::train {

/// By the variables that Open MPI, MPICH and Slurm with PMIx leave; 1: alone.
int launched_processes();
/// The processes of this run. MPI is begun only where there are several. Throws std::runtime_error where there are and
/// this build has no MPI: they would all write the same files. A binding_remark() goes to standard error, once a machine.
std::unique_ptr<sync::Processes> join_processes(int& argc, char**& argv);
/// Where the launcher has bound each process to fewer processors than its share of the machine's, as Open MPI does unless
/// told otherwise: one line that says so; else empty. What the host does beside GPUs (input, launches, exchange) would
/// all wait for those few.
std::string binding_remark(int bound, int processors, int local_processes);
/// Programs started from here are alone.
void forget_launcher();

}  // namespace lockstep::train
