#include "engine/base/file_lock.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// A process that runs `hold` and keeps its locks until it is killed.
class Holder {
 public:
  template <class Hold>
  explicit Holder(const Hold& hold) {
    int tell[2];
    REQUIRE(pipe(tell) == 0);
    child_ = fork();
    if (child_ == 0) {
      [[maybe_unused]] const auto held = hold();
      if (write(tell[1], "x", 1) != 1) _exit(1);
      while (true) pause();
    }
    close(tell[1]);
    char byte;
    REQUIRE(read(tell[0], &byte, 1) == 1);
    close(tell[0]);
  }
  ~Holder() { end(); }
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  pid_t process() const { return child_; }

 private:
  pid_t child_ = 0;
};

int opened(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

// The system may not know the process: on some file systems its list of locks has another device number.
bool says_who(const std::string& message, const std::string& path, pid_t process) {
  const std::string begin = path + ": another run writes it", end = "; allowed: another file, or wait for its end";
  return message == begin + " (process " + std::to_string(process) + ")" + end || message == begin + end;
}

std::string refusal(const std::string& path) {
  try {
    refuse_if_locked(path, 0);
  } catch (const FileInUse& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a file is locked by one process at a time, and free once that was killed") {
  TemporaryFolder folder;
  const std::string path = folder.write("log", "content");
  CHECK(refusal(path).empty());
  Holder holder([&] {
    const int file = opened(path);
    return try_lock(file) ? file : throw std::logic_error("not locked");
  });
  const int mine = opened(path);
  CHECK_FALSE(try_lock(mine));
  CHECK(says_who(refusal(path), path, holder.process()));
  holder.end();
  CHECK(try_lock(mine));
  CHECK(says_who(refusal(path), path, getpid()));
  close(mine);
  CHECK(refusal(path).empty());
  CHECK(std::ifstream(path).get() == 'c');
}

TEST_CASE("a file that is not there is not in use, and is not made") {
  TemporaryFolder folder;
  CHECK_NOTHROW(refuse_if_locked(folder.path("none")));
  CHECK(folder.files() == 0);
}

TEST_CASE("a lock beside a file holds while that is replaced, leaves nothing, and survives no kill") {
  TemporaryFolder folder;
  const std::string path = folder.path("checkpoint");
  {
    const LockBeside lock(path);
    folder.write("checkpoint.new", "second");
    std::filesystem::rename(folder.path("checkpoint.new"), path);
    CHECK_THROWS_AS(LockBeside(path, 0), FileInUse);
    CHECK(folder.files() == 2);
  }
  CHECK(folder.files() == 1);
  Holder holder([&] { return new LockBeside(path); });
  CHECK_THROWS_WITH(LockBeside(path, 0), Contains(path + ": another run writes it"));
  holder.end();
  CHECK(std::filesystem::exists(path + ".lock"));  // empty, and nobody's
  CHECK_NOTHROW(LockBeside(path));
  CHECK(folder.files() == 1);
  CHECK_THROWS_WITH(LockBeside("/nonexistent/checkpoint"), Contains("/nonexistent/checkpoint.lock: cannot be written"));
}

TEST_CASE("a lock beside a file is the same by all its names, and clears what killed writers left") {
  TemporaryFolder folder;
  const std::string path = folder.write("checkpoint", "old"), link = folder.path("link");
  REQUIRE(symlink("checkpoint", link.c_str()) == 0);
  Holder writer([] { return 0; });
  const std::string part = folder.write("checkpoint.part" + std::to_string(writer.process()) + "-0", "half");
  const std::string other = folder.write("other.part" + std::to_string(writer.process()) + "-0", "half");
  { const LockBeside lock(path); }
  CHECK(std::filesystem::exists(part));  // because its writer still runs
  writer.end();
  {
    const LockBeside lock(link);
    CHECK_THROWS_AS(LockBeside(path, 0), FileInUse);
    CHECK_FALSE(std::filesystem::exists(part));
  }
  CHECK(std::filesystem::exists(other));
  CHECK(folder.files() == 3);
}

TEST_CASE("processes that take turns at a lock beside a file never have it together") {
  // While each holds the lock, it makes a file that must not exist yet, and removes it. If the lock is in use, it tries
  // again. The lock file appears and disappears all the time.
  TemporaryFolder folder;
  const std::string path = folder.path("state"), mark = folder.path("mark");
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = fork();
    if (child == 0) {
      for (int turn = 0; turn < 50;) {
        try {
          const LockBeside lock(path, 0);
          const int file = open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
          if (file < 0) _exit(1);
          close(file);
          unlink(mark.c_str());
          ++turn;
        } catch (const FileInUse&) {
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(folder.files() == 0);
}
