// Output of the programs at the limits of their ranges consists of numbers, or gives a reason why there is none.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

using lockstep::TemporaryFolder;
using lockstep::tests::Outcome;
using lockstep::tests::run_program;
using lockstep::tests::slurp;

namespace {

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Returns the whole words of `text` in lower case.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  for (std::string& word : words)
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return words;
}

// Returns the first of these words that stands for a number but is none.
std::string no_number_in(const std::string& text) {
  for (const std::string& word : words_of(text))
    for (const char* none : {"inf", "infinity", "nan", "undefined", "null"})
      if (word == none) return word;
  return "";
}

}  // namespace

TEST_CASE("words that are no numbers are found") {
  CHECK(no_number_in("1.0 | +inf % |") == "inf");
  CHECK(no_number_in("-nan") == "nan");
  CHECK(no_number_in("information on NaNs: infinite, nano") == "");
}

TEST_CASE("at the ends of its ranges simulate prints and writes numbers") {
  const std::string extremes[] = {
      "--gpus 1",
      "--gpus 1,2 --set /baseline/gpus=2",
      R"(--set '/cluster/nic/bandwidth="1000 TB/s"' --set '/cluster/nic/latency="0 s"')",
      R"(--set '/cluster/nic/bandwidth="1 kB/s"')",
      R"(--set '/cluster/gpu/peak/fp32="1000000 TFLOP/s"' --set '/cluster/gpu/memory_bandwidth="1000 TB/s"' --set '/compute/launch_overhead="0 s"')",
      "--set /batch_per_gpu=1 --set /iterations=1",
      R"(--set '/compute/jitter={"distribution": "lognormal", "coefficient_of_variation": 1}')",
      R"(--set '/uncertainty={"compute": 0, "bandwidth": 0, "latency": 0}')",
      R"(--set '/uncertainty={"compute": 0.9, "bandwidth": 0.9, "latency": 0.9}')",
      R"(--set '/convergence={"target": "99 %", "train_samples": 1, "epochs": 0.001}')",
      R"(--set '/convergence={"target": "99 %", "train_samples": 1000000000, "epochs": 100000}')",
      R"(--set '/published=[{"metric": "scaling_efficiency", "gpus": 4, "value": 1e-6, "source": "t"}]')",
  };
  int simulated = 0;
  for (const std::string& extreme : extremes)
    for (const char* fidelity : {"fast", "analytic"}) {
      const TemporaryFolder folder;
      folder.write("cluster.json", lockstep::tests::small_cluster(4));
      folder.write("scenario.json", lockstep::tests::kScenario);
      const Outcome outcome = run_program(
          folder.path(""), "simulate",
          std::string("scenario.json --csv out.csv --layers layers.csv --fidelity ") + fidelity + " " + extreme);
      INFO(extreme << ": " << outcome.out << outcome.err);
      CHECK((outcome.code == 0 || outcome.code == 2));
      CHECK(no_number_in(outcome.out) == "");
      CHECK(no_number_in(outcome.err) == "");
      if (outcome.code != 0) continue;
      ++simulated;
      CHECK(no_number_in(slurp(folder.path("out.csv"))) == "");
      CHECK(no_number_in(slurp(folder.path("layers.csv"))) == "");
    }
  CHECK(simulated >= 20);  // refused cases have no numbers to check
}
