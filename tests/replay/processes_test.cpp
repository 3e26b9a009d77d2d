// Work in processes of its own: results in order, a limit on how many run, and every way a child can fail is an error
// of the parent, after the others have ended.
#include "sim/point/processes.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "tests/catch.hpp"
#include "tests/fork.hpp"

using lockstep::sim::in_processes;

namespace {

// Counters that children and parent see alike.
struct Shared {
  std::atomic<int> running{0}, most{0}, started{0}, ended{0};
};

class SharedMemory {
 public:
  SharedMemory() {
    memory_ = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no shared memory");
    new (memory_) Shared;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(memory_, sizeof(Shared)); }
  Shared* operator->() const { return static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::string error_of(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work) {
  try {
    in_processes(count, jobs, work);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("results come in the order asked for, whichever child ends first") {
  std::vector<std::size_t> progress;
  const std::vector<std::string> results = in_processes(
      6, 6,
      [](std::size_t i) {
        sleep_ms(static_cast<int>(6 - i) * 20);
        return "result " + std::to_string(i);
      },
      [&](std::size_t done) { progress.push_back(done); });
  CHECK(results == std::vector<std::string>{"result 0", "result 1", "result 2", "result 3", "result 4", "result 5"});
  CHECK(progress == std::vector<std::size_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("more jobs than work, none at all, and empty results are fine") {
  const auto name = [](std::size_t i) { return std::to_string(i); };
  CHECK(in_processes(2, 50, name) == std::vector<std::string>{"0", "1"});
  CHECK(in_processes(2, 0, name) == std::vector<std::string>{"0", "1"});
  CHECK(in_processes(0, 4, name).empty());
  CHECK(in_processes(2, 1, [](std::size_t) { return std::string(); }) == std::vector<std::string>{"", ""});
}

TEST_CASE("no more children run at a time than asked for, and that many do") {
  const SharedMemory shared;
  in_processes(8, 3, [&](std::size_t) {
    const int now = ++shared->running;
    int most = shared->most;
    while (now > most && !shared->most.compare_exchange_weak(most, now)) {
    }
    sleep_ms(200);
    --shared->running;
    return std::string();
  });
  CHECK(shared->most == 3);
}

TEST_CASE("a child works in a process of its own") {
  int touched = 0;
  const std::vector<std::string> results = in_processes(2, 2, [&](std::size_t) {
    ++touched;
    return std::to_string(getpid());
  });
  CHECK(touched == 0);
  CHECK(results[0] != results[1]);
  CHECK(results[0] != std::to_string(getpid()));
}

TEST_CASE("results of 10 MB from several children arrive whole") {
  const std::size_t size = 10'000'000;
  const std::vector<std::string> results = in_processes(4, 3, [&](std::size_t i) {
    std::string text(size, static_cast<char>('a' + i));
    text[size / 2] = '\0';
    return text;
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].size() == size);
    CHECK(std::count(results[i].begin(), results[i].end(), static_cast<char>('a' + i)) == 9'999'999);
    CHECK(results[i][size / 2] == '\0');
  }
}

TEST_CASE("what a child throws is thrown here with its message") {
  CHECK(error_of(3, 1, [](std::size_t i) {
          if (i == 1) throw std::invalid_argument("the second one is bad");
          return std::string("fine");
        }) == "the second one is bad");
  CHECK(error_of(1, 1, [](std::size_t) -> std::string { throw 42; }) ==
        "a simulation process ended by an unknown exception");
}

TEST_CASE("after a failure the children running end, and no other is started") {
  const SharedMemory shared;
  CHECK(error_of(20, 2, [&](std::size_t i) {
          ++shared->started;
          if (i == 0) throw std::runtime_error("failed");
          sleep_ms(150);
          ++shared->ended;
          return std::string();
        }) == "failed");
  CHECK(shared->started == 2);
  CHECK(shared->ended == 1);
}

TEST_CASE("a child killed by a signal, or that just exits, is an error that says so") {
  CHECK(error_of(2, 2, [](std::size_t) {
          raise(SIGKILL);
          return std::string();
        }) == "a simulation process was ended by signal 9");
  CHECK(error_of(1, 1, [](std::size_t) -> std::string { _exit(7); }) ==
        "a simulation process ended with status 7 and no result");
  CHECK(error_of(1, 1, [](std::size_t) -> std::string { _exit(0); }) ==
        "a simulation process ended with status 0 and no result");
}

TEST_CASE("when no more children can be started, those running end before the error") {
  const SharedMemory shared;
  const std::vector<double> is_as_told = lockstep::tests::in_child([&] {
    const int next_file = dup(0);
    close(next_file);
    const rlim_t files = static_cast<rlim_t>(next_file) + 6;  // enough for some pipes, not for 20
    const rlimit few{files, files};
    setrlimit(RLIMIT_NOFILE, &few);
    const std::string error = error_of(20, 20, [&](std::size_t) {
      ++shared->started;
      sleep_ms(100);
      ++shared->ended;
      return std::string();
    });
    return std::vector<double>{error == "cannot make a pipe: Too many open files" ? 1.0 : 0.0};
  });
  CHECK(is_as_told == std::vector<double>{1});
  CHECK(shared->started > 0);
  CHECK(shared->started < 20);
  CHECK(shared->ended == shared->started);
}
