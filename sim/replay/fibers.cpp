#include "sim/replay/fibers.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/base/index.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace lockstep::sim::replay {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 256 * 1024;  // its frames are larger
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif

}  // namespace

Fibers::Fibers(int most) : most_(most) {
  void* const stacks = mmap(nullptr, kStackBytes * to_index(most), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED)
    throw std::runtime_error("no memory for the stacks of " + std::to_string(most) + " actors, " +
                             std::to_string(kStackBytes / 1024) + " KiB each");
  stacks_ = static_cast<char*>(stacks);
}

Fibers::~Fibers() {
  is_leaving_ = true;
  for (int f = 0; f < static_cast<int>(fibers_.size()); ++f)
    if (fibers_[to_index(f)]->has_begun && !fibers_[to_index(f)]->has_ended) resume(f);
  munmap(stacks_, kStackBytes * to_index(most_));
}

int Fibers::add(std::function<void()> body) {
  if (static_cast<int>(fibers_.size()) == most_) throw std::logic_error("more fibers than there are stacks");
  fibers_.push_back(std::make_unique<Fiber>());
  fibers_.back()->body = std::move(body);
  return static_cast<int>(fibers_.size()) - 1;
}

// makecontext() passes only ints, so the pointer is split into two.
void Fibers::enter(unsigned high, unsigned low) {
  const auto address = static_cast<std::uintptr_t>(high) << 32 | low;
  reinterpret_cast<Fibers*>(address)->run_current();
}

void Fibers::run_current() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_stack_bytes_);
#endif
  Fiber& fiber = *fibers_[to_index(current_)];
  try {
    fiber.body();
  } catch (const Left&) {
    // wait() was left.
  }
  fiber.has_ended = true;
  fiber.body = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, caller_stack_, caller_stack_bytes_);
#endif
  setcontext(&caller_);
}

void Fibers::resume(int number) {
  Fiber& fiber = *fibers_[to_index(number)];
  if (fiber.has_ended) return;
  char* const stack = stacks_ + kStackBytes * to_index(number);
  if (!fiber.has_begun) {
    fiber.has_begun = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address & 0xffffffff));
  }
  const int before = current_;
  current_ = number;
  switch_to(fiber, stack);
  current_ = before;
}

void Fibers::switch_to(Fiber& fiber, [[maybe_unused]] char* stack) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_shadow_, stack, kStackBytes);
#endif
  swapcontext(&caller_, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
}

void Fibers::wait() {
  Fiber& fiber = *fibers_[to_index(current_)];
#if defined(__SANITIZE_ADDRESS__)
  void* shadow = nullptr;
  __sanitizer_start_switch_fiber(&shadow, caller_stack_, caller_stack_bytes_);
#endif
  swapcontext(&fiber.context, &caller_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(shadow, &caller_stack_, &caller_stack_bytes_);
#endif
  if (is_leaving_) throw Left{};
}

}  // namespace lockstep::sim::replay
