#pragma once
// Functions that can wait in their middle, without a thread or a simulator. Each runs on a stack of its own. One of
// them runs at a time, from when it is resumed to when it waits. All stacks are one mapping, of which only used pages
// take memory, so that there may be as many as memory holds.
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class Fibers {
 public:
  /// Up to `most` functions. Throws std::runtime_error where their stacks cannot be had.
  explicit Fibers(int most);
  /// Functions that have not ended are left by an exception from where they wait.
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Makes the next one, 0, 1, 2, ...; it begins when it is first resumed. It must let no exception out but that of
  /// wait().
  int add(std::function<void()> body);
  /// Runs the fiber until it waits or ends. Must not be called from within one.
  void resume(int fiber);
  /// Called from within a fiber: returns control to the caller of resume().
  void wait();
  int current() const { return current_; }

 private:
  struct Left {};  // is thrown to leave a function
  struct Fiber {
    std::function<void()> body;
    ucontext_t context;
    bool has_begun = false;
    bool has_ended = false;
  };
  static void enter(unsigned high, unsigned low);
  void run_current();
  void switch_to(Fiber& fiber, char* stack);

  const int most_;
  char* stacks_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t caller_;
  int current_ = -1;
  bool is_leaving_ = false;
  void* caller_shadow_ = nullptr;  // for AddressSanitizer
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace lockstep::sim::replay
