#pragma once
// Memory of passes, shared by networks that do not all run at once: a network takes an arena for a pass and gives it
// back after it, so that there are as many as passes side by side, however many networks there are. These are the
// shared pools of Crossbow (Koliousis et al. 2019, section 4.5) at the grain of a whole pass: learners on threads are
// seldom more at once than there are threads, and what a pass leaves behind nobody reads.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lockstep::host {

class ArenaPool {
 public:
  ArenaPool() = default;
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  /// At least `size_bytes`, on a boundary of 64 bytes, of undefined contents: the smallest free arena that is large
  /// enough, of equal ones that given back last; else a new one, in place of the largest free one. Any thread may call.
  void* take(std::size_t size_bytes);
  void give_back(void* arena);

  int arenas() const;
  /// In all.
  std::int64_t bytes() const;

 private:
  struct Arena {
    void* memory;
    std::size_t bytes;
    bool taken;
  };

  mutable std::mutex mutex_;
  std::vector<Arena> arenas_;  ///< in the order in which they were given back
};

}  // namespace lockstep::host
