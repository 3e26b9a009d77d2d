// Work in child processes. Results come in order, and the number of children is limited. Every kind of failure of a
// child becomes an error of the parent, after the others have ended. No child outlives its parent.
#include "engine/base/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <stdexcept>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"

using namespace lockstep;

namespace {

// Counters in memory that the parent and its children share.
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
  const std::vector<std::string> results = in_processes(6, 6, [](std::size_t i) {
    sleep_ms(static_cast<int>(6 - i) * 20);
    return "result " + std::to_string(i);
  });
  CHECK(results == std::vector<std::string>{"result 0", "result 1", "result 2", "result 3", "result 4", "result 5"});
}

TEST_CASE("more jobs than work, none at all, and empty results are fine") {
  const auto name = [](std::size_t i) { return std::to_string(i); };
  CHECK(in_processes(2, 50, name) == std::vector<std::string>{"0", "1"});
  CHECK(in_processes(2, 0, name) == std::vector<std::string>{"0", "1"});
  CHECK(in_processes(0, 4, name).empty());
  CHECK(in_processes(2, 1, [](std::size_t) { return std::string(); }) == std::vector<std::string>{"", ""});
}

TEST_CASE("shared processes are as many as jobs, give results in order, and fail as one") {
  const std::vector<std::string> results =
      in_shared_processes(7, 3, [](std::size_t i) { return std::to_string(i) + " " + std::to_string(getpid()); });
  REQUIRE(results.size() == 7);
  std::set<std::string> processes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].rfind(std::to_string(i) + " ", 0) == 0);
    processes.insert(results[i].substr(results[i].find(' ')));
  }
  CHECK(processes.size() == 3);
  const auto name = [](std::size_t i) { return std::to_string(i); };
  CHECK(in_shared_processes(0, 4, name).empty());
  CHECK(in_shared_processes(2, 50, name) == std::vector<std::string>{"0", "1"});
  const auto dies = [](std::size_t i) {
    if (i == 3) raise(SIGKILL);
    return std::string();
  };
  CHECK_THROWS_WITH(in_shared_processes(5, 2, dies), Contains("signal 9"));
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
        "a child process ended by an unknown exception");
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
        }) == "a child process was ended by signal 9");
  CHECK(error_of(1, 1, [](std::size_t) -> std::string { _exit(7); }) == "a child process ended with status 7");
  CHECK(error_of(1, 1, [](std::size_t) -> std::string { _exit(0); }) == "a child process ended without a result");
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

TEST_CASE("messages of any length arrive whole, in order, and as they are sent") {
  ProcessPool pool(1);
  const std::string large(300'000, 'x');  // more than a pipe holds
  CHECK(pool.start([&](const ToParent& parent) {
    for (const std::string& message : {std::string(), std::string("\n\0e", 3), large}) parent.send(message);
    throw std::runtime_error("then it failed");
  }) == 0);
  CHECK(pool.free() == 0);
  std::vector<std::string> messages;
  for (bool has_ended = false; !has_ended;)
    for (const ProcessEvent& event : pool.wait(-1)) {
      has_ended = event.is_end;
      messages.push_back(event.text);
    }
  CHECK(messages == std::vector<std::string>{"", std::string("\n\0e", 3), large, "then it failed"});
  CHECK(pool.free() == 1);
  CHECK(pool.wait(-1).empty());
}

TEST_CASE("what a child had sent before it was killed is kept, and a message cut off is not") {
  ProcessPool pool(1);
  pool.start([](const ToParent& parent) {
    parent.send("whole");
    std::thread([&] { parent.send(std::string(std::size_t{1} << 28, 'x')); }).detach();
    sleep_ms(30);
    raise(SIGKILL);
  });
  sleep_ms(100);
  std::vector<std::string> texts;
  while (pool.running() > 0)
    for (const ProcessEvent& event : pool.wait(1000)) texts.push_back(event.text);
  CHECK(texts == std::vector<std::string>{"whole", "a child process was ended by signal 9"});
}

TEST_CASE("waiting ends when asked to") {
  ProcessPool pool(1);
  pool.start([](const ToParent&) { sleep_ms(60'000); });
  CHECK(pool.wait(10).empty());
  CHECK(pool.running() == 1);
}

namespace {

// A file whose other end tells when all processes that hold it have ended.
class Life {
 public:
  Life() {
    if (pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() {
    let_go();
    close(ends_[0]);
  }
  void let_go() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  bool has_ended_within(int milliseconds) {
    let_go();
    pollfd end{ends_[0], POLLIN, 0};
    return poll(&end, 1, milliseconds) == 1 && (end.revents & POLLHUP) != 0;
  }

 private:
  int ends_[2];
};

// Starts a process with children and grandchildren. Each counts itself in `started` and would sleep for a minute.
pid_t start_family(const SharedMemory& shared) {
  const pid_t parent = fork();
  if (parent != 0) return parent;
  in_processes(2, 2, [&](std::size_t) {
    ++shared->started;
    in_processes(1, 1, [&](std::size_t) {
      ++shared->started;
      sleep_ms(60'000);
      return std::string();
    });
    return std::string();
  });
  _exit(0);
}

}  // namespace

TEST_CASE("a parent that is killed leaves no child computing, nor a child's child") {
  const SharedMemory shared;
  Life life;
  const pid_t parent = start_family(shared);
  while (shared->started < 4) sleep_ms(1);
  CHECK_FALSE(life.has_ended_within(50));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  CHECK(life.has_ended_within(5000));
}

TEST_CASE("a pool that is left kills what runs") {
  Life life;
  {
    ProcessPool pool(2);
    for (int i = 0; i < 2; ++i) pool.start([](const ToParent&) { sleep_ms(60'000); });
  }
  CHECK(life.has_ended_within(5000));
}

TEST_CASE("a child holds no file of its siblings") {
  const auto open_files = [](std::size_t i) {
    sleep_ms(i < 5 ? 200 : 0);  // so that all run at the same time
    std::string names;
    for (int fd = 0; fd < 256; ++fd)
      if (fcntl(fd, F_GETFD) >= 0) names += " " + std::to_string(fd);
    return std::to_string(std::count(names.begin(), names.end(), ' '));
  };
  const std::vector<std::string> counts = in_processes(6, 6, open_files);
  CHECK(counts == std::vector<std::string>(6, counts.front()));
}

TEST_CASE("signals that interrupt a parent's calls lose nothing") {
  struct sigaction on_alarm {};
  on_alarm.sa_handler = [](int) {};
  struct sigaction before {};
  sigaction(SIGALRM, &on_alarm, &before);
  const itimerval every_ms{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &every_ms, nullptr);
  const std::vector<std::string> results = in_processes(6, 2, [](std::size_t i) {
    sleep_ms(20);
    return std::string(200'000, static_cast<char>('a' + i));
  });
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  for (std::size_t i = 0; i < results.size(); ++i)
    CHECK(results[i] == std::string(200'000, static_cast<char>('a' + i)));
}

TEST_CASE("a child becomes another program, whose words go to the file given and whose end is its own") {
  const TemporaryFolder folder;
  const auto said = [&] {
    std::string text, why;
    return try_read_file(folder.path("out"), 1000, text, why) ? text : why;
  };
  const auto end_of = [&](const std::string& program, const std::string& script) {
    const int out = open(folder.path("out").c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0644);
    ProcessPool pool(1);
    pool.start([&](const ToParent& parent) { parent.become(program, {"-c", script}, out); });
    close(out);
    std::vector<ProcessEvent> events;
    while (pool.running() > 0)
      for (const ProcessEvent& event : pool.wait(-1)) events.push_back(event);
    REQUIRE(events.size() == 1);
    return events.front().text;
  };
  CHECK(end_of("/bin/sh", "echo said; echo warned >&2; cat; sleep 0.1") == "");
  CHECK(said() == "said\nwarned\n");
  CHECK(end_of("/bin/sh", "exit 3") == "a child process ended with status 3");
  CHECK(end_of("/bin/sh", "kill -9 $$") == "a child process was ended by signal 9");
  CHECK(end_of("/no/program", "") == "a child process ended with status 127");
  CHECK(said() == "/no/program: No such file or directory\n");
}
