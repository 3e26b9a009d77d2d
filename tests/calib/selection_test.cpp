// A part of what calibrate can measure.
#include "calib/probe/selection.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::vector<Probe> all_probes() {
  std::vector<Probe> probes;
  const auto add = [&](const std::string& probe, const Json& key) { probes.push_back({probe, key, {}}); };
  add("copy", {{"bytes", 64}});
  for (const char* operation : {"all-reduce", "broadcast"})
    add("collective", {{"operation", operation}, {"bytes", 64}});
  add("iteration", {{"batch", 8}});
  add("iteration", {{"batch", 8}, {"input", "synthetic"}});
  add("pass", {{"batch", 8}});
  return probes;
}

std::vector<std::string> names_of(const std::vector<Probe>& probes) {
  std::vector<std::string> names;
  for (const Probe& probe : probes) names.push_back(probe.probe);
  return names;
}

}  // namespace

TEST_CASE("probes are chosen by name, in the singular or the plural, in their own order") {
  using Names = std::vector<std::string>;
  CHECK(probes_named(all_probes(), {}).size() == 6);
  CHECK(names_of(probes_named(all_probes(), {"iteration", "copies"})) == Names{"copy", "iteration", "iteration"});
  CHECK(names_of(probes_named(all_probes(), {"passes", "collectives"})) == Names{"collective", "collective", "pass"});
  CHECK(names_of(probes_named(all_probes(), {"layers"})) == Names{"pass"});
  CHECK_THROWS_WITH(probes_named(all_probes(), {"launches"}),
                    "--probes: nothing here is measured by \"launches\"; allowed: copy, collective, iteration, pass");
}

TEST_CASE("in a hurry only iterations and all-reduces are measured, and all of them in a minute") {
  const std::vector<Probe> quick = quick_probes(all_probes());
  REQUIRE(quick.size() == 2);
  CHECK(quick[0].key["operation"] == "all-reduce");
  CHECK_FALSE(quick[1].key.contains("input"));
  for (std::size_t series : {std::size_t{0}, std::size_t{2}, std::size_t{20}, std::size_t{500}}) {
    const SamplingOptions options = quick_sampling(series);
    CHECK(static_cast<double>(series) * options.time_limit_s <= 45 * (1 + 1e-12));
    CHECK(options.time_limit_s > 0);
    CHECK_FALSE(options.has_second_look);
  }
}
