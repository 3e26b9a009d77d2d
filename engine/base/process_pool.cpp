#include "engine/base/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>

#include "engine/base/progress_line.hpp"

namespace lockstep {
namespace {

// A message is sent as its kind, its length and its bytes.
constexpr char kMessage = 'm', kError = 'e';
constexpr std::size_t kHeader = 1 + sizeof(std::uint64_t);

// Ends of pipes that a child must close: its parent's ends for its siblings and for the parent's own parent. The mutex
// is held from making a pipe until the fork, so that children of other threads do not inherit a new end.
struct OpenEnds {
  std::mutex mutex;
  std::set<int> fds;
};
OpenEnds& open_ends() {
  static OpenEnds ends;
  return ends;
}

std::runtime_error no_process(const char* what) {
  return std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

void write_whole(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(3);
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

// The signal comes when the forking thread ends. If it ended before this call, none comes: hence the check.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string death_text(int status) {
  if (WIFSIGNALED(status)) return "a child process was ended by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "a child process ended with status " + std::to_string(WEXITSTATUS(status));
  return "";
}

}  // namespace

void ToParent::send(char kind, const std::string& text) const {
  const std::uint64_t size = text.size();
  std::string message(kHeader, kind);
  std::memcpy(message.data() + 1, &size, sizeof size);
  message += text;
  write_whole(fd_, message.data(), message.size());
}

void ToParent::send(const std::string& message) const {
  send(kMessage, message);
}

void ToParent::become(const std::string& program, const std::vector<std::string>& arguments, int output_fd) const {
  ::fcntl(fd_, F_SETFD, 0);  // clears FD_CLOEXEC: the pipe stays open as long as the program runs
  const int nowhere = ::open("/dev/null", O_RDONLY);
  ::dup2(nowhere, STDIN_FILENO);
  if (nowhere != STDIN_FILENO) ::close(nowhere);
  ::dup2(output_fd, STDOUT_FILENO);
  ::dup2(output_fd, STDERR_FILENO);
  std::vector<std::string> copies = arguments;
  copies.insert(copies.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  std::fprintf(stderr, "%s: %s\n", program.c_str(), std::strerror(errno));
  ::_exit(127);
}

ProcessPool::ProcessPool(int jobs) : jobs_(std::max(1, jobs)) {}

ProcessPool::~ProcessPool() {
  for (const auto& entry : children_) ::kill(entry.second.pid, SIGKILL);
  const std::lock_guard<std::mutex> lock(open_ends().mutex);
  for (const auto& entry : children_) {
    wait_for(entry.second.pid);
    ::close(entry.second.fd);
    open_ends().fds.erase(entry.second.fd);
  }
}

int ProcessPool::start(const std::function<void(const ToParent&)>& body) {
  std::fflush(nullptr);  // else the child would print the parent's buffered output again
  std::unique_lock<std::mutex> lock(open_ends().mutex);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw no_process("cannot make a pipe");
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const std::runtime_error error = no_process("cannot start a process");
    ::close(ends[0]);
    ::close(ends[1]);
    throw error;
  }
  if (pid == 0) {
    die_with(parent);
    ::close(ends[0]);
    for (int fd : open_ends().fds) ::close(fd);
    open_ends().fds = {ends[1]};
    lock.unlock();
    show_progress_on(nullptr);
    const ToParent to_parent(ends[1]);
    try {
      body(to_parent);
    } catch (const std::exception& error) {
      to_parent.send(kError, error.what());
    } catch (...) {
      to_parent.send(kError, "a child process ended by an unknown exception");
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  open_ends().fds.insert(ends[0]);
  children_[next_] = {pid, ends[0], {}, {}};
  return next_++;
}

// Reads the available data and adds an event per complete message. Returns true if the child has closed its end.
bool ProcessPool::drain(int process, Child& child, std::vector<ProcessEvent>& events) {
  char buffer[1 << 16];
  const ssize_t n = ::read(child.fd, buffer, sizeof buffer);
  if (n <= 0) return n == 0 || errno != EINTR;
  std::string& received = child.received;
  received.append(buffer, static_cast<std::size_t>(n));
  std::size_t begin = 0;
  while (received.size() - begin >= kHeader) {
    std::uint64_t size = 0;
    std::memcpy(&size, received.data() + begin + 1, sizeof size);
    if (received.size() - begin - kHeader < size) break;
    const std::string text = received.substr(begin + kHeader, size);
    if (received[begin] == kError)
      child.error = text;
    else
      events.push_back({process, false, text});
    begin += kHeader + size;
  }
  received.erase(0, begin);
  return false;
}

std::vector<ProcessEvent> ProcessPool::wait(int timeout_ms) {
  std::vector<ProcessEvent> events;
  if (children_.empty()) return events;
  std::vector<pollfd> ends;
  std::vector<int> processes;
  for (const auto& [process, child] : children_) {
    ends.push_back({child.fd, POLLIN, 0});
    processes.push_back(process);
  }
  if (::poll(ends.data(), ends.size(), timeout_ms) <= 0) return events;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].revents == 0) continue;
    const auto entry = children_.find(processes[i]);
    Child& child = entry->second;
    if (!drain(processes[i], child, events)) continue;
    const std::string death = death_text(wait_for(child.pid));
    events.push_back({processes[i], true, child.error.empty() ? death : child.error});
    const std::lock_guard<std::mutex> lock(open_ends().mutex);
    ::close(child.fd);
    open_ends().fds.erase(child.fd);
    children_.erase(entry);
  }
  return events;
}

std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::string& what) {
  ProcessPool pool(jobs);
  ProgressLine progress(what, count);
  std::vector<std::string> results(count);
  std::vector<bool> has_result(count, false);
  std::string first_error;
  std::size_t next = 0;
  const auto start_what_can = [&] {
    try {
      for (; first_error.empty() && next < count && pool.free() > 0; ++next)
        pool.start([&work, i = next](const ToParent& parent) { parent.send(work(i)); });
    } catch (const std::exception& error) {
      first_error = error.what();
    }
  };
  for (start_what_can(); pool.running() > 0; start_what_can()) {
    for (const ProcessEvent& event : pool.wait(-1)) {
      const std::size_t i = static_cast<std::size_t>(event.process);  // numbered by start
      if (!event.is_end) {
        results[i] = event.text;
        has_result[i] = true;
        continue;
      }
      std::string error = event.text;
      if (!has_result[i]) error = error.empty() ? "a child process ended without a result" : error;
      if (first_error.empty()) first_error = error;
      progress.advance();
    }
  }
  if (!first_error.empty()) throw std::runtime_error(first_error);
  return results;
}

std::vector<std::string> in_shared_processes(std::size_t count, int jobs,
                                             const std::function<std::string(std::size_t)>& work,
                                             const std::string& what) {
  ProcessPool pool(jobs);
  ProgressLine progress(what, count);
  const std::size_t children = std::min(count, static_cast<std::size_t>(pool.jobs()));
  std::vector<std::size_t> next;  // index of each child's next item
  for (std::size_t child = 0; child < children; ++child) {
    next.push_back(child);
    pool.start([&, child](const ToParent& parent) {
      for (std::size_t i = child; i < count; i += children) parent.send(work(i));
    });
  }
  std::vector<std::string> results(count);
  std::string first_error;
  while (pool.running() > 0) {
    for (const ProcessEvent& event : pool.wait(-1)) {
      std::size_t& i = next[static_cast<std::size_t>(event.process)];
      if (!event.is_end) {
        results[i] = event.text;
        i += children;
        progress.advance();
        continue;
      }
      std::string error = event.text;
      if (i < count && error.empty()) error = "a child process ended without a result";
      if (first_error.empty()) first_error = error;
    }
  }
  if (!first_error.empty()) throw std::runtime_error(first_error);
  return results;
}

}  // namespace lockstep
