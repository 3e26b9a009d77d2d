#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "calib/bus_bandwidth.hpp"
#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/nccl_evidence.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kRounding = 0.0051;       // GB/s: a bandwidth is printed with two decimals
constexpr double kJsonRounding = 5e-4;     // GB/s: in JSON with at least three decimals
constexpr double kTimeRounding = 0.01;     // relative: a time is printed with at least three digits
constexpr int kMostRanksOfNode = 8;        // GPUs that one node is assumed to have if no host is listed
constexpr double kSingleRankRatio = 0.25;  // below the least factor, 0.5: one rank has 0

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
  std::string type;
  RowColumns columns;
  double bytes = 0;
  bool in_place = false;
  double time_us = -1;
  RowBandwidths bandwidths{-1, -1, kRounding};  // below 0: none
  std::string wrong;
  std::string where;

  std::string what() const { return type + (type.empty() || columns.redop.empty() ? "" : " ") + columns.redop; }
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
      RowColumns columns;
      const auto text = [&](const char* member) {
        return result.has(member) && result.at(member).is_string() ? words_of(result.at(member).text())
                                                                   : std::vector<std::string>();
      };
      if (const auto words = text("redop"); !words.empty()) columns.redop = words[0];
      if (const auto words = text("root"); !words.empty()) columns.root = words[0];
      const std::string type = text("type").empty() ? "" : text("type")[0];
      for (const char* group : {"out_of_place", "in_place"}) {
        const auto node = result.find(group);
        if (!node || node->is_null()) continue;
        if (node->has("cpu_time")) node->fail("is CPU time (-C), not the time of the collective");
        const std::string wrong = node->has("nwrong") && node->at("nwrong").is_number()
                                      ? short_number(node->at("nwrong").number({0, 1e15}))
                                      : "N/A";
        const double busbw = node->has("bus_bw") ? figure(node->at("bus_bw"), {0, 1e9}) : -1;
        rows_.push_back({type, columns, bytes, std::string(group) == "in_place", figure(node->at("time"), {0, 1e12}),
                         RowBandwidths{figure(node->at("alg_bw"), {0, 1e9}), busbw, kJsonRounding}, wrong,
                         name_ + ": " + node->pointer()});
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
    list_.clear();
    columns_.clear();
  }

  void end_run() {
    if (rows_.empty() && !result_.samples.empty()) return;
    std::vector<RowBandwidths> pairs;
    for (const Row& row : rows_)
      if (row.bytes > 0 && row.time_us > 0 && row.bandwidths.busbw >= 0) pairs.push_back(row.bandwidths);
    ratio_ = bus_ratio(pairs);
    row_columns_ = rows_.empty() ? RowColumns() : rows_.front().columns;
    check_list();
    choose_operation();
    const int ranks = choose_ranks();
    check_ratio(ranks);
    const int nodes = choose_nodes(ranks);
    if (!result_.samples.empty() && result_.device.name != device_)
      throw InputError(name_ + ": runs on " + result_.device.name + " and on " + device_ +
                       "; allowed: those of one kind of GPU");
    result_.device.name = device_;
    most_ranks_ = std::max(most_ranks_, ranks);
    for (const Row& row : rows_) take(row, ranks, nodes);
    rows_.clear();
  }

  void check_list() const {
    if (list_.has_repeated_ranks())
      throw InputError(name_ +
                       ": ranks are listed twice: the output of several programs is mixed (nccl-tests built "
                       "without MPI?); allowed: that of one");
    const bool is_listed_alone = list_.ranks() == 1 && options_.ranks < 2 && (!ratio_ || ratio_->fits(1));
    if (is_listed_alone || options_.ranks == 1 || (ratio_ && ratio_->high < kSingleRankRatio))
      throw InputError(name_ +
                       ": the run has 1 rank, which exchanges nothing; allowed: a run over 2 or more "
                       "GPUs (-g, or nccl-tests built with MPI=1 under mpirun)");
    if (options_.ranks > 0 && options_.ranks < list_.ranks())
      throw InputError(name_ + ": the log lists rank " + std::to_string(list_.ranks() - 1) + ", so at least " +
                       std::to_string(list_.ranks()) + " ranks, and --ranks is " + std::to_string(options_.ranks) +
                       "; allowed: leave --ranks out");
    // More than are listed only if busbw says so: the list was cut off.
    const int listed = list_.ranks();
    const bool has_listed = !ratio_ || (operation_.empty() ? !operations_with(ratio_, row_columns_, listed).empty()
                                                           : ratio_->fits(bus_factor(operation_, listed)));
    if (listed > 1 && options_.ranks > listed && list_.listed() == listed && has_listed)
      throw InputError(name_ + ": the log lists " + std::to_string(listed) + " ranks, and --ranks is " +
                       std::to_string(options_.ranks) + "; allowed: leave --ranks out");
  }

  int known_ranks() const { return options_.ranks > 0 ? options_.ranks : list_.ranks(); }

  void choose_operation() {
    if (operation_.empty() && !program_.empty())
      throw InputError(
          name_ + ": " + program_ + " times no collective that a profile has; allowed: all_reduce_perf, " +
          "all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf, reduce_perf, sendrecv_perf");
    if (operation_.empty() && !rows_.empty()) {
      const std::vector<std::string> fitting = operations_with(ratio_, row_columns_, known_ranks());
      if (fitting.size() == 1) operation_ = fitting.front();
    }
    if (operation_.empty())
      throw InputError(name_ + ": the log does not say which collective it timed" +
                       (ratio_ ? ratio_text() + " is " + readings_of(*ratio_, row_columns_, known_ranks()) : "") +
                       "; allowed: name it (--operation)");
    const std::vector<std::string>& known = nccl_operations();
    if (std::find(known.begin(), known.end(), operation_) == known.end())
      throw InputError(name_ + ": unknown operation \"" + operation_ + "\"; allowed: " + joined(known));
    // The program's own name says more than columns, which early versions filled differently.
    if (program_.empty() && !columns_allow(row_columns_, operation_))
      throw InputError(name_ + ": --operation is " + operation_ + ", and the rows have redop " +
                       (row_columns_.redop.empty() ? "" : in_quotes(row_columns_.redop)) +
                       (row_columns_.root.empty() ? "" : " and root " + row_columns_.root) +
                       (ratio_ ? ratio_text() : "") +
                       "; allowed: " + joined(operations_with(ratio_, row_columns_, known_ranks())));
  }

  int choose_ranks() const {
    if (known_ranks() > 1) return known_ranks();
    const auto fitting = ratio_ ? ranks_with(*ratio_, operation_) : std::nullopt;
    if (fitting && fitting->first == fitting->second) return fitting->first;
    throw InputError(
        name_ + ": the log does not list its ranks" +
        (fitting && fitting->second < kMostRanks
             ? ratio_text() + " is that of " + std::to_string(fitting->first) + " to " + std::to_string(fitting->second)
             : "") +
        "; allowed: give their number (--ranks)");
  }

  std::string ratio_text() const { return ", and busbw / algbw = " + ratio_digits(ratio_->middle); }

  void check_ratio(int ranks) const {
    const double factor = bus_factor(operation_, ranks);
    if (!ratio_ || ratio_->fits(factor)) return;
    const std::string readings = readings_of(*ratio_, row_columns_, 0);
    std::string text = name_ + ": busbw / algbw = " + ratio_digits(ratio_->middle) + ", and " + operation_ +
                       (program_.empty() && !options_.operation.empty() ? " (--operation)" : "") + " on " +
                       std::to_string(ranks) + " ranks (" + (options_.ranks > 0 ? "--ranks" : "listed") + ") has " +
                       ratio_digits(factor);
    if (!readings.empty()) text += "; the ratio is that of " + readings;
    throw InputError(text + "; allowed: " +
                     (options_.ranks > 0 || !options_.operation.empty()
                          ? "--operation and --ranks as the log has them"
                          : "a log of all listed ranks together, or --ranks and --nodes if its list is cut off"));
  }

  int choose_nodes(int ranks) const {
    const int given = options_.nodes, hosts = list_.nodes();
    const std::string count = std::to_string(ranks);
    if (given > 0) {
      const bool is_complete = list_.listed() == ranks && list_.repeated_device().empty();
      if (given < hosts || (is_complete && given != hosts))
        throw InputError(name_ + ": the log lists " + std::to_string(hosts) + " hosts, and --nodes is " +
                         std::to_string(given) + "; allowed: leave --nodes out");
      if (given > ranks)
        throw InputError(name_ + ": --nodes is " + std::to_string(given) + ", and there are " + count +
                         " ranks; allowed: at most one node for each rank");
      return given;
    }
    if (!list_.repeated_device().empty())
      throw InputError(name_ + ": " + list_.repeated_device() +
                       ", so several hosts share a name; allowed: give the number of nodes (--nodes)");
    if (!list_.is_empty() && list_.listed() < ranks)
      throw InputError(name_ + ": " + std::to_string(list_.listed()) + " of " + count +
                       " ranks are listed, which does not tell their hosts; allowed: give the number of nodes "
                       "(--nodes)");
    if (list_.is_empty() && ranks > kMostRanksOfNode)
      throw InputError(name_ + ": the log does not list its hosts, and " + count +
                       " GPUs are more than a usual node has; allowed: give the number of nodes (--nodes)");
    const std::map<std::string, int> on = list_.per_host();
    for (const auto& [host, on_host] : on)
      if (on_host != on.begin()->second)
        throw InputError(name_ + ": " + std::to_string(on_host) + " ranks on " + host + " and " +
                         std::to_string(on.begin()->second) + " on " + on.begin()->first +
                         "; allowed: as many on each node");
    return std::max(1, hosts);
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
      const auto first = static_cast<int>(item.at("rank").integer(0, 1 << 20));
      const std::string host = item.at("hostname").text();
      for (int i = 0; i < of_process; ++i) list_.add(first + i, host, "");
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

  // Reads "# Rank 0 Group 0 Pid 101 on node-0 device 0 [0000:0f:00] NVIDIA H100 80GB HBM3".
  bool take_rank(const std::string& line, const std::vector<std::string>& words) {
    double rank = 0;
    if (words.size() < 8 || words[0] != "#" || words[1] != "Rank" || !to_number(words[2], rank)) return false;
    auto on = std::find(words.begin() + 3, words.end(), "on");
    while (words.end() - on > 4 && on[2] != "device") on = std::find(on + 1, words.end(), "on");
    const std::size_t bus_end = line.find(']');
    if (words.end() - on <= 4 || bus_end == std::string::npos || !(rank >= 0 && rank < kMostRanks)) return false;
    const std::size_t name = line.find_first_not_of(" \t", bus_end + 1);
    if (name == std::string::npos) return false;
    const std::size_t bus = line.rfind('[', bus_end);
    list_.add(static_cast<int>(rank), on[1],
              on[3] + (bus == std::string::npos ? "" : " " + line.substr(bus, bus_end + 1 - bus)));
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
    Row row;
    row.where = where;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& column = columns[i];
      if (column == "size") to_number(words[i], row.bytes);
      if (column == "type") row.type = words[i];
      if (column == "redop") row.columns.redop = words[i];
      if (column == "root") row.columns.root = words[i];
      if (column == "time" && !to_number(words[i], row.time_us)) row.time_us = -1;
      if (column == "algbw") {
        if (!to_number(words[i], row.bandwidths.algbw)) row.bandwidths.algbw = -1;
        row.bandwidths.rounding = rounding_of(words[i]);
      }
      if (column == "busbw") {
        if (!to_number(words[i], row.bandwidths.busbw)) row.bandwidths.busbw = -1;
        row.bandwidths.rounding = std::max(row.bandwidths.rounding, rounding_of(words[i]));
      }
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
    const std::string& first = type_and_reduction_.try_emplace(operation_, row.what()).first->second;
    const double algbw = row.bandwidths.algbw, factor = bus_factor(operation_, ranks);
    if (row.what() != first)
      why = row.what() + " among rows of " + first + "; allowed: one type and reduction";
    else if (!(seconds > 0) || algbw < 0)
      why = "no time";
    else if (is_wrong(row.wrong))
      why = row.wrong + " wrong results";
    else if (std::abs(row.bytes / seconds / 1e9 - algbw) > kRounding + kTimeRounding * algbw)
      why = "algbw " + short_number(algbw) + " GB/s is not size / time = " + short_number(row.bytes / seconds / 1e9) +
            " GB/s";
    else if (row.bandwidths.busbw >= 0 && !has_factor(row.bandwidths, factor))
      why = "busbw " + short_number(row.bandwidths.busbw) + " GB/s is not " + short_number(factor) +
            " x algbw = " + short_number(factor * algbw) + " GB/s";
    if (!why.empty()) {
      result_.refused.push_back(row.where + ": " + why);
      return;
    }
    Sample sample;
    sample.probe = "collective";
    sample.key = {{"operation", operation_}, {"library", "nccl"}, {"ranks", ranks}, {"nodes", nodes}};
    // Two ranks send to each other at once: a copy both ways, which a cluster file may name as a link.
    if (operation_ == kSendReceive && ranks == 2 && nodes == 1) {
      sample.probe = "copy";
      sample.key = {{"from", "gpu0"}, {"to", "gpu1"}, {"both_ways", true}, {"test", "sendrecv"}};
    }
    if (row.in_place) sample.key["in_place"] = true;
    sample.key["bytes"] = row.bytes;
    sample.seconds = {seconds};
    sample.kind = "imported";
    sample.source = row.where;
    // Cycles (-N) and repeated measurements form one series.
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
  RankList list_;
  std::optional<BusRatio> ratio_;  // of the run's rows
  RowColumns row_columns_;
  int most_ranks_ = 0;
  std::string device_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;                                  // of the run that is read
  std::map<std::string, std::string> type_and_reduction_;  // data type and reduction of the rows that were kept
  std::map<std::string, std::size_t> index_;               // of samples, by id
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
