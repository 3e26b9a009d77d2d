#pragma once
// Work in processes of its own: what may live only once per process (SimGrid's engine), what may crash without taking
// the others along, and other programs.
//
// A child is forked, dies with the thread that started it, however that ends (Linux' PR_SET_PDEATHSIG, kill -9
// included), and holds no file of this header but its own end of the way to its parent: a sibling's end is seen at
// once.
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// The child's end of the way to its parent.
class ToParent {
 public:
  explicit ToParent(int fd) : fd_(fd) {}
  /// A message of any bytes and length; the parent gets it whole or not at all. Ends the process where nobody reads.
  void send(const std::string& message) const;
  /// Becomes another program, which reads nothing and writes both its streams to `output_fd`; its end is the child's.
  /// Ends with status 127, and why on `output_fd`, where it cannot.
  [[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments, int output_fd) const;

 private:
  friend class ProcessPool;
  void send(char kind, const std::string& text) const;
  int fd_;
};

struct ProcessEvent {
  int process = 0;      ///< as start() called it
  bool is_end = false;  ///< the process has ended, and sends no more
  /// A message; at the end why the process failed: what it threw, or the signal or exit status by which it ended. Empty
  /// where it ended with status 0.
  std::string text;
};

/// Up to `jobs` children at a time, each of which may send any number of messages. For one thread.
class ProcessPool {
 public:
  explicit ProcessPool(int jobs);
  /// Kills those that run.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  int jobs() const { return jobs_; }
  int running() const { return static_cast<int>(children_.size()); }
  int free() const { return jobs_ - running(); }
  /// Runs `body` in a child, which then ends without destructors and atexit handlers: the parent's buffers and engines
  /// are not its own to tear down. Returns the child's number: 0, 1, 2, ... Call it only where one is free. Throws
  /// std::runtime_error where no process can be had.
  int start(const std::function<void(const ToParent&)>& body);
  /// What has happened since; waits up to `timeout_ms` (-1: for as long as it takes) where nothing has. Nothing where
  /// no child runs, and maybe after a signal.
  std::vector<ProcessEvent> wait(int timeout_ms);

 private:
  struct Child {
    pid_t pid;
    int fd;
    std::string received;  ///< of a message that is not yet whole
    std::string error;     ///< what it threw
  };
  static bool drain(int process, Child& child, std::vector<ProcessEvent>& events);

  const int jobs_;
  int next_ = 0;
  std::map<int, Child> children_;
};

/// Runs `work(i)` for i in [0, count) in a child each, at most `jobs` at a time, and returns their texts in order. `what`
/// names them in the progress line, in the plural. A child that throws or dies makes this throw std::runtime_error with its
/// message, after the others running have ended; no other is started then.
std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::string& what = "processes");

/// The same for work that is short beside a fork: `jobs` children in all, of which child k does k, k + jobs, k + 2 jobs,
/// ... one after the other. One that throws or dies fails them all, as above.
std::vector<std::string> in_shared_processes(std::size_t count, int jobs,
                                             const std::function<std::string(std::size_t)>& work,
                                             const std::string& what = "pieces of work");

}  // namespace lockstep
