#include "sim/report/trace_file.hpp"

namespace lockstep::sim::report {

TraceFile::TraceFile(const std::string& path) : file_(path) {
  file_.write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
}

TraceSink TraceFile::sink() {
  return [this](const std::string& piece) { file_.write(piece); };
}

void TraceFile::finish() {
  file_.write("\n]}\n");
  file_.finish();
}

}  // namespace lockstep::sim::report
