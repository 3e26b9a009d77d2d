#pragma once
// Memory for passes, shared by networks that do not all run at once. A network takes an arena for a pass and then
// returns it, so there are only as many arenas as concurrent passes. Crossbow (Koliousis et al. 2019, section 4.5)
// pools buffers per operator. Here the pool is per pass, because hardly more learners run than threads, and nothing
// reads a pass's memory afterwards.
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

  /// Returns at least `size_bytes`, aligned to 64 bytes, with undefined contents. Prefers the smallest free arena that
  /// is large enough; if several are equal, the last returned. If none is large enough, replaces the largest free arena
  /// by a new one. Thread-safe.
  void* take(std::size_t size_bytes);
  void give_back(void* arena);

  int arenas() const;
  /// Total size of all arenas.
  std::int64_t bytes() const;

 private:
  struct Arena {
    void* memory;
    std::size_t bytes;
    bool taken;
  };

  mutable std::mutex mutex_;
  std::vector<Arena> arenas_;  ///< in the order of their return
};

}  // namespace lockstep::host
