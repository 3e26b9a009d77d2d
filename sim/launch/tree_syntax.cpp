#include "sim/launch/tree_syntax.hpp"

#include <algorithm>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/python_repr.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

bool is_of_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || std::string("_-./+<").find(c) < 6;
}

// Returns the first line that is neither empty nor a comment, without blanks around it.
std::string first_line(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = without_blanks(text.substr(begin, end - begin));
    if (!line.empty() && line.front() != '#') return line;
    begin = end + 1;
  }
  return "";
}

// "key: value", "key:", "- item", "---", "? key".
bool is_yaml_line(const std::string& line) {
  if (line.compare(0, 3, "---") == 0 || line.compare(0, 5, "%YAML") == 0) return true;
  std::size_t at = line.compare(0, 2, "- ") == 0 ? line.find_first_not_of(' ', 1) : 0;
  if (at == std::string::npos || at >= line.size()) return false;
  const std::size_t begin = at;
  if (line[at] == '"' || line[at] == '\'') {
    const std::size_t close = line.find(line[at], at + 1);
    at = close == std::string::npos ? line.size() : close + 1;
  } else {
    while (at < line.size() && is_of_key(line[at])) ++at;
  }
  return at > begin && at < line.size() && line[at] == ':' && (at + 1 == line.size() || line[at + 1] == ' ');
}

// "[section]", "[[table]]" or "key = value". A shell's assignment has no blanks, and its test has them.
bool is_toml_line(const std::string& line) {
  if (line.size() > 2 && line.front() == '[') {
    const std::size_t name = line.find_first_not_of('['), close = line.find(']');
    if (close == std::string::npos || name >= close) return false;
    const std::string inside = line.substr(name, close - name);
    const std::size_t behind = line.find_first_not_of("] \t", close);
    return std::all_of(inside.begin(), inside.end(), is_of_key) && (behind == std::string::npos || line[behind] == '#');
  }
  const std::size_t equals = line.find(" = ");
  return equals != std::string::npos && equals > 0 &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(equals), is_of_key);
}

}  // namespace

std::optional<TreeSyntax> find_syntax(const std::string& path, const std::string& text) {
  for (const char* ending : {".sh", ".bash", ".slurm", ".sbatch"})
    if (ends_with(path, ending)) return std::nullopt;
  for (const char* ending : {".json", ".yaml", ".yml", ".toml"})
    if (ends_with(path, ending)) return syntax_of(path, text);
  if (text.compare(0, 2, "#!") == 0 || text.find("\n#SBATCH") != std::string::npos) return std::nullopt;
  if (is_python_repr(text)) return TreeSyntax::python;
  const std::string line = first_line(text);
  const bool is_tree = !line.empty() && (line.front() == '{' || is_toml_line(line) || is_yaml_line(line));
  return is_tree ? std::optional<TreeSyntax>(syntax_of(path, text)) : std::nullopt;
}

TreeSyntax syntax_of(const std::string& path, const std::string& text) {
  if (ends_with(path, ".toml")) return TreeSyntax::toml;
  if (is_python_repr(text)) return TreeSyntax::python;
  if (ends_with(path, ".yaml") || ends_with(path, ".yml")) return TreeSyntax::yaml;
  const std::string line = first_line(text);
  if (line.empty() || line.front() != '{') return is_toml_line(line) ? TreeSyntax::toml : TreeSyntax::yaml;
  const bool is_python = !Json::accept(text) && tree_of_python_repr(text).has_value();
  return is_python ? TreeSyntax::python : TreeSyntax::json;
}

std::optional<std::string> find_logged_configuration(const std::string& text) {
  std::size_t at = text.find("Running with ");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find('{', at), end = text.find('\n', at);
  if (begin == std::string::npos || begin > end) return std::nullopt;
  int depth = 0;
  char quote = '\0';
  for (at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == '\\') ++at;
      if (c == quote) quote = '\0';
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      const std::string inside = text.substr(begin, at + 1 - begin);
      return Json::accept(inside) || tree_of_python_repr(inside) ? std::optional<std::string>(inside) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::sim::launch
