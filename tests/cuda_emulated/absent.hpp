#pragma once
// Communicators of several processes, of which there is one.
#include <atomic>

namespace emulated {

/// What the ranks that are not there have in an all-reduce: as many more times what those have that are, or zeros.
/// none: a communicator that lacks ranks waits for ever, and is refused.
enum class Absent { none, have_the_same, have_zeros };
extern std::atomic<Absent> absent;

}  // namespace emulated
