#pragma once
// Ranks, links and layers are ints, but containers are indexed by std::size_t.
#include <cstddef>

namespace lockstep {

inline std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace lockstep
