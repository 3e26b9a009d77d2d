#pragma once
// --expect 'METRIC>=VALUE': a condition on a result, for tests and acceptance. Metrics are the keys of the rows in
// --json. Keys of nested objects are written "iteration_s/mean".
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::report {

enum class Comparator { at_least, at_most, above, below };

struct Expectation {
  std::string text;  ///< as given
  std::string metric;
  Comparator comparator = Comparator::at_least;
  double value = 0;
};

/// Reads "samples_per_s>=4e4"; blanks are allowed. Throws InputError without a comparison or a number.
Expectation read_expectation(const std::string& text);
std::vector<Expectation> read_expectations(const std::vector<std::string>& texts);

/// A row of a result: its name ("16 GPUs") and its numbers.
struct ExpectedRow {
  std::string name;
  Json numbers;  ///< an object; only its numbers count, including those of nested objects
};

/// Return rows by number of GPUs, from the points of a result file (lockstep/result/1), the rows of all-reduces
/// (lockstep/all_reduce/1), or the predictions of a job (lockstep/predictions/1). A row has metrics and their "_low"
/// and "_high". It has images_per_s as samples_per_s, too.
std::vector<ExpectedRow> rows_of_points(const Json& result);
std::vector<ExpectedRow> rows_of_all_reduces(const Json& result);
std::vector<ExpectedRow> rows_of_job(const Json& predictions);

/// Holds a line for each expectation, and whether all hold in every row.
struct ExpectationResult {
  std::string text;
  bool holds = true;
  int exit_code() const { return holds ? 0 : 1; }
};

/// Throws InputError for a metric that no row has, and lists the metrics.
ExpectationResult check_expectations(const std::vector<Expectation>& expectations,
                                     const std::vector<ExpectedRow>& rows);

/// If standard output has the JSON (`json_path` is "-") and an expectation fails, prints the lines to standard error.
void print_failures(const ExpectationResult& result, const std::string& json_path);

}  // namespace lockstep::sim::report
