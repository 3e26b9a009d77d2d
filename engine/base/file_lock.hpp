#pragma once
// Advisory locks (flock) on files that only one run at a time may write. The kernel drops a lock when the last process
// that has the file open ends, for whatever reason. So a killed run leaves no lock behind.
#include <stdexcept>
#include <string>

namespace lockstep {

/// Processes of a run that was just killed may keep a file open briefly, until their data are on disk.
constexpr double kLockPatience_s = 2;

/// Another run is writing the file: a failure of the work, not bad input.
class FileInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Locks an open file. Returns false if another process still holds the lock after `patience_s`. The lock ends when the
/// descriptor and all its copies are closed. Throws std::runtime_error with the reason if the file cannot be locked at
/// all.
bool try_lock(int file, double patience_s = 0);

/// Locks `file`, a descriptor of `path`. Throws FileInUse if it is locked: "PATH: another run writes it (process 123);
/// allowed: another file, or wait for its end". The process is named if /proc/locks shows it.
void lock_or_refuse(int file, const std::string& path, double patience_s = kLockPatience_s);

/// Throws FileInUse as above if the file exists and is locked; changes nothing.
void refuse_if_locked(const std::string& path, double patience_s = kLockPatience_s);

/// A lock for a file that is replaced by each write, so that a lock on the file itself would be lost. Creates and locks
/// PATH.lock next to the file, and removes it at the end. If PATH is a symbolic link, PATH.lock is next to the link's
/// target. A killed run leaves an empty, unlocked PATH.lock. The next run locks it and removes temporary files of PATH
/// that were left.
class LockBeside {
 public:
  /// Throws FileInUse with `path`, or std::runtime_error if the lock file cannot be created.
  explicit LockBeside(const std::string& path, double patience_s = kLockPatience_s);
  ~LockBeside();
  LockBeside(const LockBeside&) = delete;
  LockBeside& operator=(const LockBeside&) = delete;

 private:
  std::string lock_path_;
  int file_ = -1;
};

}  // namespace lockstep
