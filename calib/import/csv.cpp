#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>

#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

// Columns that are part of what was measured, and how a time is written.
const std::vector<std::string> kTexts{"model", "precision", "operation", "library"};
const std::vector<std::string> kCounts{"batch", "devices", "ranks", "nodes", "bytes"};
const std::map<std::string, double> kTimes{{"seconds", 1}, {"ms", 1e-3}, {"us", 1e-6}};
constexpr const char* kRate = "samples_per_s";
constexpr double kMostCount = 1 << 20;  // as a profile has them

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Table {
 public:
  Table(const std::string& text, const std::string& name, const CsvOptions& options) : name_(name), options_(options) {
    std::istringstream lines(text);
    std::string line;
    for (line_ = 1; std::getline(lines, line); ++line_) {
      const std::vector<std::string> cells = csv_cells(line);
      if (cells.size() == 1 && cells[0].empty()) continue;
      if (cells[0].rfind("#", 0) == 0) continue;
      if (columns_.empty())
        take_head(cells);
      else
        take_row(cells);
    }
    if (samples_.empty())
      throw InputError(name + ": no row; allowed: a line of column names, then a line for each measurement");
  }

  std::vector<Sample> samples() const { return samples_; }

 private:
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const {
    throw InputError(name_ + " line " + std::to_string(line_) + ": " + wrong + "; allowed: " + allowed);
  }

  void take_head(const std::vector<std::string>& cells) {
    std::vector<std::string> known = kTexts, times{kRate};
    known.insert(known.end(), kCounts.begin(), kCounts.end());
    for (const auto& [unit, factor] : kTimes) times.push_back(unit);
    known.insert(known.end(), times.begin(), times.end());
    int found = 0;
    for (const std::string& cell : cells) {
      if (!is_among(known, cell)) fail("column " + in_quotes(cell) + " is unknown", joined(known));
      if (is_among(columns_, cell)) fail("column " + in_quotes(cell) + " stands twice", "each column once");
      found += is_among(times, cell) ? 1 : 0;
      columns_.push_back(cell);
    }
    if (found != 1) fail(std::to_string(found) + " columns of times", "one of " + joined(times));
    if (!is_among(columns_, "batch") && !is_among(columns_, "bytes"))
      fail("neither \"batch\" nor \"bytes\"", "\"batch\" for training steps, \"bytes\" for collectives");
    if (is_among(columns_, "batch") && is_among(columns_, "bytes"))
      fail("both \"batch\" and \"bytes\"", "steps and collectives in files of their own");
    if (is_among(columns_, "bytes") && is_among(columns_, kRate))
      fail("a rate of samples for collectives", "\"seconds\", \"ms\" or \"us\"");
  }

  double number(const std::string& cell, const std::string& column) const {
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(cell, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != cell.size() || !(value > 0) || value > 1e18)
      fail(column + " " + in_quotes(cell) + " is no number above 0", "a plain number, without a unit");
    return value;
  }

  void take_row(const std::vector<std::string>& cells) {
    if (cells.size() != columns_.size())
      fail(std::to_string(cells.size()) + " cells", std::to_string(columns_.size()) + ", one for each column");
    std::map<std::string, std::string> texts{{"model", options_.model},
                                             {"precision", options_.precision.empty() ? "fp32" : options_.precision},
                                             {"operation", "all-reduce"},
                                             {"library", "unknown"}};
    std::map<std::string, double> counts{{"devices", 1}, {"ranks", 0}, {"nodes", 1}};
    double seconds = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& column = columns_[i];
      if (is_among(kTexts, column)) {
        if (cells[i].empty()) fail("no " + column, "a name");
        texts[column] = cells[i];
      } else if (is_among(kCounts, column)) {
        counts[column] = whole(cells[i], column);
      } else {
        seconds = number(cells[i], column);
      }
    }
    if (is_among(columns_, "batch"))
      add_step(texts, counts, seconds);
    else
      add_collective(texts, counts, seconds);
  }

  double whole(const std::string& cell, const std::string& column) const {
    const double value = number(cell, column);
    if (value != std::floor(value)) fail(column + " " + in_quotes(cell) + " is not whole", "a count");
    const double most = column == "bytes" ? kMostBytes : kMostCount;
    if (value > most) fail(column + " " + in_quotes(cell) + " is too large", "up to " + short_number(most));
    return value;
  }

  void add_step(const std::map<std::string, std::string>& texts, const std::map<std::string, double>& counts,
                double value) {
    if (texts.at("model").empty()) fail("no model", "a column \"model\", or --model");
    const double batch = counts.at("batch");
    const double factor = is_among(columns_, kRate) ? 0 : factor_of_time();
    const Json key{{"model", texts.at("model")},
                   {"precision", texts.at("precision")},
                   {"learners", 1},
                   {"devices", static_cast<int>(counts.at("devices"))},
                   {"batch", static_cast<std::int64_t>(batch)}};
    // A rate is that of all devices together.
    add("iteration", key, factor > 0 ? value * factor : batch * counts.at("devices") / value);
  }

  void add_collective(const std::map<std::string, std::string>& texts, const std::map<std::string, double>& counts,
                      double value) {
    const double ranks = counts.at("ranks");
    if (ranks < 2) fail("no ranks", "a column \"ranks\", 2 and more");
    const std::vector<std::string> operations{"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                              "broadcast",  "reduce",     "average"};
    if (!is_among(operations, texts.at("operation")))
      fail("operation " + in_quotes(texts.at("operation")) + " is unknown", joined(operations));
    const Json key{{"operation", texts.at("operation")},
                   {"library", texts.at("library")},
                   {"ranks", static_cast<int>(ranks)},
                   {"nodes", static_cast<int>(counts.at("nodes"))},
                   {"bytes", static_cast<std::int64_t>(counts.at("bytes"))}};
    add("collective", key, value * factor_of_time());
  }

  double factor_of_time() const {
    for (const auto& [unit, factor] : kTimes)
      if (is_among(columns_, unit)) return factor;
    return 0;
  }

  // Rows of the same thing are a series.
  void add(const std::string& probe, const Json& key, double seconds) {
    const auto [entry, is_new] = index_.try_emplace(canonical_id(probe, key), samples_.size());
    if (is_new) samples_.push_back({probe, key, {}, "imported", name_ + " line " + std::to_string(line_), {}, {}});
    samples_[entry->second].seconds.push_back(seconds);
  }

  std::string name_;
  CsvOptions options_;
  int line_ = 0;
  std::vector<std::string> columns_;
  std::vector<Sample> samples_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

Imported import_csv(const std::string& text, const std::string& name, const CsvOptions& options) {
  Imported result;
  result.samples = Table(text, name, options).samples();
  result.device.name = kUnknownGpu;
  result.device.kind = "imported";
  result.device.count = 1;
  for (const Sample& sample : result.samples)
    for (const char* count : {"devices", "ranks"})
      if (sample.key.contains(count)) result.device.count = std::max(result.device.count, sample.key[count].get<int>());
  return sound(result, name);
}

}  // namespace lockstep::calib
