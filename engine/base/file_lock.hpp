#pragma once
// Advisory locks on files that one run at a time may write: flock(2), which belongs to the open file. The kernel drops
// it when the last process that has the file open ends, however it ends, so that a killed run leaves no lock behind.
#include <stdexcept>
#include <string>

namespace lockstep {

/// Processes of a run that was just killed may hold a file for a moment, until the disk has what they wrote.
constexpr double kLockPatience_s = 2;

/// Another run writes the file; work that failed, not bad input.
class FileInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Locks an open file; false where another has it locked for longer than `patience_s`. Closing the
/// descriptor, and all its copies, ends the lock. Throws std::runtime_error where the file cannot be locked at all,
/// with the reason.
bool try_lock(int file, double patience_s = 0);

/// The same for `path`, whose descriptor `file` is, but throws FileInUse: "PATH: another run writes it (process 123);
/// allowed: another file, or wait for its end". The process is named where the system tells (/proc/locks).
void lock_or_refuse(int file, const std::string& path, double patience_s = kLockPatience_s);

/// Throws FileInUse as above where the file is there and locked; touches nothing.
void refuse_if_locked(const std::string& path, double patience_s = kLockPatience_s);

/// For a file that is replaced as a whole each time it is written, so that a lock on it would go with the old one:
/// locks PATH.lock beside it (beside what a symbolic link leads to), which is made, and removed at the end. What a
/// killed run leaves of it is empty and not locked: the next run takes it over, and removes the parts of PATH that were
/// left.
class LockBeside {
 public:
  /// Throws FileInUse, which names `path`, and std::runtime_error where the lock file cannot be made.
  explicit LockBeside(const std::string& path, double patience_s = kLockPatience_s);
  ~LockBeside();
  LockBeside(const LockBeside&) = delete;
  LockBeside& operator=(const LockBeside&) = delete;

 private:
  std::string lock_path_;
  int file_ = -1;
};

}  // namespace lockstep
