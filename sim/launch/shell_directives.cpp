#include <algorithm>

#include "sim/launch/shell.hpp"

namespace lockstep::sim::launch {

std::vector<ShellCommand> read_directives(const std::string& text, const std::string& name) {
  const std::string mark = "#SBATCH";
  std::vector<ShellCommand> directives;
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    if (text.compare(begin, mark.size(), mark) == 0) {
      ShellCommand directive{{}, {name, line}};
      std::string row = text.substr(begin + mark.size(), end - begin - mark.size());
      row = row.substr(0, row.find(" #"));
      std::string word;
      for (const char c : row + " ") {
        if (c != ' ' && c != '\t' && c != '\r') {
          word += c;
          continue;
        }
        if (!word.empty()) directive.words.push_back({word, "", {name, line}});
        word.clear();
      }
      directives.push_back(std::move(directive));
    }
    begin = end + 1;
  }
  return directives;
}

}  // namespace lockstep::sim::launch
