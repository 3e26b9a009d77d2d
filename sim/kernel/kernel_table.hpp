#pragma once
// A table of kernels in CSV: a header, then rows. Cells in double quotes may contain commas.
#include <string>
#include <vector>

#include "sim/kernel/kernel_row.hpp"

namespace lockstep::sim {
inline namespace kernel {

class KernelTable {
 public:
  /// Throws InputError if there is no header, or a column occurs twice. Cells must not contain line breaks.
  KernelTable(std::string text, std::string path);

  std::size_t size() const { return rows_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  /// Throws InputError if the row has more or fewer cells than the header.
  KernelCells cells(std::size_t row) const;
  /// Returns the row as in the file, without its line break.
  std::string row_text(std::size_t row) const { return text_.substr(rows_[row].begin, rows_[row].length); }
  const std::string& header_text() const { return header_; }
  int line(std::size_t row) const { return rows_[row].line; }
  /// Throws InputError if there is no such column, or the cell is not a number of at least 0.
  double number(const KernelCells& cells, const std::string& column) const;

 private:
  struct Row {
    std::size_t begin, length;
    int line;
  };
  std::string text_, path_, header_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

/// Writes a cell of a CSV file, in quotes if necessary.
std::string csv_cell(const std::string& text);

}  // namespace kernel
}  // namespace lockstep::sim
