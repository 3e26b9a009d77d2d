#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kUsualBufferBytes = 512.0 * 1024 * 1024;

// "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)": what rows and columns are, and which way bytes go.
struct Direction {
  std::string engine;  ///< CE or SM
  std::string row;     ///< CPU, GPU; empty: the column's device itself
  std::string column;
  bool to_row = false;
  bool both_ways = false;
  bool is_total = false;  ///< both ways added up: half of it is one way's
};

enum class Kind { other, copy, part_of_total, no_copy };

// A line that says what the matrix below it, or in JSON beside it, holds.
Kind parse_direction(const std::string& test, const std::string& text, Direction& direction) {
  static const std::regex form(
      R"(memcpy (CE|SM) (CPU|GPU)\(row\) (<->|->|<-) (CPU|GPU)\(column\) (\w+ )?bandwidth \(GB/s\))");
  static const std::regex unit(R"(\((GB/s|ns|us)\))");
  std::smatch match;
  if (text.find("memcpy local GPU(column) bandwidth (GB/s)") != std::string::npos) {
    direction = {"CE", "", "GPU"};
    return Kind::copy;
  }
  if (!std::regex_search(text, match, form)) return std::regex_search(text, unit) ? Kind::no_copy : Kind::other;
  const std::string part = match[5];
  if (!part.empty() && part != "Total ") return Kind::part_of_total;  // "Read1 ", "Write2 "
  // What all send to one or one to all is no copy between two places, though the line looks the same.
  if (test.find("all_to_one") != std::string::npos || test.find("one_to_all") != std::string::npos)
    return Kind::no_copy;
  direction = {match[1], match[2], match[4], match[3] == "<-", match[3] == "<->", !part.empty()};
  if (test.find("device_to_device") == std::string::npos) return Kind::copy;
  // Some tests over several nodes say CPU for the row. And the arrow tells who asks for the bytes: a read from column
  // to row is "->", a write from row to column "<-" (nvbandwidth 0.8, testcases_ce.cpp).
  direction.row = direction.column = "GPU";
  direction.to_row = !direction.both_ways && !direction.to_row;
  return Kind::copy;
}

class Bandwidths {
 public:
  explicit Bandwidths(std::string name) : name_(std::move(name)) {}

  void add(const std::string& test, const Direction& direction, int row, int column, const std::string& value,
           const std::string& where) {
    double gb_per_s = 0;
    char* end = nullptr;
    gb_per_s = std::strtod(value.c_str(), &end);
    if (value == "N/A" || (end != value.c_str() && *end == 0 && gb_per_s == 0)) return;
    if (end == value.c_str() || *end != 0 || !(gb_per_s > 0) || !std::isfinite(gb_per_s)) {
      result.refused.push_back(where + ": \"" + value + "\" is no bandwidth");
      return;
    }
    if (direction.is_total) gb_per_s /= 2;
    const std::string at_column = place(direction.column, column),
                      at_row = direction.row.empty() ? at_column : place(direction.row, row);
    Sample sample;
    sample.probe = "copy";
    sample.key = {{"test", test},
                  {"engine", direction.engine},
                  {"from", direction.to_row ? at_column : at_row},
                  {"to", direction.to_row ? at_row : at_column},
                  {"both_ways", direction.both_ways},
                  {"bytes", buffer_bytes}};
    sample.seconds = {buffer_bytes / (gb_per_s * 1e9)};
    sample.kind = "imported";
    sample.source = where;
    result.samples.push_back(sample);
  }

  void leave_out(const std::string& test, const std::string& where) {
    result.refused.push_back(where + ": " + test + " is no copy from one place to another");
  }

  Imported finish() {
    if (result.samples.empty())
      throw InputError(name_ + ": no bandwidth of nvbandwidth" +
                       (result.refused.empty() ? "" : "; first refused: " + result.refused.front()));
    if (result.device.name.empty()) result.device.name = kUnknownGpu;
    result.device.kind = "imported";
    result.device.count = std::max(1, result.device.count);
    return std::move(result);
  }

  Imported result;
  double buffer_bytes = kUsualBufferBytes;

 private:
  static std::string place(const std::string& kind, int index) {
    return kind == "CPU" ? "host" : "gpu" + std::to_string(index);
  }
  std::string name_;
};

// "Device 0: NVIDIA H100 (00000000:1b:00)" in text, "0: NVIDIA H100 80GB HBM3 (0000:1b:00): (host)" in JSON.
void note_device(const std::string& text, Imported& result) {
  static const std::regex form(R"((?:Device )?(\d+): (.*?)\s*(?:\(.*)?$)");  // early versions: the name alone
  std::smatch match;
  if (!std::regex_search(text, match, form)) return;
  result.device.name = match[2];
  result.device.count = std::max(result.device.count, std::atoi(match[1].str().c_str()) + 1);
}

void read_text(const std::string& text, const std::string& name, Bandwidths& bandwidths) {
  static const std::regex running(R"(^Running (\S+)\.$)");
  std::istringstream stream(text);
  std::string test;
  Direction direction;
  bool is_matrix = false, has_columns = false;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    line = plain_line(line);
    const std::string where = name + " line " + std::to_string(number);
    const Kind kind = parse_direction(test, line, direction);
    std::smatch match;
    if (std::regex_match(line, match, running)) {
      test = match[1];
      is_matrix = false;
    } else if (kind != Kind::other) {
      is_matrix = kind == Kind::copy;
      has_columns = false;
      if (kind == Kind::no_copy) bandwidths.leave_out(test, where);
    } else if (line.compare(0, 7, "Device ") == 0) {
      note_device(line, bandwidths.result);
    } else if (is_matrix) {
      std::istringstream row(line);
      std::vector<std::string> words;
      for (std::string word; row >> word;) words.push_back(word);
      if (words.empty() || words[0] == "SUM") {
        is_matrix = false;
      } else if (!has_columns) {
        has_columns = true;  // the line of column numbers
      } else {
        for (std::size_t i = 1; i < words.size(); ++i)
          bandwidths.add(test, direction, std::atoi(words[0].c_str()), static_cast<int>(i) - 1, words[i], where);
      }
    }
  }
}

void read_json(const JsonNode& root, const std::string& name, Bandwidths& bandwidths) {
  const JsonNode all = root.at("nvbandwidth");
  if (const auto devices = all.find("GPU Device list"))
    for (const JsonNode& item : devices->items()) note_device(item.text(), bandwidths.result);
  if (const auto mib = all.find("bufferSize")) bandwidths.buffer_bytes = mib->number({1, 1e6}) * 1024 * 1024;
  for (const JsonNode& test : all.at("testcases").items()) {
    const auto matrix = test.find("bandwidth_matrix");
    Direction direction;
    if (!matrix) continue;
    const std::string test_name = test.at("name").text();
    if (parse_direction(test_name, test.at("bandwidth_description").text(), direction) != Kind::copy) {
      bandwidths.leave_out(test_name, name + ": " + test.pointer());
      continue;
    }
    std::vector<JsonNode> rows = matrix->items();
    // Of the three matrices of a copy both ways, one below the other, the last is the total.
    if (direction.is_total) rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 3 * 2));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::vector<JsonNode> cells = rows[r].items();
      for (std::size_t c = 0; c < cells.size(); ++c)
        bandwidths.add(test_name, direction, static_cast<int>(r), static_cast<int>(c),
                       cells[c].is_string() ? cells[c].text() : short_number(cells[c].number({0, 1e9})),
                       name + ": " + cells[c].pointer());
    }
  }
}

}  // namespace

Imported import_nvbandwidth(const std::string& text, const std::string& name) {
  Bandwidths bandwidths(name);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    const JsonDocument document = JsonDocument::parse(text, name);
    read_json(document.root(), name, bandwidths);
  } else {
    read_text(text, name, bandwidths);
  }
  return bandwidths.finish();
}

}  // namespace lockstep::calib
