#pragma once
// What tables on a terminal are made of.
#include <string>
#include <vector>

namespace lockstep::sim {
inline namespace report {

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

/// One number by a pattern of printf.
std::string formatted(const char* pattern, double value);
/// "1,737"
std::string with_thousands(double value);
/// Seconds up to two minutes, minutes up to two hours, hours up to two days, then days.
std::string duration_text(double seconds);

}  // namespace report
}  // namespace lockstep::sim
