#pragma once
// Follows a script, lists its commands "run", and compares them with those of bash.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "sim/launch/shell.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {

using Files = std::map<std::string, std::string>;

inline sim::launch::ShellScript followed(const std::string& script, const Files& files = {}) {
  sim::launch::ShellSurroundings surroundings;
  surroundings.read_file = [&](const std::string& path) {
    const auto file = files.find(path.compare(0, 2, "./") == 0 ? path.substr(2) : path);
    return file == files.end() ? std::optional<std::string>() : std::optional<std::string>(file->second);
  };
  return sim::launch::read_shell(script, "train.sh", surroundings);
}

// Returns the words of every command "run", separated by "|", one command per line. "?" follows a conditional command.
inline std::string runs_of(const std::string& script, const Files& files = {}) {
  std::string text;
  for (const sim::launch::ShellCommand& command : followed(script, files).commands) {
    const auto& words = command.words;
    std::size_t first = 0;  // behind "env A=1"
    while (first < words.size() && words[first].text != "run") ++first;
    if (first == words.size()) continue;
    for (std::size_t i = first; i < words.size(); ++i)
      text += (i == first ? "" : "|") + words[i].text + (words[i].unknown.empty() ? "" : "<" + words[i].unknown + ">");
    text += command.is_conditional ? "?\n" : "\n";
  }
  return text;
}

// Returns what bash prints if "run" prints its words as runs_of() does.
inline std::string words_by_bash(const std::string& script, const Files& files) {
  const TemporaryFolder folder;
  folder.write("run", "#!/bin/bash\nIFS='|'\nprintf '%s\\n' \"run${1+|}$*\" >> \"$WORDS\"\n");
  for (const auto& [name, text] : files) folder.write(name, text);
  folder.write("main.sh", script);
  const std::string place = std::string(folder.path(""));
  const std::string command = "cd '" + place + "' && chmod +x * && WORDS='" + place + "/words.txt' PATH=\"" + place +
                              ":$PATH\" bash main.sh >out.txt 2>err.txt </dev/null";
  const int status = std::system(command.c_str());
  if (status == -1) throw std::runtime_error("cannot run " + command);
  return slurp(folder.path("words.txt"));
}

// Checks that the reader and bash agree, and returns the commands.
inline std::string agreed(const std::string& script, const Files& files = {}) {
  const std::string words = runs_of(script, files);
  INFO(script);
  CHECK(words == words_by_bash(script, files));
  return words;
}

}  // namespace lockstep::tests
