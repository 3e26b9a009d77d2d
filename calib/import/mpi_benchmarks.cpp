#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr std::size_t kLongestTitle = 512;  // regular expressions recurse by character
constexpr double kMicrosecond = 1e-6, kNanosecond = 1e-9;

// A collective as a tool names it, and how many times the bytes of its rows nccl-tests counts: those of one rank's share
// are counted for all ranks.
struct Operation {
  const char* in_log;
  const char* name;
  bool is_of_share;
};

// Collectives by the names that IMB and gloo print. Both, like OSU, give the whole vector as Reduce_scatter's size.
const std::vector<Operation> kOfMpi{
    {"allreduce", "all-reduce", false}, {"allgather", "all-gather", true}, {"reduce_scatter", "reduce-scatter", false},
    {"alltoall", "all-to-all", true},   {"bcast", "broadcast", false},     {"broadcast", "broadcast", false},
    {"reduce", "reduce", false}};

const Operation* operation_of(const std::string& in_log) {
  const std::string name = lower_case(in_log);
  for (const Operation& operation : kOfMpi)
    if (name == operation.in_log) return &operation;
  return nullptr;
}

// The names that OSU's blocking collectives print between "OSU MPI" and "Latency Test", from version 3 to 7.
const std::vector<Operation> kOfOsu{{"Allreduce", "all-reduce", false},
                                    {"Allgather", "all-gather", true},
                                    {"Reduce_scatter", "reduce-scatter", false},
                                    {"Reduce_scatter_block", "reduce-scatter", false},
                                    {"All-to-All Personalized Exchange", "all-to-all", true},
                                    {"Broadcast", "broadcast", false},
                                    {"Reduce", "reduce", false}};

const Operation* osu_operation_of(const std::string& in_log) {
  for (const Operation& operation : kOfOsu)
    if (in_log == operation.in_log) return &operation;
  return nullptr;
}

std::vector<double> numbers_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<double> numbers;
  for (std::string word; stream >> word;) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != 0 || !std::isfinite(value)) return {};
    numbers.push_back(value);
  }
  return numbers;
}

// Words of a line of column names, what stands in brackets left to the word before: "min (us)" is one.
std::vector<std::string> columns_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> columns;
  for (std::string word; stream >> word;) {
    if (word == "#") continue;
    if (word[0] == '(' && !columns.empty())
      columns.back() += word;
    else
      columns.push_back(word);
  }
  return columns;
}

std::ptrdiff_t column(const std::vector<std::string>& columns, const std::string& begin) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const std::string& name) { return name.compare(0, begin.size(), begin) == 0; });
  return found == columns.end() ? -1 : found - columns.begin();
}

// Rows of one log, as they come; those of the same thing are a series.
class CollectiveLog {
 public:
  CollectiveLog(const std::string& tool, const std::string& name, const CollectiveLogOptions& options)
      : tool_(tool), name_(name), options_(options) {}
  virtual ~CollectiveLog() = default;

  Imported read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    for (line_ = 1; std::getline(lines, line); ++line_) take(plain_line(line));
    if (result_.samples.empty())
      throw InputError(name_ + ": no row of " + tool_ + " that times a collective" +
                       (result_.refused.empty() ? "" : "; first refused: " + result_.refused.front()));
    keep_largest();
    result_.device = {kUnknownGpu, "imported", most_ranks_, Json::object()};
    return std::move(result_);
  }

 protected:
  virtual void take(const std::string& line) = 0;

  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const {
    throw InputError(name_ + " line " + std::to_string(line_) + ": " + wrong + "; allowed: " + allowed);
  }

  void refuse(const std::string& why) {
    const std::string line = name_ + " line " + std::to_string(line_) + ": " + why;
    if (result_.refused.empty() || result_.refused.back() != line) result_.refused.push_back(line);
  }

  // `ranks` as the log has them; 0: it does not tell.
  void add(const std::string& operation, const std::string& library, int ranks, double bytes, double seconds) {
    if (!(bytes > 0)) return;  // a call without data
    if (bytes > kMostBytes) return refuse("a size of " + short_number(bytes) + " bytes");
    if (!(seconds > 0)) return refuse("no time");
    if (ranks == 0) ranks = options_.ranks;
    if (ranks < 2)
      throw InputError(name_ + ": " + tool_ + " does not log its ranks; allowed: give their number (--ranks)");
    if (options_.ranks > 0 && options_.ranks != ranks)
      fail("is of " + std::to_string(ranks) + " ranks", "those of --ranks");
    most_ranks_ = std::max(most_ranks_, ranks);
    const Json key{{"operation", operation},
                   {"library", options_.library.empty() ? library : options_.library},
                   {"ranks", ranks},
                   {"nodes", std::max(1, options_.nodes)},
                   {"bytes", static_cast<std::int64_t>(bytes)}};
    const auto [entry, is_new] = index_.try_emplace(canonical_id("collective", key), result_.samples.size());
    if (is_new)
      result_.samples.push_back({"collective", key, {}, "imported", name_ + " line " + std::to_string(line_), {}, {}});
    result_.samples[entry->second].seconds.push_back(seconds);
  }

  std::string tool_, name_;
  CollectiveLogOptions options_;
  int line_ = 0;
  Imported result_;

 private:
  // With several nodes, the log does not say on which nodes a part of the ranks ran.
  void keep_largest() {
    if (options_.nodes < 2) return;
    const std::size_t all = result_.samples.size();
    result_.samples.erase(std::remove_if(result_.samples.begin(), result_.samples.end(),
                                         [&](const Sample& s) { return s.key["ranks"].get<int>() < most_ranks_; }),
                          result_.samples.end());
    if (result_.samples.size() < all)
      result_.refused.push_back(name_ + ": calls of fewer ranks than " + std::to_string(most_ranks_) +
                                ": on how many of the " + std::to_string(options_.nodes) + " nodes is not logged");
  }

  int most_ranks_ = 0;
  std::map<std::string, std::size_t> index_;
};

// "# OSU MPI Allreduce Latency Test v7.3", then "# Size  Avg Latency(us)  [Min Latency(us)  Max Latency(us) ...]".
class OsuLog : public CollectiveLog {
 public:
  using CollectiveLog::CollectiveLog;

 private:
  void take(const std::string& whole) override {
    const std::string line = whole.substr(0, kLongestTitle);
    static const std::regex title(R"(^\s*#\s*OSU\s+(\S+)\s+(.*)$)");
    std::smatch match;
    if (std::regex_match(line, match, title)) return begin(match[1], match[2]);
    if (line.find("Size") != std::string::npos && line.find('#') != std::string::npos) {
      has_latency_ = line.find("Latency") != std::string::npos;
      has_longest_ = line.find("Max Latency") != std::string::npos;
      return;
    }
    // -c adds a last column.
    const std::vector<std::string> words = words_of(whole);
    const bool is_checked = !words.empty() && (words.back() == "Pass" || words.back() == "Fail");
    const std::vector<double> row = numbers_of(is_checked ? whole.substr(0, whole.rfind(words.back())) : whole);
    if (row.size() < 2 || operation_ == nullptr || !has_latency_) return;
    if (words.back() == "Fail") return refuse("wrong results");
    if (has_longest_ && row.size() < 4) return refuse("a row is cut off");
    // If the times of all ranks are logged, uses the slowest, as calibrate does.
    const double share = operation_->is_of_share ? std::max(1, options_.ranks) : 1;
    add(operation_->name, library_, 0, row[0] * share, row[has_longest_ ? 3 : 1] * kMicrosecond);
  }

  // `by`: "MPI", "MPI-CUDA", "NCCL". `test`: "Allreduce Latency Test v7.3".
  void begin(const std::string& by, const std::string& test) {
    operation_ = osu_operation_of(test.substr(0, test.find(" Latency Test")));
    has_latency_ = has_longest_ = false;
    library_ = lower_case(by.substr(0, by.find('-')));
    if (operation_ != nullptr) return;
    if (test.find("Non-blocking") == 0)
      return refuse(in_quotes(test) + " overlaps with compute; use the blocking test");
    refuse(in_quotes(test) + " is no collective that a profile has");
  }

  const Operation* operation_ = nullptr;
  std::string library_ = "mpi";
  bool has_latency_ = false, has_longest_ = false;
};

// Reads "# Benchmarking Allreduce", "# #processes = 4", then "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]".
class ImbLog : public CollectiveLog {
 public:
  using CollectiveLog::CollectiveLog;

 private:
  void take(const std::string& whole) override {
    const std::string line = whole.substr(0, kLongestTitle);
    static const std::regex title(R"(^\s*#\s*Benchmarking\s+(\S+)\s*$)"),
        processes(R"(^\s*#\s*#processes\s*=\s*(\d+).*$)");
    std::smatch match;
    if (std::regex_match(line, match, title)) {
      operation_ = operation_of(match[1]);
      columns_.clear();
      ranks_ = 0;
      if (operation_ == nullptr) refuse(in_quotes(match[1]) + " is no collective that a profile has");
    } else if (std::regex_match(line, match, processes)) {
      ranks_ = std::atoi(match[1].str().c_str());
    } else if (line.find("#bytes") != std::string::npos) {
      columns_ = columns_of(line);
    } else {
      take_row(numbers_of(whole));
    }
  }

  // The slowest process's, by which IMB counts as well.
  void take_row(const std::vector<double>& row) {
    const std::ptrdiff_t longest = column(columns_, "t_max");
    if (row.empty() || operation_ == nullptr || longest < 0) return;
    if (row.size() < columns_.size()) return refuse("a row is cut off");
    if (ranks_ < 2) return;  // a process alone
    add(operation_->name, "mpi", ranks_, row[0] * (operation_->is_of_share ? ranks_ : 1),
        row[static_cast<std::size_t>(longest)] * kMicrosecond);
  }

  const Operation* operation_ = nullptr;
  std::vector<std::string> columns_;
  int ranks_ = 0;
};

// Reads gloo's benchmark: "Algorithm: allreduce_ring", "Options: processes=4, inputs=1, threads=1", then a line of
// columns and rows of elements.
class GlooLog : public CollectiveLog {
 public:
  using CollectiveLog::CollectiveLog;

 private:
  void take(const std::string& whole) override {
    const std::string line = whole.substr(0, kLongestTitle);
    static const std::regex algorithm(R"(^\s*Algorithm:\s+(\S+).*$)"), options(R"(^\s*Options:\s+(.*)$)"),
        count(R"((\w+)=(\d+))");
    std::smatch match;
    if (std::regex_match(line, match, algorithm)) {
      begin(match[1]);
    } else if (std::regex_match(line, match, options)) {
      const std::string text = match[1];
      for (auto it = std::sregex_iterator(text.begin(), text.end(), count); it != std::sregex_iterator(); ++it)
        if (counts_.count((*it)[1]) > 0) counts_[(*it)[1]] = std::atoi((*it)[2].str().c_str());
    } else if (line.find("elements") != std::string::npos) {
      columns_ = columns_of(line);
    } else {
      take_row(numbers_of(whole));
    }
  }

  // "cuda_allreduce_ring_chunked", "new_allreduce_ring".
  void begin(const std::string& algorithm) {
    std::string name = algorithm;
    for (const std::string prefix : {"cuda_", "new_"})
      if (name.compare(0, prefix.size(), prefix) == 0) name = name.substr(prefix.size());
    operation_ = nullptr;
    for (const Operation& one : kOfMpi) {
      const std::string in_log = one.in_log, next = name.substr(std::min(name.size(), in_log.size()));
      if (name.compare(0, in_log.size(), in_log) == 0 && (next.empty() || next[0] == '_') && operation_ == nullptr)
        operation_ = &one;  // "reduce_scatter" stands before "reduce"
    }
    columns_.clear();
    counts_ = {{"processes", 0}, {"inputs", 1}, {"threads", 1}};
    if (operation_ == nullptr) return refuse(in_quotes(algorithm) + " is no collective that a profile has");
    const std::string before = algorithms_.emplace(operation_->name, algorithm).first->second;
    if (before != algorithm)
      fail("is of " + algorithm + ", and rows before are of " + before, "one algorithm of a collective");
  }

  void take_row(const std::vector<double>& row) {
    const std::ptrdiff_t middle = column(columns_, "p50"), elements = column(columns_, "elements");
    if (row.empty() || operation_ == nullptr || middle < 0 || elements < 0) return;
    if (row.size() < columns_.size()) return refuse("a row is cut off");
    for (const char* several : {"inputs", "threads"})
      if (counts_[several] > 1)
        fail(std::string(several) + " = " + std::to_string(counts_[several]) + ": not the time of one call",
             std::string("--") + several + " 1");
    const std::string& head = columns_[static_cast<std::size_t>(middle)];
    const double unit_s = head.find("ns") != std::string::npos ? kNanosecond : kMicrosecond;
    const double seconds = row[static_cast<std::size_t>(middle)] * unit_s;
    add(operation_->name, "gloo", counts_["processes"], bytes_of(row, row[static_cast<std::size_t>(elements)], seconds),
        seconds);
  }

  // Elements are of 4 bytes (float) or 2 (half): those that the printed bandwidth, in GiB/s, fits better.
  double bytes_of(const std::vector<double>& row, double elements, double seconds) const {
    const std::ptrdiff_t size = column(columns_, "size"), bandwidth = column(columns_, "avg");
    const double share = operation_->is_of_share ? counts_.at("processes") : 1;
    if (size >= 0) return row[static_cast<std::size_t>(size)] * share;
    double best = 4, least = HUGE_VAL;
    const double moved = bandwidth < 0 ? 0 : row[static_cast<std::size_t>(bandwidth)] * kGibi * seconds;
    for (const double element : {4.0, 2.0}) {
      if (!(moved > 0)) break;  // not printed, or rounded to nothing
      const double off = std::abs(std::log(moved / (elements * element)));
      if (off < least) best = element;
      least = std::min(off, least);
    }
    return elements * best * share;
  }

  const Operation* operation_ = nullptr;
  std::vector<std::string> columns_;
  std::map<std::string, int> counts_;
  std::map<std::string, std::string> algorithms_;  ///< by collective
};

}  // namespace

Imported import_osu(const std::string& text, const std::string& name, const CollectiveLogOptions& options) {
  return sound(OsuLog("the OSU micro-benchmarks", name, options).read(text), name);
}

Imported import_imb(const std::string& text, const std::string& name, const CollectiveLogOptions& options) {
  return sound(ImbLog("the Intel MPI Benchmarks", name, options).read(text), name);
}

Imported import_gloo(const std::string& text, const std::string& name, const CollectiveLogOptions& options) {
  return sound(GlooLog("gloo's benchmark", name, options).read(text), name);
}

}  // namespace lockstep::calib
