#include "calib/import/perftest.hpp"

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kGigabit = 1.25e8;  // bytes
constexpr double kUsec = 1e-6;
constexpr double kTolerance = 0.02;  // of size x MsgRate, besides the rounding of both figures
constexpr double kRoundingOfAverage = 0.005, kRoundingOfRate = 0.5e-6;  // --out_json: two and six decimals
constexpr int kMostPorts = 2;
constexpr int kMostQueuePairs = 1 << 20;

// Words of the table's head; "BW peak[MB/sec]" and "99% percentile[usec]" are one column each.
std::vector<std::string> table_columns(const std::string& line) {
  std::vector<std::string> columns;
  bool joins = false;
  for (const std::string& word : words_of(line)) {
    if (joins)
      columns.back() += " " + word;
    else
      columns.push_back(word);
    joins = word == "BW" || word == "MsgRate" || word == "99%" || word == "99.9%" || word == "tps";
  }
  return columns;
}

std::string text_after(const std::string& line, const std::string& label) {
  const std::size_t at = line.find(label);
  if (at == std::string::npos) return "";
  const std::size_t colon = line.find(':', at + label.size());
  if (colon == std::string::npos) return "";
  const std::vector<std::string> words = words_of(line.substr(colon + 1));
  return words.empty() ? "" : words.front();
}

int whole_after(const std::string& line, const std::string& label, int most) {
  const long value = std::strtol(text_after(line, label).c_str(), nullptr, 10);
  return value > 0 && value <= most ? static_cast<int>(value) : 0;
}

double rounding_of_word(const std::string& word) {
  const std::size_t point = word.find('.');
  return 0.5 * std::pow(10.0, point == std::string::npos ? 0.0 : -static_cast<double>(word.size() - point - 1));
}

class PerftestLog {
 public:
  PerftestLog(const std::string& name, std::vector<std::string>& refused) : name_(name), refused_(refused) {}

  std::vector<TransferTest> read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    for (line_ = 1; std::getline(lines, line); ++line_) take(plain_line(line));
    finish();
    if (tests_.empty())
      throw InputError(name_ + ": no row of perftest; allowed: the text that ib_write_bw, ib_read_bw, ib_send_bw, " +
                       "ib_write_lat, ib_read_lat or ib_send_lat prints" +
                       (refused_.empty() ? "" : "; first refused: " + refused_.front()));
    return std::move(tests_);
  }

 private:
  std::string line_text() const { return name_ + " line " + std::to_string(line_); }

  [[noreturn]] void contradict(const std::string& one, const std::string& other) const {
    throw InputError(line_text() + ": " + one + ", and " + other +
                     "; allowed: the output of one run as it was printed");
  }

  void finish() {
    if (!test_.rows.empty()) tests_.push_back(test_);
    test_ = TransferTest();
    columns_.clear();
    title_.clear();
  }

  void take(const std::string& line) {
    if (take_title(line)) return;
    const std::vector<std::string> words = words_of(line);
    if (!words.empty() && words.front() == "#bytes") return begin_table(line);
    if (columns_.empty())
      take_fact(line);
    else
      take_row(words);
  }

  bool take_title(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 3 || words.back() != "Test") return false;
    const std::string& verb = words.front();
    const bool is_verb = verb == "Send" || verb == "Send_imm" || verb == "RDMA_Write" || verb == "RDMA_Write_imm" ||
                         verb == "RDMA_Read" || verb == "Atomic";
    if (!is_verb) return false;
    finish();
    for (const std::string& word : words) title_ += (title_.empty() ? "" : " ") + word;
    test_.verb = verb;
    test_.quantity = has_word(words, "Latency") ? TransferQuantity::latency : TransferQuantity::bandwidth;
    test_.is_both_ways = has_word(words, "Bidirectional");
    return true;
  }

  static bool has_word(const std::vector<std::string>& words, const char* word) {
    for (const std::string& one : words)
      if (one == word) return true;
    return false;
  }

  void take_fact(const std::string& line) {
    if (const std::string device = text_after(line, "Device "); !device.empty()) test_.device = device;
    if (const std::string type = text_after(line, "Link type"); !type.empty()) test_.link_type = type;
    if (const int mtu = whole_after(line, "Mtu", 1 << 16); mtu > 0) test_.mtu_bytes = mtu;
    if (const int pairs = whole_after(line, "Number of qps", kMostQueuePairs); pairs > 0) test_.queue_pairs = pairs;
    if (text_after(line, "Dual-port") == "ON") test_.ports = kMostPorts;
  }

  // Client and server of one machine print into one file; the second head begins no other test.
  void begin_table(const std::string& line) {
    columns_ = table_columns(line);
    average_ = typical_ = peak_ = rate_ = least_ = most_ = -1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& column = columns_[i];
      const auto begins = [&](const char* text) { return column.rfind(text, 0) == 0; };
      const int place = static_cast<int>(i);
      if (begins("BW average[")) average_ = place;
      if (begins("BW peak[")) peak_ = place;
      if (begins("MsgRate[")) rate_ = place;
      if (begins("t_typical[") || (begins("t_avg[") && typical_ < 0)) typical_ = place;
      if (begins("t_min[")) least_ = place;
      if (begins("t_max[")) most_ = place;
    }
    if (title_.empty()) test_.quantity = typical_ >= 0 ? TransferQuantity::latency : TransferQuantity::bandwidth;
    const bool is_latency = test_.quantity == TransferQuantity::latency;
    if ((is_latency && typical_ < 0 && average_ >= 0) || (!is_latency && average_ < 0 && typical_ >= 0))
      contradict("the title is \"" + title_ + "\"",
                 std::string("the table has ") + (is_latency ? "bandwidths" : "latencies"));
    if (average_ >= 0) take_unit(columns_[static_cast<std::size_t>(average_)]);
  }

  void take_unit(const std::string& column) {
    const std::size_t open = column.find('['), close = column.find(']');
    unit_ = close == std::string::npos ? "" : column.substr(open + 1, close - open - 1);
    if (unit_ == "MB/sec" || unit_ == "MiB/sec")
      unit_bytes_per_s_ = kMebi;
    else if (unit_ == "Gb/sec")
      unit_bytes_per_s_ = kGigabit;
    else
      throw InputError(line_text() + ": bandwidths in \"" + unit_.substr(0, 40) +
                       "\"; allowed: MB/sec, MiB/sec, Gb/sec");
  }

  static bool is_number(const std::string& word, double& value) {
    char* end = nullptr;
    value = std::strtod(word.c_str(), &end);
    return !word.empty() && *end == 0 && std::isfinite(value) && value >= 0;
  }

  void take_row(const std::vector<std::string>& words) {
    double bytes = 0;
    if (words.size() < 2 || !is_number(words.front(), bytes)) return;  // warnings, and the rule below the table
    std::vector<double> values;
    for (const std::string& word : words) {
      values.emplace_back();
      if (!is_number(word, values.back())) return;
    }
    if (words.size() < columns_.size())
      return refused_.push_back(line_text() + ": " + std::to_string(words.size()) + " of " +
                                std::to_string(columns_.size()) + " figures: a row is cut off");
    if (!(bytes >= 1) || bytes > kMostBytes) return refused_.push_back(line_text() + ": no size of a message");
    const bool is_latency = test_.quantity == TransferQuantity::latency;
    if ((is_latency ? typical_ : average_) < 0) return;
    const double seconds = is_latency ? latency_in(values) : seconds_by_bandwidth(values, words);
    if (!(seconds > 0) || !std::isfinite(seconds)) return refused_.push_back(line_text() + ": a figure of 0");
    test_.rows.push_back({bytes, seconds, line_});
  }

  double latency_in(const std::vector<double>& values) const {
    const double typical = values[static_cast<std::size_t>(typical_)];
    const auto check_order = [&](int column, bool is_least) {
      if (column < 0) return;
      const double other = values[static_cast<std::size_t>(column)];
      if (is_least ? other > typical : other < typical)
        contradict(columns_[static_cast<std::size_t>(column)] + " is " + short_number(other),
                   columns_[static_cast<std::size_t>(typical_)] + " " + short_number(typical));
    };
    check_order(least_, true);
    check_order(most_, false);
    return typical * kUsec;
  }

  // The tool adds both directions; each has half.
  double seconds_by_bandwidth(const std::vector<double>& values, const std::vector<std::string>& words) const {
    const auto average_at = static_cast<std::size_t>(average_);
    const double bytes = values.front(), average = values[average_at];
    const double peak = peak_ < 0 ? 0 : values[static_cast<std::size_t>(peak_)];
    if (peak > 0 && peak < (1 - kTolerance) * average - rounding_of_word(words[average_at]))
      contradict("BW peak is " + short_number(peak) + " " + unit_, "BW average " + short_number(average) + " " + unit_);
    if (rate_ >= 0) check_rate(values, words);
    return (test_.is_both_ways ? 2 : 1) * bytes / (average * unit_bytes_per_s_);
  }

  void check_rate(const std::vector<double>& values, const std::vector<std::string>& words) const {
    const auto average_at = static_cast<std::size_t>(average_), rate_at = static_cast<std::size_t>(rate_);
    const double to_unit = values.front() * 1e6 / unit_bytes_per_s_, average = values[average_at];
    const double by_rate = values[rate_at] * to_unit;
    const double allowed =
        kTolerance * average + rounding_of_word(words[average_at]) + rounding_of_word(words[rate_at]) * to_unit;
    if (std::abs(by_rate - average) > allowed)
      contradict("BW average is " + short_number(average) + " " + unit_,
                 "MsgRate " + words[rate_at] + " Mpps of " + short_number(values.front()) + " bytes is " +
                     short_number(by_rate) + " " + unit_);
  }

  std::string name_;
  std::vector<std::string>& refused_;
  int line_ = 0;
  std::vector<TransferTest> tests_;
  TransferTest test_;
  std::string title_, unit_;
  double unit_bytes_per_s_ = kMebi;
  std::vector<std::string> columns_;  ///< of the table; empty: it has not begun
  int average_ = -1, peak_ = -1, rate_ = -1, typical_ = -1, least_ = -1, most_ = -1;  ///< their columns; -1: none
};

bool is_perftest_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' && text.find("\"test_info\"") != std::string::npos &&
         text.find("\"MsgSize\"") != std::string::npos;
}

double number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text_in_info(const Json& info, const char* key) {
  const auto found = info.find(key);
  return found != info.end() && found->is_string() ? found->get<std::string>() : "";
}

// --out_json: one size, and no unit of the bandwidth, which follows from MsgRate.
TransferTest perftest_of_json(const std::string& text, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(text, name);
  const JsonNode info_node = document.root().at("test_info"), results_node = document.root().at("results");
  const Json &info = info_node.json(), &results = results_node.json();
  if (!info.is_object() || !results.is_object())
    throw InputError(name + ": /results: is no object; allowed: the file that --out_json of perftest writes");
  TransferTest test;
  const std::string title = text_in_info(info, "test");  // "RDMA_Write_Bidirectional_BW_Test"
  for (const char* verb : {"Send", "Send_imm", "RDMA_Write", "RDMA_Write_imm", "RDMA_Read", "Atomic"})
    if (title.rfind(verb, 0) == 0) test.verb = verb;
  test.is_both_ways = title.find("_Bidirectional_") != std::string::npos;
  test.device = text_in_info(info, "Device");
  test.link_type = text_in_info(info, "Link_type");
  const double mtu = number_in(info, "Mtu"), pairs = number_in(info, "Number_of_qps");
  test.mtu_bytes = mtu >= 1 && mtu <= 1 << 16 ? static_cast<int>(mtu) : 0;
  test.queue_pairs = pairs >= 1 && pairs <= kMostQueuePairs ? static_cast<int>(pairs) : 1;
  if (text_in_info(info, "Dual_port") == "ON") test.ports = kMostPorts;
  const double bytes = number_in(results, "MsgSize"), average = number_in(results, "BW_average");
  const double by_rate = number_in(results, "MsgRate") * 1e6 * bytes;  // bytes/s
  const double typical = number_in(results, results.contains("t_typical") ? "t_typical" : "t_avg");
  double seconds = typical * kUsec;
  if (average > 0) {
    const auto difference = [&](double unit) { return std::abs(by_rate / unit - average); };
    const double unit = difference(kMebi) < difference(kGigabit) ? kMebi : kGigabit;
    if (difference(unit) > kTolerance * average + kRoundingOfAverage + kRoundingOfRate * 1e6 * bytes / unit)
      throw InputError(name + ": /results/BW_average: is " + short_number(average) + ", and MsgRate of MsgSize is " +
                       short_number(by_rate / kMebi) + " MiB/sec or " + short_number(by_rate / kGigabit) +
                       " Gb/sec; allowed: the file as --out_json wrote it");
    seconds = (test.is_both_ways ? 2 : 1) * bytes / (average * unit);
  } else {
    test.quantity = TransferQuantity::latency;
  }
  if (!(bytes >= 1 && bytes <= kMostBytes && seconds > 0))
    throw InputError(name +
                     ": /results: has no size with a bandwidth or a latency; allowed: the file that --out_json " +
                     "of perftest writes");
  test.rows.push_back({bytes, seconds, 1});
  return test;
}

Json key_of(const TransferTest& test, double bytes) {
  Json key{{"test", test.name()},
           {"measures", test.quantity == TransferQuantity::latency ? "latency" : "bandwidth"},
           {"from", "node0"},
           {"to", "node1"},
           {"both_ways", test.is_both_ways},
           {"ports", test.ports},
           {"queue_pairs", test.queue_pairs},
           {"bytes", static_cast<std::int64_t>(bytes)}};
  if (test.is_round_trip()) key["round_trip"] = true;
  if (!test.device.empty()) key["nic"] = test.device;
  if (!test.link_type.empty()) key["link_type"] = test.link_type;
  if (test.mtu_bytes > 0) key["mtu_bytes"] = test.mtu_bytes;
  return key;
}

}  // namespace

std::string TransferTest::name() const {
  return (verb.empty() ? "" : verb + " ") + (quantity == TransferQuantity::latency ? "Latency" : "BW");
}

bool is_perftest(const std::string& text) {
  if (is_perftest_json(text)) return true;
  const std::size_t head = text.find("#bytes");
  if (head == std::string::npos || text.find("#iterations", head) == std::string::npos) return false;
  return text.find("BW average[", head) != std::string::npos || text.find("t_avg[usec]", head) != std::string::npos ||
         text.find("t_typical[usec]", head) != std::string::npos;
}

std::vector<TransferTest> read_perftest(const std::string& text, const std::string& name,
                                        std::vector<std::string>& refused) {
  if (is_perftest_json(text)) return {perftest_of_json(text, name)};
  return PerftestLog(name, refused).read(text);
}

Imported import_perftest(const std::string& text, const std::string& name) {
  Imported log;
  log.device = {kUnknownGpu, "imported", 1, Json::object()};
  std::map<std::string, std::size_t> index;
  for (const TransferTest& test : read_perftest(text, name, log.refused))
    for (const TransferRow& row : test.rows) {
      const Json key = key_of(test, row.bytes);
      const auto [entry, is_new] = index.try_emplace(canonical_id("copy", key), log.samples.size());
      if (is_new)
        log.samples.push_back({"copy", key, {}, "imported", name + " line " + std::to_string(row.line), {}, {}});
      log.samples[entry->second].seconds.push_back(row.seconds);
    }
  return sound(std::move(log), name);
}

}  // namespace lockstep::calib
