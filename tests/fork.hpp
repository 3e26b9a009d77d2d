#pragma once
// Runs a piece of a test in a child process. SimGrid's engine is a singleton whose clock and settings cannot be taken
// back, so that every simulation needs a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::tests {

/// The child's side: sends 'v' + the values or 'e' + the message, and ends without running the parent's destructors.
[[noreturn]] inline void answer_and_exit(int fd, const std::function<std::vector<double>()>& body) {
  std::string answer;
  try {
    const std::vector<double> values = body();
    answer.assign(1, 'v');
    answer.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  } catch (const std::exception& error) {
    answer = std::string("e") + error.what();
  }
  std::size_t done = 0;
  while (done < answer.size()) {
    const ssize_t n = write(fd, answer.data() + done, answer.size() - done);
    if (n <= 0) _exit(3);
    done += static_cast<std::size_t>(n);
  }
  _exit(0);
}

inline std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = read(fd, buffer, sizeof buffer); n > 0; n = read(fd, buffer, sizeof buffer))
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

/// What `body` returns, run in a child. Throws std::runtime_error with the child's message when it throws there, and
/// with its exit status or signal when it ends in any other way.
inline std::vector<double> in_child(const std::function<std::vector<double>()>& body) {
  int fds[2];
  if (pipe(fds) != 0) throw std::runtime_error("in_child: no pipe");
  std::fflush(nullptr);  // else the child could print the parent's pending output again
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("in_child: cannot fork");
  if (child == 0) {
    close(fds[0]);
    answer_and_exit(fds[1], body);
  }
  close(fds[1]);
  const std::string answer = read_all(fds[0]);
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) throw std::runtime_error("child ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("child exited with " + std::to_string(WEXITSTATUS(status)));
  if (answer.empty()) throw std::runtime_error("child gave no answer");
  if (answer[0] == 'e') throw std::runtime_error(answer.substr(1));
  std::vector<double> values((answer.size() - 1) / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), answer.data() + 1, values.size() * sizeof(double));
  return values;
}

}  // namespace lockstep::tests
