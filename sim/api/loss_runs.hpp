#pragma once
// Runs to which `simulate loss --fit` fits a law: CSV tables, and logs of single trainings.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "calib/import/loss_log.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/study.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/loss/loss_points.hpp"

namespace lockstep::sim::api {

/// A file of runs with the facts that its log lacks: "run1.log:parameters=124M,batch_tokens=512k".
struct RunFile {
  std::string path;
  calib::LossFacts facts;
  bool has_facts = false;
};

/// Throws InputError for a key that is no fact, or a value that is no count.
inline RunFile run_file_of(const std::string& text) {
  RunFile file{text, {}};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('=', colon) == std::string::npos) return file;
  file.path = text.substr(0, colon);
  file.has_facts = true;
  for (const std::string& fact : csv_cells(text.substr(colon + 1))) {
    const std::size_t equals = fact.find('=');
    const std::string key = fact.substr(0, equals);
    double* const value = key == "parameters"     ? &file.facts.parameters
                          : key == "tokens"       ? &file.facts.tokens
                          : key == "batch_tokens" ? &file.facts.batch_tokens
                                                  : nullptr;
    if (value == nullptr || equals == std::string::npos)
      throw InputError("--fit " + text + ": " + in_quotes(fact) +
                       " is no fact of a run; allowed: parameters=, tokens= and batch_tokens=");
    *value = count_of("--fit " + file.path + ": " + key, fact.substr(equals + 1));
  }
  return file;
}

inline bool is_csv(const std::string& path) {
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.front().empty() || cells.front().front() == '#') continue;
    return std::find(cells.begin(), cells.end(), "loss") != cells.end();
  }
  return false;
}

/// Records of `train` are of images, whose epochs have other laws.
inline void refuse_train_record(const std::string& path) {
  if (read_file(path).find('"' + std::string(kRunSchema) + '"') != std::string::npos)
    throw InputError(path + ": a record of train, whose images have no tokens; allowed: simulate convergence " + path);
}

struct LossRuns {
  LossTable table;
  std::vector<std::string> read;  ///< a line for each log: what was taken from it
};

/// Throws InputError if a file has no usable run.
inline LossRuns read_loss_runs(const std::vector<std::string>& files) {
  LossRuns runs;
  for (const std::string& text : files) {
    const RunFile file = run_file_of(text);
    if (!file.has_facts && is_csv(file.path)) {
      LossTable table = read_loss_points(file.path);
      runs.table.points.insert(runs.table.points.end(), table.points.begin(), table.points.end());
      runs.table.refused.insert(runs.table.refused.end(), table.refused.begin(), table.refused.end());
      continue;
    }
    refuse_train_record(file.path);
    const calib::LossLog log = calib::read_loss_log(file.path, file.facts);
    runs.table.points.push_back({log.parameters, log.tokens, log.batch_tokens, log.loss});
    runs.read.push_back(file.path + ": " + format_count(log.parameters) + " parameters, " + format_count(log.tokens) +
                        " tokens, batch " + (log.batch_tokens > 0 ? with_thousands(log.batch_tokens) : "not known") +
                        ", loss " + formatted("%.4f", log.loss) + " (" + log.loss_source + ")");
    runs.read.insert(runs.read.end(), log.said.begin(), log.said.end());
  }
  return runs;
}

}  // namespace lockstep::sim::api
