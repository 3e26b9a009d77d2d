// Laws over random jobs of the whole catalogue. LOCKSTEP_RANDOM_CASES=2000 tries 2000 cases of each law,
// LOCKSTEP_RANDOM_SEED=7 draws other jobs, LOCKSTEP_LAW=batch tests the laws with this word in their name, and
// LOCKSTEP_LAW_TABLE=FILE writes the table of results/trust.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "engine/base/json.hpp"
#include "tests/catch.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {

LawResult hold(const Law& law, int cases, unsigned seed) {
  Draws draws(seed);
  LawResult result;
  for (int tried = 0; tried < 20 * cases && result.cases < cases; ++tried) {
    Case compared;
    try {
      compared = law.compare(draws);
    } catch (const InputError&) {
      continue;  // refused, which other laws test
    }
    if (!compared) continue;
    if (std::isnan(compared->beyond)) compared->beyond = std::numeric_limits<double>::infinity();
    ++result.cases;
    if (!(compared->beyond <= law.tolerance)) ++result.violations;
    if (result.worst.commands.empty() || compared->beyond > result.worst.beyond) result.worst = *compared;
  }
  return result;
}

namespace {

int read_number(const char* variable, int usual) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? std::atoi(given) : usual;
}

bool is_selected(const Law& law) {
  const char* const part = std::getenv("LOCKSTEP_LAW");
  return part == nullptr || law.name.find(part) != std::string::npos;
}

void check_laws(const std::vector<Law>& laws) {
  const char* const table = std::getenv("LOCKSTEP_LAW_TABLE");
  const int cases = read_number("LOCKSTEP_RANDOM_CASES", 12);
  const auto seed = static_cast<unsigned>(read_number("LOCKSTEP_RANDOM_SEED", 20261128));
  for (const Law& law : laws) {
    if (!is_selected(law)) continue;
    const LawResult result = hold(law, (cases + law.slowness - 1) / law.slowness, seed);
    std::string commands;
    for (const std::string& command : result.worst.commands) commands += "\n  " + command;
    INFO(law.name << ": " << result.violations << " of " << result.cases << " cases, by " << 100 * result.worst.beyond
                  << " % at most:" << commands);
    CHECK(result.cases > 0);
    CHECK(result.violations == 0);
    if (table != nullptr)
      std::ofstream(table, std::ios::app) << "| " << law.name << " | " << result.cases << " | " << result.violations
                                          << " | " << formatted("%.3g %%", 100 * result.worst.beyond) << " |\n"
                                          << (result.violations > 0 ? commands + "\n" : "");
  }
}

}  // namespace

TEST_CASE("laws of replicas hold for random jobs") {
  check_laws(laws_of_replicas());
}
TEST_CASE("laws of splits hold for random jobs") {
  check_laws(laws_of_splits());
}
TEST_CASE("laws of intervals hold for random jobs") {
  check_laws(laws_of_intervals());
}
TEST_CASE("laws of machines hold for random jobs") {
  check_laws(laws_of_machines());
}
TEST_CASE("laws of plans hold for random jobs") {
  check_laws(laws_of_plans());
}
TEST_CASE("laws of all-reduces hold for random jobs") {
  check_laws(laws_of_all_reduces());
}

}  // namespace lockstep::tests
