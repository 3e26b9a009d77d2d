#pragma once
// Communicators of several processes while only one exists.
#include <atomic>

namespace emulated {

/// The contribution of absent ranks to an all-reduce: the same values as those of existing ranks, or zeros. `none`: a
/// communicator that lacks ranks would wait forever, so it is refused.
enum class Absent { none, have_the_same, have_zeros };
extern std::atomic<Absent> absent;

}  // namespace emulated
