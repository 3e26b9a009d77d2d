#pragma once
// Runs a program of the build folder as a user would, and captures its output.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lockstep::tests {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs the program in `folder`. `arguments` is a shell text.
inline Outcome run_program(const std::filesystem::path& folder, const std::string& program,
                           const std::string& arguments) {
  const std::string out = (folder / "stdout.txt").string(), err = (folder / "stderr.txt").string();
  const std::string command = "cd '" + folder.string() + "' && '" LOCKSTEP_BUILD_DIR "/" + program + "' " + arguments +
                              " >'" + out + "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  if (status == -1 || !WIFEXITED(status)) throw std::runtime_error("cannot run " + command);
  Outcome outcome{WEXITSTATUS(status), slurp(out), slurp(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return outcome;
}

}  // namespace lockstep::tests
