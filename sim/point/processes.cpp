#include "sim/point/processes.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace lockstep::sim {
namespace {

struct Child {
  pid_t pid;
  int fd;
  std::size_t index;
  std::string output;
};

// The first byte of a child's output says whether the rest is its result or its error.
void run_child(int fd, std::size_t index, const std::function<std::string(std::size_t)>& work) {
  try {
    write_all(fd, "+" + work(index));
  } catch (const std::exception& error) {
    write_all(fd, std::string("-") + error.what());
  } catch (...) {
    write_all(fd, "-a simulation process ended by an unknown exception");
  }
}

Child start_child(std::size_t index, const std::function<std::string(std::size_t)>& work) {
  const ForkedProcess process = start_process([&](int fd) { run_child(fd, index, work); });
  return {process.pid, process.fd, index, {}};
}

// Reads what is there; true when the child has closed its end.
bool drain(Child& child) {
  char buffer[1 << 16];
  const ssize_t n = read(child.fd, buffer, sizeof buffer);
  if (n > 0) child.output.append(buffer, static_cast<std::size_t>(n));
  return n == 0 || (n < 0 && errno != EINTR);
}

// The child's result, or an error that says what became of it.
std::string reap(const Child& child, std::string& error) {
  close(child.fd);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    error = "a simulation process was ended by signal " + std::to_string(WTERMSIG(status));
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || child.output.empty()) {
    error = "a simulation process ended with status " + std::to_string(WEXITSTATUS(status)) + " and no result";
  } else if (child.output[0] == '-') {
    error = child.output.substr(1);
  } else {
    return child.output.substr(1);
  }
  return {};
}

}  // namespace

ForkedProcess start_process(const std::function<void(int fd)>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (pid == 0) {
    close(ends[0]);
    body(ends[1]);
    // The parent's buffers and SimGrid's engine are not this child's to tear down.
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(3);
    done += static_cast<std::size_t>(n);
  }
}

std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& progress) {
  std::vector<std::string> results(count);
  std::vector<Child> running;
  std::string first_error;
  std::size_t next = 0, done = 0;
  while (next < count || !running.empty()) {
    while (first_error.empty() && next < count && running.size() < static_cast<std::size_t>(std::max(1, jobs))) {
      try {
        running.push_back(start_child(next++, work));
      } catch (const std::exception& error) {
        first_error = error.what();
      }
    }
    if (running.empty()) break;
    std::vector<pollfd> waiting;
    for (const Child& child : running) waiting.push_back({child.fd, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || !drain(running[i])) continue;
      std::string error;
      results[running[i].index] = reap(running[i], error);
      if (first_error.empty()) first_error = error;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (progress) progress(++done);
    }
  }
  if (!first_error.empty()) throw std::runtime_error(first_error);
  return results;
}

}  // namespace lockstep::sim
