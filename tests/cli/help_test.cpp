// The help of every program and of every subcommand has an example of its own.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

// Returns the first words of the lines after "Subcommands:".
std::vector<std::string> subcommands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(std::min(help.find("ubcommands:"), help.size())));
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line.rfind("  ", 0) == 0;)
    if (line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

}  // namespace

TEST_CASE("the help of every command ends with an example of that command") {
  const TemporaryFolder folder;
  for (const std::string program : {"simulate", "train", "plan", "calibrate", "validate"}) {
    const Outcome whole = run_program(folder.path(""), program, "--help");
    CHECK(whole.code == 0);
    CHECK(whole.out.find("\n  " + program + " ") != std::string::npos);
    for (const std::string& subcommand : subcommands(whole.out)) {
      const Outcome help = run_program(folder.path(""), program, subcommand + " --help");
      INFO(program << " " << subcommand);
      CHECK(help.code == 0);
      CHECK(help.out.find("Example:\n  " + program + " " + subcommand + " ") != std::string::npos);
    }
  }
  CHECK(subcommands(run_program(folder.path(""), "train", "--help").out) == std::vector<std::string>{"sweep", "plot"});
}

}  // namespace lockstep::tests
