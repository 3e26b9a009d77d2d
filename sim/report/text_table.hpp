#pragma once
// Tables on a terminal.
#include <string>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::report {

/// Right-aligned columns, two blanks apart, the first of names to the left if so asked; the first row has as many cells as
/// any.
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
