#include <cmath>
#include <cstdlib>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/sound.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kUsualBufferBytes = 512 * kMebi;
constexpr std::size_t kLongestName = 256;  // of a device
constexpr int kMostDevices = 1 << 20;

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

bool takes(const std::string& text, std::size_t& at, const std::string& word) {
  if (text.compare(at, word.size(), word) != 0) return false;
  at += word.size();
  return true;
}

std::string taken_of(const std::string& text, std::size_t& at, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (takes(text, at, word)) return word;
  return "";
}

bool has_unit(const std::string& text) {
  for (const char* unit : {"(GB/s)", "(ns)", "(us)"})
    if (text.find(unit) != std::string::npos) return true;
  return false;
}

// "memcpy CE CPU(row) <-> GPU(column) Total bandwidth (GB/s)": its words, the arrow and the word before "bandwidth" too;
// false where the text has no such phrase.
bool take_phrase(const std::string& text, Direction& direction, std::string& arrow, std::string& part) {
  std::size_t at = text.find("memcpy ");
  if (at == std::string::npos) return false;
  at += 7;
  direction.engine = taken_of(text, at, {"CE ", "SM "});
  direction.row = taken_of(text, at, {"CPU(row) ", "GPU(row) "});
  arrow = taken_of(text, at, {"<-> ", "-> ", "<- "});
  direction.column = taken_of(text, at, {"CPU(column) ", "GPU(column) "});
  if (direction.engine.empty() || direction.row.empty() || arrow.empty() || direction.column.empty()) return false;
  direction.engine.pop_back();
  for (std::string* place : {&direction.row, &direction.column}) place->resize(3);
  const std::size_t end = text.find("bandwidth (GB/s)", at);
  if (end == std::string::npos) return false;
  part = text.substr(at, end - at);
  return part.empty() || part.find(' ') == part.size() - 1;  // one word at most
}

// Parses a line that describes the matrix below it; in JSON, the matrix next to it.
Kind parse_direction(const std::string& test, const std::string& text, Direction& direction) {
  if (text.find("memcpy local GPU(column) bandwidth (GB/s)") != std::string::npos) {
    direction = {"CE", "", "GPU"};
    return Kind::copy;
  }
  Direction found;
  std::string arrow, part;
  if (!take_phrase(text, found, arrow, part)) return has_unit(text) ? Kind::no_copy : Kind::other;
  if (!part.empty() && part != "Total ") return Kind::part_of_total;  // "Read1 ", "Write2 "
  // Transfers from all to one, or from one to all, are no copy between two places, although the line looks the same.
  if (test.find("all_to_one") != std::string::npos || test.find("one_to_all") != std::string::npos)
    return Kind::no_copy;
  direction = {found.engine, found.row, found.column, arrow == "<- ", arrow == "<-> ", !part.empty()};
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

int number_at(const std::string& text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("0123456789", at);
  const std::string digits =
      text.substr(at, std::min<std::size_t>(end == std::string::npos ? text.size() : end, at + 9) - at);
  return digits.empty() ? -1 : std::min(kMostDevices, std::atoi(digits.c_str()));
}

// "Device 0: NVIDIA H100 (00000000:1b:00)" in text, "0: NVIDIA H100 80GB HBM3 (0000:1b:00): (host)" in JSON; of early
// versions the name alone.
void note_device(const std::string& text, Imported& result) {
  std::size_t at = 0;
  takes(text, at, "Device ");
  const int number = number_at(text, at);
  const std::size_t colon = text.find(": ", at);
  if (number < 0 || colon == std::string::npos) return;
  std::string name = text.substr(colon + 2, text.find('(', colon) - std::min(text.size(), colon + 2));
  name.erase(name.find_last_not_of(" \t") + 1);
  if (name.empty()) return;
  result.device.name = name;
  result.device.count = std::max(result.device.count, number + 1);
}

void read_text(const std::string& text, const std::string& name, Bandwidths& bandwidths) {
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
    if (line.rfind("Running ", 0) == 0 && line.back() == '.') {
      test = line.substr(8, line.size() - 9);
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
    for (const JsonNode& item : devices->items()) {
      if (item.text().size() > kLongestName) item.fail("a name of more than 256 characters");
      note_device(item.text(), bandwidths.result);
    }
  if (const auto mib = all.find("bufferSize")) bandwidths.buffer_bytes = mib->number({1, 1e6}) * kMebi;
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
    // A copy in both directions has three matrices, one below the other; the last is the total.
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
  return sound(bandwidths.finish(), name);
}

}  // namespace lockstep::calib
