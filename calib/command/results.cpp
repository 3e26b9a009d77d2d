// Logs of whole trainings: published results and runs to a target, which are no profile.
#include <cstdio>
#include <filesystem>

#include "calib/command/commands.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/mlperf.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/outputs.hpp"

namespace lockstep::calib {

int import_results(const ImportRequest& request) {
  const std::string convergence = std::filesystem::path(request.output).replace_extension(".convergence.json").string();
  check_outputs({request.output, convergence}, request.files);
  MlperfOptions options{request.torch.model, request.target, request.nccl.ranks, request.results_source, Json()};
  if (!request.system.empty()) {
    const JsonDocument system = JsonDocument::load(request.system);
    if (!system.root().is_object()) system.root().fail("is no object", "allowed: a system's description of MLPerf");
    options.system = system.json();
  }
  std::vector<std::pair<std::string, std::string>> logs;
  for (const std::string& path : request.files) logs.emplace_back(log_text(path), path);
  const MlperfResults results = import_mlperf(logs, options);
  for (const std::string& line : results.said) std::fprintf(stderr, "calibrate: %s\n", line.c_str());
  write_file_atomically(request.output, results.records.dump(1) + "\n");
  std::printf("%s: %zu results of %zu runs, for simulate --predict\n", request.output.c_str(), results.records.size(),
              logs.size());
  if (results.convergence.is_null()) return 0;
  write_file_atomically(convergence, results.convergence.dump(1) + "\n");
  std::printf("%s: runs to %s, for simulate convergence\n", convergence.c_str(),
              results.convergence["targets"][0]["name"].get<std::string>().c_str());
  return 0;
}

}  // namespace lockstep::calib
