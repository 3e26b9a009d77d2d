#pragma once
// The state of a shell script that is followed: its variables, what it exports, writes and leaves open.
#include <optional>

#include "sim/launch/shell.hpp"
#include "sim/launch/shell_tokens.hpp"

namespace lockstep::sim::launch {

struct Assignment {
  std::string name;
  bool adds = false;  ///< "NAME+=..."
  std::string raw;
};

/// "NAME=value", "NAME+=value".
std::optional<Assignment> assignment_of(const std::string& word);
/// export, declare, local, readonly, typeset
bool is_declaration(const std::string& word);

class ShellState {
 public:
  ShellState(const std::string& name, const std::map<std::string, std::string>& environment);

  [[noreturn]] void fail(int line, const std::string& wrong) const;
  void note(int line, const std::string& text);
  /// An assignment that may not happen leaves the variable unknown, unless its value would stay.
  void assign(const Assignment& assignment, int line, bool is_sure);
  /// The variable's value is not known from here on.
  void forget(const std::string& variable, int line);
  /// cat <<EOF > FILE; `body`: of the here-document, or null.
  void write_file(const ShellCommand& command, const std::string& target, const Token* body);
  ShellScript finish();

 protected:
  const std::string& name_;
  Variables variables_;
  ShellScript script_;

 private:
  Value elements_of(const std::string& raw, int line);
};

}  // namespace lockstep::sim::launch
