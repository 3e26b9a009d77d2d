#pragma once
// An output file as atomic_file.hpp has it, whole or not at all, for what is too large to be held.
#include <string>
#include <string_view>

namespace lockstep {

/// A file that is written piece by piece. Throws as write_file_atomically() does.
class AtomicWriter {
 public:
  explicit AtomicWriter(const std::string& path);
  /// Without finish() no file is touched, and the part is removed.
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;
  /// Behind what was written; also by a process that was forked from this one since, while this one waits for it.
  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, part_;  ///< what was asked for, what it replaces, what is written
  int file_ = -1;
};

}  // namespace lockstep
