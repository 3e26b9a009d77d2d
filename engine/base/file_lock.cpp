#include "engine/base/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/base/atomic_file.hpp"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kBetweenAttempts{50};

// Returns the process that holds the lock on the file, read from /proc/locks; 0 if the file is not listed.
//   12: FLOCK  ADVISORY  WRITE 4711 fd:01:1234567 0 EOF
// Device numbers are hexadecimal, the inode is decimal.
long holder_of(int file) {
  struct stat info;
  if (::fstat(file, &info) != 0) return 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, place;
    long process = 0;
    if (!(words >> number >> kind >> advisory >> access >> process >> place) || kind != "FLOCK") continue;
    unsigned device_major = 0, device_minor = 0;
    unsigned long inode = 0;
    char colon = 0;
    std::istringstream parts(place);
    if (!(parts >> std::hex >> device_major >> colon >> device_minor >> colon >> std::dec >> inode)) continue;
    if (inode == info.st_ino && device_major == major(info.st_dev) && device_minor == minor(info.st_dev))
      return process > 0 ? process : 0;
  }
  return 0;
}

FileInUse in_use(int file, const std::string& path) {
  const long process = holder_of(file);
  return FileInUse(path + ": another run writes it" +
                   (process > 0 ? " (process " + std::to_string(process) + ")" : "") +
                   "; allowed: another file, or wait for its end");
}

// Whether `path` still names the opened file. If an ended run removed it, a lock on the opened file would exclude
// nobody.
bool is_still_at(int file, const std::string& path) {
  struct stat mine, there;
  return ::fstat(file, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

}  // namespace

bool try_lock(int file, double patience_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw std::runtime_error(std::string("cannot be locked: ") + std::strerror(errno));
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return true;
}

void lock_or_refuse(int file, const std::string& path, double patience_s) {
  bool is_mine = false;
  try {
    is_mine = try_lock(file, patience_s);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  if (!is_mine) throw in_use(file, path);
}

void refuse_if_locked(const std::string& path, double patience_s) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // writable: an exclusive lock over NFS needs it
  if (file < 0) return;
  try {
    lock_or_refuse(file, path, patience_s);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
}

LockBeside::LockBeside(const std::string& path, double patience_s) : lock_path_(end_of_links(path) + ".lock") {
  while (true) {
    file_ = ::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) throw std::runtime_error(lock_path_ + ": cannot be written: " + std::strerror(errno));
    try {
      lock_or_refuse(file_, path, patience_s);
    } catch (...) {
      ::close(file_);
      throw;
    }
    if (is_still_at(file_, lock_path_)) break;
    ::close(file_);
  }
  remove_leftover_files(path);
}

LockBeside::~LockBeside() {
  ::unlink(lock_path_.c_str());  // still locked, so no other run can hold it
  ::close(file_);
}

}  // namespace lockstep
