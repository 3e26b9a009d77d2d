// A plan of a million points keeps its outcomes on disk: they are those that every point has alone.
#include "sim/plan/outcomes.hpp"

#include <sys/resource.h>

#include <csignal>
#include <map>
#include <set>

#include "sim/plan/around.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/plan/grid.hpp"
#include "sim/plan/row_writer.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

// `size`: bytes of its reason, so that few outcomes fill the memory that comes before the disk.
sim::Outcome outcome_of(std::size_t number, std::size_t size) {
  sim::Outcome o;
  o.status = "ok";
  o.why = std::string(size, static_cast<char>('a' + number % 26));
  o.time_s = 1.0 / static_cast<double>(number + 3);
  if (number % 7 != 0) o.memory.emplace().weights_bytes = 0.1 * static_cast<double>(number);
  o.warnings = {"a \"quoted\" line\nand another", ""};
  o.layer_groups = {{"conv1", 1, 2, 3, 4, static_cast<int>(number)}};
  if (number % 2 == 0) o.bubble_s = 0.25;
  return o;
}

std::string key_of(std::size_t number) {
  sim::Task task = sim::task_of(number, number % 3 == 0 ? sim::Fidelity::fast : sim::Fidelity::analytic);
  if (number % 5 == 0) task.variation = "even";
  return task.key();
}

// Returns a text of the settings of a point without its number of GPUs.
std::string curve_text(const sim::PlanPoint& point) {
  std::string text;
  for (const sim::Setting& s : sim::without_gpus(point.settings)) text += s.pointer + "=" + s.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("outcomes in memory and on disk come back as they were, the latest of each task") {
  const TemporaryFolder folder;
  for (const std::size_t size : {std::size_t{10}, std::size_t{100000}, std::size_t{3000000}}) {
    sim::Outcomes outcomes(folder.path(""));
    CHECK(outcomes.empty());
    constexpr std::size_t kNumber = 300;
    const std::size_t number = size > 1000000 ? 20 : kNumber;
    for (std::size_t i = 0; i < number; ++i) outcomes.set(key_of(i), outcome_of(i + 1, size));
    for (std::size_t i = 0; i < number; i += 2) outcomes.set(key_of(i), outcome_of(i, size));
    CHECK(outcomes.size() == number);
    for (std::size_t i = 0; i < number; ++i) {
      const sim::Outcome expected = outcome_of(i % 2 == 0 ? i : i + 1, size);
      REQUIRE(outcomes.at(key_of(i)).text() == expected.text());
    }
    CHECK(outcomes.count("0|message||0|0") == 0);
    CHECK_THROWS_AS(outcomes.at("7|message||0|0"), std::out_of_range);
    CHECK(outcomes.keys().size() == number);
  }
  CHECK(folder.files() == 0);  // the file has no name
}

TEST_CASE("outcomes: a full disk is an error that names the folder") {
  const TemporaryFolder folder;
  const auto before = std::signal(SIGXFSZ, SIG_IGN);  // write() then fails, as on a full disk
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1 << 20, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  sim::Outcomes outcomes(folder.path(""));
  std::string why;
  try {
    for (std::size_t i = 0; i < 30; ++i) outcomes.set(key_of(i), outcome_of(i, 1000000));
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  CHECK_THAT(why, Contains(folder.path("")) && Contains("cannot be written"));
}

TEST_CASE("each row of a plan is its point predicted alone") {
  const SmallPlan files;
  const sim::PlanSpec plan = files.load();
  const sim::PlanResult result = worked_out(plan);
  REQUIRE(result.rows.size() == plan.points.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const sim::PlanRow row = result.rows[i];
    CHECK(row.outcome.text() == sim::evaluate(plan, sim::task_of(i, row.requested)).text());
    CHECK(row.point->setting == plan.points[i].setting);
    CHECK(result.rows.state(i).time_s == row.outcome.time_s);
    CHECK(result.rows.state(i).cost == row.money.cost);
  }
}

TEST_CASE("points have the same curve if they differ only in the number of GPUs") {
  SmallPlan files;
  for (const bool has_listed : {false, true}) {
    if (has_listed)
      files.plan["points"] = {{{"name", "own"}, {"set", {{"/gpus", 2}, {"/batch_per_gpu", 16}}}},
                              {{"name", "other"}, {"set", {{"/gpus", 4}, {"/batch_per_gpu", 16}}}}};
    const sim::PlanSpec plan = files.load();
    const std::vector<std::uint32_t> curves = plan.points.curves();
    REQUIRE(curves.size() == plan.points.size());
    std::map<std::string, std::uint32_t> curve_of;
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      CHECK(curve_of.emplace(curve_text(plan.points[i]), curves[i]).first->second == curves[i]);
      seen.insert(curves[i]);
    }
    CHECK(seen.size() == curve_of.size());
    CHECK(seen.size() < curves.size());
  }
}

TEST_CASE("a page has the points nearest to the frontier, and the number of the others") {
  SmallPlan files;
  std::vector<double> works;
  for (int i = 0; i < 600; ++i) works.push_back(0.001 * (i + 1));
  files.plan["axes"].push_back(
      {{"name", "jitter"}, {"pointer", "/compute/jitter/coefficient_of_variation"}, {"values", works}});
  files.plan["scenario"]["compute"]["jitter"] = {{"distribution", "lognormal"}, {"coefficient_of_variation", 0.01}};
  files.plan["refine"] = {{"coarse", "analytic"}, {"refined", "analytic"}};
  const sim::PlanSpec plan = files.load();
  REQUIRE(plan.points.size() > sim::kMostPointsOfPage);
  const sim::PlanResult result = worked_out(plan);
  const Json page = sim::plan_page_json(result, {});
  CHECK(page.at("points").size() + page.at("points_left_out").get<std::size_t>() == plan.points.size());
  CHECK(page.at("points").size() >= sim::kMostPointsOfPage);
  std::set<std::string> ids;
  for (const Json& point : page.at("points")) ids.insert(point.at("id"));
  for (const Json& id : page.at("frontier")) CHECK(ids.count(id) == 1);
  CHECK(ids.count(page.at("answer").at("recommended")) == 1);
  const std::vector<std::size_t> near = sim::nearest_to_frontier(result, 10);
  for (const std::size_t i : near) CHECK(ids.count(plan.points[i].id) == 1);
}

TEST_CASE("rows are written in order, whatever the number of processes") {
  const auto text_of = [](std::size_t from, std::size_t until) {
    std::string text;
    for (std::size_t i = from; i < until; ++i) text += std::to_string(i) + "\n";
    return text;
  };
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{19999}, std::size_t{51234}})
    for (const int jobs : {0, 1, 2, 5}) {
      std::string text;
      sim::write_rows(rows, jobs, text_of, [&](const std::string& piece) { text += piece; });
      CHECK((text == text_of(0, rows)));
    }
  const auto dies = [&](std::size_t from, std::size_t until) {
    if (from > 30000) raise(SIGKILL);
    return text_of(from, until);
  };
  CHECK_THROWS_AS(sim::write_rows(50000, 2, dies, [](const std::string&) {}), std::runtime_error);
}

}  // namespace lockstep::tests
