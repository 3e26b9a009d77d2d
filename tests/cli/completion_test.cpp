// Shell completions and man pages match the options that the programs accept.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

// Returns the long options in a program's own help, such as "--gpus".
std::vector<std::string> long_options(const std::string& help) {
  std::vector<std::string> names;
  for (std::size_t at = help.find(" --"); at != std::string::npos; at = help.find(" --", at + 1)) {
    const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 3);
    if (help.rfind('\n', at) + 3 >= at - 4) names.push_back(help.substr(at + 1, end - at - 1));
  }
  return names;
}

}  // namespace

TEST_CASE("both shells' completion is made of every option, and shells read it") {
  const TemporaryFolder folder;
  for (const std::string program : {"simulate", "train"}) {
    const Outcome help = run_program(folder.path(""), program, "--help");
    const std::vector<std::string> options = long_options(help.out);
    REQUIRE(options.size() > 5);
    for (const std::string shell : {"bash", "zsh"}) {
      const Outcome script = run_program(folder.path(""), program, "--completion " + shell);
      CHECK(script.code == 0);
      for (const std::string& option : options) {
        INFO(program << " " << shell << " " << option);
        CHECK(script.out.find(option) != std::string::npos);
      }
    }
    folder.write(program, run_program(folder.path(""), program, "--completion bash").out);
    const std::string asks = "bash -c 'source " + folder.path(program) + " && COMP_WORDS=(" + program +
                             " --dev) COMP_CWORD=1 && _lockstep_" + program + " && echo ${COMPREPLY[@]}' >" +
                             folder.path("reply");
    if (program != "train") continue;
    REQUIRE(std::system(asks.c_str()) == 0);
    CHECK(slurp(folder.path("reply")) == "--device\n");
  }
  const Outcome unknown = run_program(folder.path(""), "simulate", "--completion fish");
  CHECK(unknown.code == 2);
}

// Runs the bash completion. `words` are those after the program; the last one is completed.
std::string offered(const TemporaryFolder& folder, const std::string& program, const std::vector<std::string>& words) {
  folder.write("script", run_program(folder.path(""), program, "--completion bash").out);
  std::string line = program;
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string asks = "bash -c \"source " + folder.path("script") + " && COMP_WORDS=(" + line +
                           ") COMP_CWORD=" + std::to_string(words.size()) + " && _lockstep_" + program +
                           " && echo \\${COMPREPLY[@]}\" >" + folder.path("reply");
  REQUIRE(std::system(asks.c_str()) == 0);
  return slurp(folder.path("reply"));
}

TEST_CASE("names of models, GPUs, algorithms, data and formats are completed, also behind a comma") {
  const TemporaryFolder folder;
  CHECK(offered(folder, "simulate", {"job", "--gpu", "a100-pc"}).find("a100-pcie") != std::string::npos);
  CHECK(offered(folder, "simulate", {"job", "--gpu", "MI300"}).find("mi300x") != std::string::npos);
  CHECK(offered(folder, "simulate", {"job", "--model", "llama3_1_"}).find("llama3_1_8b") != std::string::npos);
  CHECK(offered(folder, "simulate", {"job", "--algorithm", "param"}) == "parameter-server\n");
  CHECK(offered(folder, "simulate", {"--scenario-template", "local"}) == "local-sgd\n");
  CHECK(offered(folder, "train", {"--algorithm", "local"}) == "local-sgd\n");
  CHECK(offered(folder, "train", {"--data", "cif"}) == "cifar-10\n");
  CHECK(offered(folder, "calibrate", {"import", "nccl"}) == "nccl-tests\n");
  const std::string two = offered(folder, "plan", {"job", "--gpu", "h100-sxm,b200"});
  CHECK(two.find("h100-sxm,b200") != std::string::npos);
}

TEST_CASE("a man page has every option of its program") {
  const TemporaryFolder folder;
  for (const auto& [program, page] :
       {std::pair<std::string, std::string>{"simulate", "sim/simulate.1"}, {"train", "engine/train.1"}}) {
    std::string text = slurp(std::string(LOCKSTEP_SOURCE_DIR) + "/" + page), plain;
    for (const char c : text)
      if (c != '\\') plain += c;
    for (const std::string& option : long_options(run_program(folder.path(""), program, "--help").out)) {
      INFO(page << " " << option);
      CHECK(plain.find(option) != std::string::npos);
    }
  }
}

}  // namespace lockstep::tests
