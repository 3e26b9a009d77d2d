#pragma once
// Runs work in child processes: code that can exist only once per process (SimGrid's engine), code that may crash, and
// other programs.
//
// A forked child dies with the thread that started it, even after kill -9 (Linux: PR_SET_PDEATHSIG). It keeps no pipe
// of this header but its own to the parent, so that the end of a sibling is noticed at once.
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// The child's end of its pipe to the parent.
class ToParent {
 public:
  explicit ToParent(int fd) : fd_(fd) {}
  /// Sends a message of any bytes and length. The parent receives it whole or not at all. Ends the process if nobody
  /// reads.
  void send(const std::string& message) const;
  /// Replaces the child by another program (exec), without input, and with both output streams to `output_fd`. If that
  /// fails, writes the reason to `output_fd` and exits with status 127.
  [[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments, int output_fd) const;

 private:
  friend class ProcessPool;
  void send(char kind, const std::string& text) const;
  int fd_;
};

struct ProcessEvent {
  int process = 0;      ///< its number, as returned by start()
  bool is_end = false;  ///< the process has ended and sends no more
  /// A message. At the end: the reason of failure (the exception's text, the signal or the exit status); empty for
  /// status 0.
  std::string text;
};

/// Runs up to `jobs` child processes at a time. Each may send any number of messages. Use the pool from one thread.
class ProcessPool {
 public:
  explicit ProcessPool(int jobs);
  /// Kills the children that still run.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  int jobs() const { return jobs_; }
  int running() const { return static_cast<int>(children_.size()); }
  int free() const { return jobs_ - running(); }
  /// Runs `body` in a child, which then exits without destructors and atexit handlers, because buffers and engines
  /// belong to the parent. Returns the child's number: 0, 1, 2, ... Call it only if free() > 0. Throws
  /// std::runtime_error if the fork fails.
  int start(const std::function<void(const ToParent&)>& body);
  /// Returns the events since the last call. If there are none, waits up to `timeout_ms` (-1: without limit). Returns
  /// nothing if no child runs, and possibly after a signal.
  std::vector<ProcessEvent> wait(int timeout_ms);

 private:
  struct Child {
    pid_t pid;
    int fd;
    std::string received;  ///< the received part of an incomplete message
    std::string error;     ///< text of the exception that it threw
  };
  static bool drain(int process, Child& child, std::vector<ProcessEvent>& events);

  const int jobs_;
  int next_ = 0;
  std::map<int, Child> children_;
};

/// Runs `work(i)` for i in [0, count), each in its own child, at most `jobs` at a time, and returns the texts in order.
/// The progress line names them `what`, a plural. If a child throws or dies, starts no more, waits for the running
/// ones, and throws std::runtime_error with its message.
std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::string& what = "processes");

/// As in_processes(), for work that is short compared with a fork. Starts `jobs` children in all; child k does items k,
/// k + jobs, k + 2 jobs, ... in turn. If one throws or dies, all fail, as above.
std::vector<std::string> in_shared_processes(std::size_t count, int jobs,
                                             const std::function<std::string(std::size_t)>& work,
                                             const std::string& what = "pieces of work");

}  // namespace lockstep
