#pragma once
// Prints tables for a terminal.
#include <string>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::report {

/// Right-aligned columns, two blanks apart; the first column is left-aligned on request. No row may have more cells
/// than the first.
class TextTable {
 public:
  explicit TextTable(bool begins_with_names = false) : begins_with_names_(begins_with_names) {}
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  bool begins_with_names_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep::sim::report
