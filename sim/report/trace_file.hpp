#pragma once
// Writes a trace to a file while the point's process makes its events (sim/replay/trace.hpp), so that no process holds
// the whole trace.
#include <string>

#include "engine/base/atomic_writer.hpp"
#include "sim/replay/trace.hpp"

namespace lockstep::sim::report {

class TraceFile {
 public:
  /// Throws as AtomicWriter does.
  explicit TraceFile(const std::string& path);
  /// Returns the sink that writes the events, in this process or in one that was forked from it.
  TraceSink sink();
  void finish();

 private:
  AtomicWriter file_;
};

}  // namespace lockstep::sim::report
