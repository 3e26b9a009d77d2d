#pragma once
// Writes an output that is too large for memory; it appears as a whole or not at all, as in atomic_file.hpp.
#include <string>
#include <string_view>

namespace lockstep {

/// A file that is written piece by piece. Throws as write_file_atomically() does.
class AtomicWriter {
 public:
  explicit AtomicWriter(const std::string& path);
  /// Unless finish() was called, leaves the target unchanged and removes the temporary file.
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;
  /// Appends. A forked child may write too, while this process waits for it.
  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, part_;  ///< the path given, the file it replaces, the temporary file
  int file_ = -1;
};

}  // namespace lockstep
