// A reader always sees the old file or the new one, and never a part of one, even after failures.
#include "engine/base/atomic_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

std::string write_error(const std::string& path) {
  try {
    write_file_atomically(path, "new");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::string why_not_writable(const std::string& path) {
  std::string why = "unset";
  const bool writable = output_path_is_writable(path, why);
  CHECK(writable == why.empty());
  return why;
}

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

/// Runs `action` in a process of its own and returns its exit code.
template <typename Action>
int in_child(Action action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Tries to write 1 MiB while files may not exceed 64 KiB. Returns 0 if that fails as it should.
int write_beyond_limit(const std::string& path) {
  ::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG, as with ENOSPC on a full disk
  const rlimit limit = {65536, 65536};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  try {
    write_file_atomically(path, std::string(1 << 20, 'x'));
  } catch (const std::runtime_error& error) {
    return error.what() == path + ": cannot write: File too large" ? 0 : 1;
  }
  return 2;
}

/// Writes 1 MiB and is killed by the kernel after 64 KiB. Returns the id of the killed process.
pid_t killed_while_writing(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit size = {65536, 65536}, no_core = {0, 0};
    ::signal(SIGXFSZ, SIG_DFL);
    if (::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::setrlimit(RLIMIT_FSIZE, &size) != 0) ::_exit(3);
    write_file_atomically(path, std::string(1 << 20, 'x'));
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXFSZ);
  return child;
}

TEST_CASE("A written file holds exactly the bytes and nothing stays beside it") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  for (const std::string& content :
       {std::string("one"), std::string("\0\r\n\xff", 4), std::string(), std::string(3000000, 'y')}) {
    write_file_atomically(path, content);
    CHECK(read_file(path) == content);
    CHECK(folder.files() == 1);
  }
}

TEST_CASE("A new file follows the umask and an old one keeps its mode") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_file_atomically(folder.path("new"), "x");
  ::umask(before);
  CHECK(mode_of(folder.path("new")) == 0640);
  const std::string old = folder.write("old", "x");
  REQUIRE(::chmod(old.c_str(), 0600) == 0);
  write_file_atomically(old, "y");
  CHECK(mode_of(old) == 0600);
}

TEST_CASE("A full disk leaves the old file and no other") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  CHECK(in_child([&] { return write_beyond_limit(path); }) == 0);
  CHECK(read_file(path) == "old");
  CHECK(folder.files() == 1);
  CHECK(in_child([&] { return write_beyond_limit(folder.path("b")); }) == 0);
  CHECK(folder.files() == 1);
}

TEST_CASE("A left-over temporary file is no obstacle and is not touched") {
  const TemporaryFolder folder;
  const std::string stale = folder.write("a.part" + std::to_string(::getpid()) + "-0", "stale");
  write_file_atomically(folder.path("a"), "new");
  CHECK(read_file(folder.path("a")) == "new");
  CHECK(read_file(stale) == "stale");
}

TEST_CASE("What a writer that was killed has left is removed, and no other file") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  const std::string gone = std::to_string(killed_while_writing(path)), own = std::to_string(::getpid());
  const std::string part = path + ".part" + gone + "-0";
  CHECK(read_file(path) == "old");
  REQUIRE(read_file(part).size() == 65536);
  folder.write("a.part" + gone + "-12", "");
  folder.write("a.part" + own + "-0", "");  // of an earlier process: this one has not begun to write
  // Files of another name, of a live process (process 1 always lives), and with names that writers never use.
  const std::vector<std::string> others = {"b.part" + gone + "-0",
                                           "aa.part" + gone + "-0",
                                           "a.part1-0",
                                           "a.part" + gone,
                                           "a.part" + gone + "-",
                                           "a.part-0",
                                           "a.part" + gone + "-0x",
                                           "a.part" + gone + "-0.part" + gone + "-0",
                                           "a.partial"};
  for (const std::string& other : others) folder.write(other, "other");
  CHECK(remove_leftover_files(path) == 3);
  CHECK(folder.files() == 1 + others.size());
  for (const std::string& other : others) CHECK(read_file(folder.path(other)) == "other");
  CHECK(read_file(path) == "old");
  CHECK(remove_leftover_files(path) == 0);
  CHECK(remove_leftover_files(folder.path("none/a")) == 0);
}

TEST_CASE("A writer that has ended and that nobody has waited for yet is gone, one that sleeps is not") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  folder.write("a.part" + std::to_string(child) + "-0", "half");
  CHECK(remove_leftover_files(folder.path("a")) == 0);
  ::kill(child, SIGKILL);
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(remove_leftover_files(folder.path("a")) == 1);
  CHECK(folder.files() == 0);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("Parts are removed where a link leads to, where they are written") {
  const TemporaryFolder folder;
  folder.write("far/a", "old");
  const std::string link = folder.path("link");
  REQUIRE(::symlink("far/a", link.c_str()) == 0);
  killed_while_writing(link);
  CHECK(remove_leftover_files(link) == 1);
  CHECK(end_of_links(link) == std::filesystem::canonical(folder.path("far/a")).string());
  CHECK(end_of_links(folder.path("new")) == folder.path("new"));
}

TEST_CASE("A path that cannot be written is named with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "old");
  const std::string none = folder.path("none/a");
  CHECK(write_error(none) == none + ": cannot write: No such file or directory");
  CHECK(write_error(folder.path("")) == folder.path("") + ": cannot write: Is a directory");
  CHECK(write_error(file + "/a") == file + "/a: cannot write: Not a directory");
  CHECK(write_error("/dev/full") == "/dev/full: cannot write: not a regular file");
  CHECK(write_error("/dev/null").empty());
  CHECK(write_error("") == ": cannot write: No such file or directory");
  CHECK(folder.files() == 1);
}

TEST_CASE("Whether a path can be written is known before") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "old");
  CHECK(why_not_writable(folder.path("new")) == "");
  CHECK(why_not_writable(file) == "");
  CHECK(why_not_writable("new-in-the-current-folder") == "");
  CHECK(why_not_writable(folder.path("none/a")) == "No such file or directory");
  CHECK(why_not_writable(folder.path("")) == "Is a directory");
  CHECK(why_not_writable(folder.path("new/")) == "Is a directory");
  CHECK(why_not_writable(file + "/a") == "Not a directory");
  CHECK(why_not_writable("") == "No such file or directory");
  CHECK(why_not_writable(folder.path(std::string("a\0b", 3))) == "Invalid argument");
  CHECK(folder.files() == 1);
}

TEST_CASE("A folder without write permission refuses") {
  if (::geteuid() == 0) {
    WARN("root may write everywhere: not tested");
    return;
  }
  const TemporaryFolder folder;
  const std::string path = folder.write("closed/a", "old");
  REQUIRE(::chmod(folder.path("closed").c_str(), 0500) == 0);
  CHECK(write_error(path) == path + ": cannot write: Permission denied");
  CHECK(why_not_writable(path) == "Permission denied");
  CHECK(read_file(path) == "old");
  ::chmod(folder.path("closed").c_str(), 0700);
}

TEST_CASE("A symbolic link is followed and stays") {
  const TemporaryFolder folder;
  const std::string target = folder.write("deep/target", "old");
  std::filesystem::create_symlink("deep/target", folder.path("link"));
  write_file_atomically(folder.path("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(read_file(target) == "new");
}

TEST_CASE("A symbolic link to a file that is not there yet is followed and stays") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("deep"));
  std::filesystem::create_symlink("second", folder.path("link"));
  std::filesystem::create_symlink("deep/target", folder.path("second"));
  write_file_atomically(folder.path("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(read_file(folder.path("deep/target")) == "new");
  std::filesystem::create_symlink("round", folder.path("round"));
  CHECK(why_not_writable(folder.path("round")) == "Too many levels of symbolic links");
  std::filesystem::create_symlink("nowhere/target", folder.path("lost"));
  CHECK(why_not_writable(folder.path("lost")) == "No such file or directory");
}

TEST_CASE("A read-only file is kept, whoever asks") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  REQUIRE(::chmod(path.c_str(), 0444) == 0);
  CHECK(why_not_writable(path) == "the file is read-only");
  CHECK(write_error(path) == path + ": cannot write: the file is read-only");
  CHECK(read_file(path) == "old");
}

TEST_CASE("A name to which a part's ending cannot be added is refused before the work") {
  const TemporaryFolder folder;
  CHECK(why_not_writable(folder.path(std::string(250, 'n'))) == "File name too long");
  CHECK(why_not_writable(folder.path(std::string(200, 'n'))).empty());
}

TEST_CASE("Reading names the path and the reason") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_file("none"), "none: cannot read: No such file or directory");
  CHECK_THROWS_WITH(read_file(folder.path("")), folder.path("") + ": cannot read: Is a directory");
}

TEST_CASE("Reading stops at the limit also where the file has no end") {
  std::string content;
  std::string why;
  CHECK_FALSE(try_read_file("/dev/zero", 1000, content, why));
  CHECK(why == "larger than 1000 bytes");
  const TemporaryFolder folder;
  CHECK(try_read_file(folder.write("a", "1234"), 4, content, why));
  CHECK(content == "1234");
}

}  // namespace
}  // namespace lockstep
