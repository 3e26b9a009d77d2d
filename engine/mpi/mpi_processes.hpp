#pragma once
// sync::Processes over MPI. Create one object per program, before all others, and destroy it last.
#include <cstdint>
#include <memory>

#include "engine/sync/processes.hpp"

namespace lockstep::mpi {

/// Calls MPI_Init; the destructor calls MPI_Finalize. Sums work as in a ring all-reduce: every process adds its part of
/// the numbers, and 2 (P - 1) / P n numbers cross each process's link. MPI counts in int, so messages of more than
/// `most_at_once` numbers or bytes are sent in blocks.
std::unique_ptr<sync::Processes> start(int& argc, char**& argv, std::int64_t most_at_once = std::int64_t{1} << 28);

}  // namespace lockstep::mpi
