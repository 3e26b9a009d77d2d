#pragma once
// A trace as a file (sim/replay/trace.hpp has its events): written as the point's process makes them, so that neither it nor
// this one ever holds the whole.
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
