// Runs a kernel block by block, and the threads of a block in turns. A thread runs until it waits for the others or
// ends. Threads that never wait share one stack. The order of blocks and threads changes from launch to launch, so that
// a missing barrier shows.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/cuda_emulated/device.hpp"
#include "tests/cuda_emulated/emulated.hpp"
#include "tests/cuda_emulated/knobs.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// Saves the callee's registers and changes stacks: System V ABI of x86-64.
extern "C" void lockstep_switch_stack(void** from, void* to);
asm(R"(
.text
.globl lockstep_switch_stack
.type lockstep_switch_stack, @function
lockstep_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lockstep_switch_stack, .-lockstep_switch_stack
)");

namespace emulated {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;
constexpr unsigned kWarp = 32;

enum class State { new_thread, ready, at_block, at_warp, done };

struct Fiber {
  char* memory = nullptr;
  void* stack = nullptr;  ///< where it stopped
};

struct Thread {
  uint3 index;
  State state;
  Fiber* fiber;
  std::uint64_t put_down;
};

struct Block {
  std::vector<Thread> threads;
  std::vector<std::size_t> order;
  const std::function<void()>* body = nullptr;
  Thread* current = nullptr;
  void* scheduler = nullptr;
  std::vector<Fiber*> idle;
  std::size_t next = 0;  ///< index into `order` of the next thread that has not started
};
Block block;
const char* running = "";

/// Returns to the scheduler until it resumes this thread.
void pause(State state) {
  Thread& self = *block.current;
  self.state = state;
  lockstep_switch_stack(&self.fiber->stack, block.scheduler);
  threadIdx = self.index;
}

/// The function of a fiber: runs one thread after another while none of them pauses it.
void work() {
  Fiber* const self = block.current->fiber;
  while (true) {
    Thread& thread = *block.current;
    threadIdx = thread.index;
    (*block.body)();
    block.current->state = State::done;
    if (block.next < block.order.size()) {
      block.current = &block.threads[block.order[block.next++]];
      block.current->fiber = self;
      block.current->state = State::ready;
      continue;
    }
    block.idle.push_back(self);
    lockstep_switch_stack(&self->stack, block.scheduler);
  }
}

Fiber* idle_fiber() {
  if (!block.idle.empty()) {
    Fiber* fiber = block.idle.back();
    block.idle.pop_back();
    return fiber;
  }
  auto* fiber = new Fiber;  // kept for the next launches
  fiber->memory = static_cast<char*>(
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (fiber->memory == MAP_FAILED) std::abort();
  auto** top = reinterpret_cast<void**>(fiber->memory + kStackBytes) - 1;  // rsp % 16 == 8 where work() begins
  *--top = reinterpret_cast<void*>(&work);
  fiber->stack = top - 6;
  return fiber;
}

void take_up(Thread& thread) {
  block.current = &thread;
  thread.state = State::ready;
  lockstep_switch_stack(&block.scheduler, thread.fiber->stack);
}

/// Releases the threads that have all arrived; false if none can continue.
bool release() {
  bool all_at_block = true, any = false, released = false;
  for (const Thread& thread : block.threads) {
    if (thread.state == State::done) continue;
    any = true;
    all_at_block = all_at_block && thread.state == State::at_block;
  }
  if (!any) return false;
  if (all_at_block) {
    for (Thread& thread : block.threads)
      if (thread.state == State::at_block) thread.state = State::ready;
    return true;
  }
  for (std::size_t begin = 0; begin < block.threads.size(); begin += kWarp) {
    const std::size_t end = std::min(block.threads.size(), begin + kWarp);
    bool all = true;
    for (std::size_t t = begin; t < end; ++t) all = all && block.threads[t].state == State::at_warp;
    for (std::size_t t = begin; all && t < end; ++t) block.threads[t].state = State::ready;
    released = released || all;
  }
  if (released) return true;
  std::fprintf(stderr, "kernel %s: some threads of a block wait at a barrier that others do not reach\n", running);
  std::abort();
}

void run_block() {
  block.next = 0;
  for (Thread& thread : block.threads) thread.state = State::new_thread;
  while (block.next < block.order.size()) {
    Thread& thread = block.threads[block.order[block.next++]];
    thread.fiber = idle_fiber();
    take_up(thread);
  }
  while (release()) {
    for (const std::size_t t : block.order)
      if (block.threads[t].state == State::ready) take_up(block.threads[t]);
  }
}

std::vector<std::size_t> shuffled(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (draw(2) == 0) std::reverse(order.begin(), order.end());
  if (count > 1) std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(draw(count)), order.end());
  return order;
}

}  // namespace

const char* running_kernel() {
  return running;
}

void run_kernel(const char* kernel, const Configuration& configuration, const std::function<void()>& thread) {
  note(kernel);
  running = kernel;
  gridDim = configuration.blocks;
  blockDim = configuration.threads;
  block.body = &thread;
  block.threads.clear();
  for (unsigned z = 0; z < blockDim.z; ++z)
    for (unsigned y = 0; y < blockDim.y; ++y)
      for (unsigned x = 0; x < blockDim.x; ++x) block.threads.push_back({{x, y, z}, State::new_thread, nullptr, 0});
  block.order = shuffled(block.threads.size());
  for (const std::size_t b : shuffled(std::size_t{gridDim.x} * gridDim.y * gridDim.z)) {
    blockIdx = {static_cast<unsigned>(b % gridDim.x), static_cast<unsigned>(b / gridDim.x % gridDim.y),
                static_cast<unsigned>(b / gridDim.x / gridDim.y)};
    run_block();
  }
  running = "";
}

void wait_for_block() {
  pause(State::at_block);
}

void wait_for_warp() {
  pause(State::at_warp);
}

unsigned own_lane() {
  return static_cast<unsigned>(block.current - block.threads.data()) % kWarp;
}

std::uint64_t exchange(std::uint64_t value, unsigned lane) {
  Thread& self = *block.current;
  self.put_down = value;
  wait_for_warp();
  const auto own = static_cast<std::size_t>(&self - block.threads.data());
  const std::uint64_t taken = block.threads[own - own % kWarp + lane].put_down;
  wait_for_warp();
  return taken;
}

}  // namespace emulated
