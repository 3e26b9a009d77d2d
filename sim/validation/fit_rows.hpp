#pragma once
// The fit's view of records (fit.hpp): the constants that a kind of record may move, and predictions linearised in
// them.
#include <map>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim {
inline namespace validation {

/// Names of a constant, the most specific first.
using Chain = std::vector<std::string>;

struct FitKind {
  const char* name;
  std::vector<std::string> prefixes;  ///< prefixes of the constants that the kind may move
  bool (*has)(const Record&);
  bool use_rates;
  /// Relative error assumed for the part of a record's time that its constants do not move. If half of a time is
  /// communication, the record says less about computation, however long the communication took.
  double others_off = 0;
  /// Constants that it may also move, but only if a rate gives the speed. Otherwise they would absorb errors of the
  /// speed.
  std::vector<std::string> with_rate{};
};

/// A record that is part of the fit.
struct FitRow {
  std::shared_ptr<const Record> job;
  const FitKind* kind;
  std::string source;                ///< Record::whole_source
  double residual = 0;               ///< log(published / predicted)
  double predicted = 0;              ///< 0: no prediction is possible
  std::map<Chain, double> slopes{};  ///< derivatives of log(predicted) with respect to the logarithm of a chain's value

  bool is_mapped() const { return predicted > 0; }
  /// Returns the share of the record that its constants determine, 0 to 1.
  double moved() const;
};

/// Returns the logarithm of a constant's factor; 0 if the constant has none.
double effect_of(const Catalogue& catalogue, const std::string& constant);

class FitRows {
 public:
  /// Runs `jobs` simulations at a time.
  FitRows(const Catalogue& catalogue, const std::vector<Record>& records, int jobs);
  FitRows(const FitRows&) = delete;

  /// Computes residuals at the catalogue's constants, and slopes by differences, one chain after the other.
  void linearise(const Catalogue& catalogue);

  const std::vector<FitRow>& all() const { return rows_; }
  std::vector<std::string> sources() const;

 private:
  // Some rows of one kind. The logarithm of one chain's value is changed, or none is.
  struct Task {
    std::vector<FitRow*> rows;
    Chain moved{};
    double by = 0;
  };
  // The prediction for a row (0: none), and the chains that it used and that the row may move.
  struct Answer {
    double predicted = 0;
    std::vector<Chain> chains{};
  };

  static void add_tasks(std::vector<Task>& tasks, const std::vector<FitRow*>& rows, const Chain& moved, double by);
  std::string answers_text(const Task& task, const Catalogue& catalogue) const;
  std::vector<std::vector<Answer>> answers_of(const std::vector<Task>& tasks, const Catalogue& catalogue) const;

  std::vector<Record> records_;
  std::vector<std::shared_ptr<const Record>> jobs_;
  std::vector<Record> given_;
  int jobs_at_a_time_;
  std::vector<FitRow> rows_;
};

}  // namespace validation
}  // namespace lockstep::sim
