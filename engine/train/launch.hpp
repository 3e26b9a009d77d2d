#pragma once
// How this program was started: alone, or as one of several processes by mpirun or srun.
#include <memory>

#include "engine/sync/processes.hpp"

namespace lockstep::train {

/// By the variables that Open MPI, MPICH and Slurm with PMIx leave; 1: alone.
int launched_processes();
/// The processes of this run. MPI is begun only where there are several. Throws std::runtime_error where there are and
/// this build has no MPI: they would all write the same files.
std::unique_ptr<sync::Processes> join_processes(int& argc, char**& argv);
/// Programs started from here are alone.
void forget_launcher();

}  // namespace lockstep::train
