#include "engine/host/arena_pool.hpp"

#include <algorithm>
#include <new>

namespace lockstep::host {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

}  // namespace

ArenaPool::~ArenaPool() {
  for (const Arena& arena : arenas_) ::operator delete(arena.memory, kAlignment);
}

void* ArenaPool::take(std::size_t size_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Arena* best = nullptr;
  Arena* largest = nullptr;
  for (Arena& arena : arenas_) {
    if (arena.taken) continue;
    if (largest == nullptr || arena.bytes >= largest->bytes) largest = &arena;
    if (arena.bytes >= size_bytes && (best == nullptr || arena.bytes <= best->bytes)) best = &arena;
  }
  if (best == nullptr) {
    void* memory = ::operator new(size_bytes, kAlignment);
    if (largest == nullptr) {
      arenas_.push_back({memory, size_bytes, false});
      best = &arenas_.back();
    } else {
      ::operator delete(largest->memory, kAlignment);
      *largest = {memory, size_bytes, false};
      best = largest;
    }
  }
  best->taken = true;
  return best->memory;
}

void ArenaPool::give_back(void* arena) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(arenas_.begin(), arenas_.end(), [arena](const Arena& a) { return a.memory == arena; });
  found->taken = false;
  std::rotate(found, found + 1, arenas_.end());
}

int ArenaPool::arenas() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(arenas_.size());
}

std::int64_t ArenaPool::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::int64_t sum = 0;
  for (const Arena& arena : arenas_) sum += static_cast<std::int64_t>(arena.bytes);
  return sum;
}

}  // namespace lockstep::host
