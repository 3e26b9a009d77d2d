#pragma once
// Communicators of several processes, of which there is one.
#include <atomic>

namespace emulated {

/// The contribution of absent ranks to an all-reduce: the same values as the ranks that exist, or zeros. none: a
/// communicator that lacks ranks would wait forever, and is refused.
enum class Absent { none, have_the_same, have_zeros };
extern std::atomic<Absent> absent;

}  // namespace emulated
