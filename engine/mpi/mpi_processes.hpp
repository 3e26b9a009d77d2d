#pragma once
// sync::Processes over MPI. One object per program, made before anything else and gone after everything else.
#include <cstdint>
#include <memory>

#include "engine/sync/processes.hpp"

namespace lockstep::mpi {

/// MPI_Init to MPI_Finalize. Sums are exchanged as in a ring all-reduce: every process adds up its share of the
/// numbers, 2 (P - 1) / P n of them cross each process's link.
/// MPI counts in int: what is longer than `most_at_once` numbers, or bytes, goes in blocks.
std::unique_ptr<sync::Processes> start(int& argc, char**& argv, std::int64_t most_at_once = std::int64_t{1} << 28);

}  // namespace lockstep::mpi
