#pragma once
// Makes a prediction, and the trace file that it writes.
#include <string>
#include <vector>

#include "engine/base/atomic_file.hpp"
#include "sim/report/result.hpp"
#include "sim/report/trace_file.hpp"
#include "tests/base/temporary_folder.hpp"

namespace lockstep::tests {

struct Traced {
  sim::Report report;
  std::string text;
};

inline Traced traced(const sim::LoadedScenario& loaded, const std::vector<int>& gpus) {
  const TemporaryFolder folder;
  const std::string path = folder.path("trace.json");
  sim::TraceFile file(path);
  Traced result{sim::predict(loaded, 2, {gpus, file.sink()}), ""};
  file.finish();
  result.text = read_file(path);
  return result;
}

}  // namespace lockstep::tests
