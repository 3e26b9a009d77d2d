#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kRounding = 0.0051;    // two decimals are printed of a bandwidth in GB/s
constexpr double kTimeRounding = 0.01;  // and at least three digits of a time

const std::vector<std::pair<std::string, std::string>> kPrograms{
    {"all_reduce", "all-reduce"}, {"all_gather", "all-gather"}, {"reduce_scatter", "reduce-scatter"},
    {"alltoall", "all-to-all"},   {"broadcast", "broadcast"},   {"reduce_perf", "reduce"}};

std::string operation_of_program(const std::string& program) {
  if (program.find("alltoallv") != std::string::npos) return "";  // ranks send different amounts
  for (const auto& [part, operation] : kPrograms)
    if (program.find(part) != std::string::npos) return operation;
  return "";
}

bool to_number(const std::string& word, double& value) {
  char* end = nullptr;
  value = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == 0 && std::isfinite(value);
}

// Columns of rows whose header is missing, by their number.
std::vector<std::string> usual_columns(std::size_t words) {
  std::vector<std::string> columns{"size", "count", "type"};
  if (words >= 12) columns.push_back("redop");
  if (words >= 13) columns.push_back("root");
  for (int group = 0; group < 2; ++group) columns.insert(columns.end(), {"time", "algbw", "busbw", "#wrong"});
  return columns.size() == words ? columns : std::vector<std::string>{};
}

struct Row {
  std::string what;  ///< type and reduction
  double bytes;
  bool in_place;
  double time_us;
  double algbw_gb_per_s;
  std::string wrong;
  std::string where;
};

class NcclTestsLog {
 public:
  NcclTestsLog(std::string name, const NcclTestsOptions& options) : name_(std::move(name)), options_(options) {
    operation_ = options.operation;
  }

  void read_text(const std::string& text) {
    std::istringstream stream(text);
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      read_line(plain_line(line), name_ + " line " + std::to_string(number));
    }
  }

  void read_json(const JsonNode& root) {
    if (const auto config = root.find("config")) read_config(*config);
    if (const auto args = root.find("args"); args && args->is_array() && !args->items().empty())
      set_program(args->items().front().text());
    for (const JsonNode& result : root.at("results").items()) {
      const double bytes = result.at("size").number({0, kMostBytes});
      std::string what;
      for (const char* member : {"type", "redop"})
        if (result.has(member) && result.at(member).is_string())
          what += (what.empty() ? "" : " ") + result.at(member).text();
      for (const char* group : {"out_of_place", "in_place"}) {
        const auto node = result.find(group);
        if (!node || node->is_null()) continue;
        if (node->has("cpu_time")) node->fail("is CPU time (-C), not the time of the collective");
        const std::string wrong = node->has("nwrong") && node->at("nwrong").is_number()
                                      ? short_number(node->at("nwrong").number({0, 1e15}))
                                      : "N/A";
        rows_.push_back({what, bytes, std::string(group) == "in_place", figure(node->at("time"), {0, 1e12}),
                         figure(node->at("alg_bw"), {0, 1e9}), wrong, name_ + ": " + node->pointer()});
      }
    }
  }

  Imported finish() {
    end_run();
    if (result_.samples.empty())
      throw InputError(name_ + ": no usable row of nccl-tests" +
                       (result_.refused.empty() ? "" : "; first refused: " + result_.refused.front()));
    if (device_.empty()) result_.device.name = kUnknownGpu;
    result_.device.kind = "imported";
    result_.device.count = most_ranks_;
    return std::move(result_);
  }

 private:
  // The tool writes "nan" as a text; a row that has it has no time.
  static double figure(const JsonNode& node, Range range) {
    return node.is_string() && node.text() == "nan" ? -1 : node.number(range);
  }

  void set_program(const std::string& program) {
    program_ = program.substr(program.find_last_of('/') + 1);
    const std::string operation = operation_of_program(program_);
    if (!options_.operation.empty() && !operation.empty() && operation != options_.operation)
      throw InputError(name_ + ": the log is of " + program_ + ", not of " + options_.operation);
    if (options_.operation.empty()) operation_ = operation;
  }

  // A file may hold the logs of several runs, of other ranks, one after the other. A run without rows (one that was
  // aborted) leaves nothing.
  void begin_run() {
    if (!rows_.empty()) {
      end_run();
      operation_ = options_.operation;
      program_.clear();
    }
    ranks_ = 0;
    hosts_.clear();
    columns_.clear();
  }

  void end_run() {
    if (rows_.empty() && !result_.samples.empty()) return;
    check_operation();
    const int ranks = options_.ranks > 0 ? options_.ranks : ranks_;
    const int nodes = options_.nodes > 0 ? options_.nodes : std::max<int>(1, static_cast<int>(hosts_.size()));
    if (ranks < 1) throw InputError(name_ + ": the log does not list its ranks; allowed: give their number (--ranks)");
    check_hosts();
    if (!result_.samples.empty() && result_.device.name != device_)
      throw InputError(name_ + ": runs on " + result_.device.name + " and on " + device_ +
                       "; allowed: those of one kind of GPU");
    result_.device.name = device_;
    most_ranks_ = std::max(most_ranks_, ranks);
    for (const Row& row : rows_) take(row, ranks, nodes);
    rows_.clear();
  }

  void check_hosts() const {
    int listed = 0;
    for (const auto& [host, on_host] : hosts_) {
      listed += on_host;
      if (on_host != hosts_.begin()->second && options_.nodes == 0)
        throw InputError(name_ + ": " + std::to_string(on_host) + " ranks on " + host + " and " +
                         std::to_string(hosts_.begin()->second) + " on " + hosts_.begin()->first +
                         "; allowed: as many on each node");
    }
    if (listed > ranks_)
      throw InputError(name_ +
                       ": ranks are listed twice: the output of several programs is mixed (nccl-tests built "
                       "without MPI?); allowed: that of one");
  }

  void check_operation() const {
    if (operation_.empty() && !program_.empty())
      throw InputError(name_ + ": " + program_ + " times no collective that a profile has; allowed: all_reduce_perf, " +
                       "all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf, reduce_perf");
    if (operation_.empty())
      throw InputError(name_ + ": the log does not say which collective it timed; allowed: name it (--operation)");
    if (std::none_of(kPrograms.begin(), kPrograms.end(), [&](const auto& p) { return p.second == operation_; }))
      throw InputError(name_ + ": unknown operation \"" + operation_ +
                       "\"; allowed: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce");
  }

  void read_config(const JsonNode& config) {
    if (const auto iterations = config.find("aggregated_iterations"))
      if (iterations->integer(0, 1000000) > 1) iterations->fail("aggregated calls do not time one call");
    const auto devices = config.find("devices");
    if (!devices) return;
    // The tool lists the first rank of every process, however many GPUs that has (threads x GPUs of a thread).
    int of_process = 1;
    for (const char* name : {"nthreads", "ngpus"})
      if (const auto count = config.find(name)) of_process *= static_cast<int>(count->integer(1, 1024));
    std::set<std::int64_t> listed;
    for (const JsonNode& item : devices->items()) listed.insert(item.at("rank").integer(0, 1 << 20));
    if (listed.count(1) > 0) of_process = 1;  // all are there
    for (const JsonNode& item : devices->items()) {
      ranks_ = std::max(ranks_, static_cast<int>(item.at("rank").integer(0, 1 << 20)) + of_process);
      hosts_[item.at("hostname").text()] += of_process;
      device_ = item.at("device_info").text();
    }
  }

  void read_line(const std::string& line, const std::string& where) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (words[0][0] == '#') return read_comment(line, words, where);
    double bytes = 0;
    if (!to_number(words[0], bytes)) return;  // NCCL's own output, or a launcher's
    read_row(words, where);
  }

  // "#  Rank  0 Group  0 Pid  101 on  node-0 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3"
  bool take_rank(const std::string& line, const std::vector<std::string>& words) {
    double rank = 0;
    if (words.size() < 8 || words[0] != "#" || words[1] != "Rank" || !to_number(words[2], rank)) return false;
    auto on = std::find(words.begin() + 3, words.end(), "on");
    while (words.end() - on > 4 && on[2] != "device") on = std::find(on + 1, words.end(), "on");
    const std::size_t bus_end = line.find(']');
    if (words.end() - on <= 4 || bus_end == std::string::npos || !(rank >= 0 && rank < kMostRanks)) return false;
    const std::size_t name = line.find_first_not_of(" \t", bus_end + 1);
    if (name == std::string::npos) return false;
    ranks_ = std::max(ranks_, static_cast<int>(rank) + 1);
    ++hosts_[on[1]];
    device_ = line.substr(name, line.find_last_not_of(" \t") + 1 - name);
    return true;
  }

  void read_comment(const std::string& line, const std::vector<std::string>& words, const std::string& where) {
    static const std::string aggregated = "agg iters: ";
    const std::size_t calls = line.find(aggregated);
    if (line.find("nThread ") != std::string::npos || line.find("Collective test starting:") != std::string::npos)
      begin_run();
    if (take_rank(line, words)) return;
    if (line.find("Collective test starting:") != std::string::npos) {
      set_program(words.back());
    } else if (calls != std::string::npos && std::atoi(line.c_str() + calls + aggregated.size()) > 1) {
      throw InputError(where + ": aggregated calls (-m) do not time one call");
    } else if (std::count(words.begin(), words.end(), "algbw") > 0) {
      if (std::count(words.begin(), words.end(), "cputime") > 0)
        throw InputError(where + ": the log is of CPU time (-C), not of the collective's time");
      columns_.assign(words.begin() + 1, words.end());
    }
  }

  void read_row(const std::vector<std::string>& words, const std::string& where) {
    std::vector<std::string> columns = columns_;
    if (!columns.empty() && columns.back() == "timestamp") columns.pop_back();  // a date and a time: two words more
    if (columns.empty()) columns = usual_columns(words.size());
    if (columns.empty() || words.size() < columns.size()) {
      result_.refused.push_back(where + ": " + std::to_string(words.size()) + " columns, expected " +
                                std::to_string(columns.empty() ? 13 : columns.size()));
      return;
    }
    Row row{"", 0, false, -1, -1, "", where};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& column = columns[i];
      if (column == "size") to_number(words[i], row.bytes);
      if (column == "type" || column == "redop") row.what += (row.what.empty() ? "" : " ") + words[i];
      if (column == "time" && !to_number(words[i], row.time_us)) row.time_us = -1;
      if (column == "algbw" && !to_number(words[i], row.algbw_gb_per_s)) row.algbw_gb_per_s = -1;
      if (column == "#wrong" || column == "error") {
        row.wrong = words[i];
        rows_.push_back(row);
        row.in_place = true;
      }
    }
  }

  // `error` was the largest difference in old logs, a tiny number; #wrong counts elements.
  static bool is_wrong(const std::string& text) {
    double wrong = 0;
    return to_number(text, wrong) && wrong >= 1;
  }

  void take(const Row& row, int ranks, int nodes) {
    const double seconds = row.time_us * 1e-6;
    std::string why;
    if (!(row.bytes > 0)) return;  // size 0: a launch, not a collective of bytes
    if (what_.empty()) what_ = row.what;
    if (row.what != what_)
      why = row.what + " among rows of " + what_ + "; allowed: one type and reduction";
    else if (!(seconds > 0) || row.algbw_gb_per_s < 0)
      why = "no time";
    else if (is_wrong(row.wrong))
      why = row.wrong + " wrong results";
    else if (std::abs(row.bytes / seconds / 1e9 - row.algbw_gb_per_s) > kRounding + kTimeRounding * row.algbw_gb_per_s)
      why = "algbw " + short_number(row.algbw_gb_per_s) +
            " GB/s is not size / time = " + short_number(row.bytes / seconds / 1e9) + " GB/s";
    if (!why.empty()) {
      result_.refused.push_back(row.where + ": " + why);
      return;
    }
    Sample sample;
    sample.probe = "collective";
    sample.key = {{"operation", operation_}, {"library", "nccl"}, {"ranks", ranks}, {"nodes", nodes}};
    if (row.in_place) sample.key["in_place"] = true;
    sample.key["bytes"] = row.bytes;
    sample.seconds = {seconds};
    sample.kind = "imported";
    sample.source = row.where;
    // Cycles (-N), and what was run again, are one series.
    const auto [known, is_new] = index_.try_emplace(sample.id(), result_.samples.size());
    if (is_new)
      result_.samples.push_back(sample);
    else
      result_.samples[known->second].seconds.push_back(seconds);
  }

  std::string name_;
  NcclTestsOptions options_;
  std::string operation_;
  std::string program_;
  int ranks_ = 0;
  int most_ranks_ = 0;
  std::map<std::string, int> hosts_;  // ranks on each
  std::string device_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;                     // of the run that is read
  std::string what_;                          // type and reduction of all that is taken
  std::map<std::string, std::size_t> index_;  // of samples, by id
  Imported result_;
};

}  // namespace

Imported import_nccl_tests(const std::string& text, const std::string& name, const NcclTestsOptions& options) {
  NcclTestsLog log(name, options);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    const JsonDocument document = JsonDocument::parse(text, name);
    log.read_json(document.root());
  } else {
    log.read_text(text);
  }
  return sound(log.finish(), name);
}

}  // namespace lockstep::calib
