#pragma once
// sync::Processes over MPI. One object per program, made before anything else and gone after everything else.
#include <memory>

#include "engine/sync/processes.hpp"

namespace lockstep::mpi {

/// MPI_Init to MPI_Finalize. Sums are exchanged as in a ring all-reduce: every process adds up its share of the
/// numbers, 2 (P - 1) / P n of them cross each process's link.
std::unique_ptr<sync::Processes> start(int& argc, char**& argv);

}  // namespace lockstep::mpi
