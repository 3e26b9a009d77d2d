#include "sim/kernel/kernel_table.hpp"

#include <charconv>
#include <cmath>
#include <set>

namespace lockstep::sim {
inline namespace kernel {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

KernelTable::KernelTable(std::string text, std::string path) : text_(std::move(text)), path_(std::move(path)) {
  int line = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    std::size_t length = end - begin;
    if (length > 0 && text_[begin + length - 1] == '\r') --length;
    ++line;
    if (length > 0) {
      if (columns_.empty()) {
        header_ = text_.substr(begin, length);
        columns_ = cells_of(header_);
      } else {
        rows_.push_back({begin, length, line});
      }
    }
    begin = end + 1;
  }
  if (columns_.empty()) throw InputError(path_ + ": no header; allowed: a CSV with the columns of results/kernels");
  if (std::set<std::string>(columns_.begin(), columns_.end()).size() != columns_.size())
    throw InputError(path_ + ": line 1: a column stands there twice");
}

KernelCells KernelTable::cells(std::size_t row) const {
  const std::vector<std::string> values = cells_of(row_text(row));
  if (values.size() != columns_.size())
    throw InputError(path_ + ": line " + std::to_string(line(row)) + ": " + std::to_string(values.size()) +
                     " cells; the header has " + std::to_string(columns_.size()));
  KernelCells cells;
  for (std::size_t i = 0; i < values.size(); ++i) cells[columns_[i]] = values[i];
  return cells;
}

double KernelTable::number(const KernelCells& cells, const std::string& column) const {
  const auto found = cells.find(column);
  if (found == cells.end()) throw InputError("no column " + in_quotes(column));
  double value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || !std::isfinite(value))
    throw InputError("column " + in_quotes(column) + ": " + in_quotes(text) + " is no number from 0");
  return value;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace kernel
}  // namespace lockstep::sim
