#pragma once
// Runs functions that can wait in the middle, without a thread or a simulator. Each has a stack of its own. One runs at
// a time, from resume() until it waits. All stacks are one mapping, and only used pages of it take memory. So memory
// alone limits the number of functions.
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class Fibers {
 public:
  /// Makes room for `most` functions. Throws std::runtime_error if their stacks cannot be allocated.
  explicit Fibers(int most);
  /// Ends functions that still wait by an exception from wait().
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Adds fiber 0, 1, 2, ...; it starts when it is first resumed. It must let no exception escape except that of
  /// wait().
  int add(std::function<void()> body);
  /// Runs the fiber until it waits or ends. Do not call it from within a fiber.
  void resume(int fiber);
  /// Called from within a fiber: returns control to the caller of resume().
  void wait();
  int current() const { return current_; }

 private:
  struct Left {};  // thrown to leave a function
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
