// Pictures of the papers: every published result is in one, and inside its frame.
#include "sim/validation/paper_figure.hpp"

#include <regex>
#include <set>

#include "sim/report/figure.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

const std::string kPublished = LOCKSTEP_SOURCE_DIR "/scenarios/published";

sim::Report report_of(const std::string& file) {
  return sim::predict(sim::load_scenario(kPublished + "/" + file, {}), 2, {});
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("each of the papers has a picture, inside its frame") {
  const std::vector<std::string> papers = sim::paper_names(kPublished);
  CHECK(std::set<std::string>(papers.begin(), papers.end()).count("suites") == 0);
  for (const std::string& paper : papers) {
    INFO(paper);
    const std::string svg = sim::plot_paper(kPublished, paper, 2).svg;
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    const std::regex place("c?[xy][12]?=\"(-?[0-9.]+)\"");
    for (std::sregex_iterator at(svg.begin(), svg.end(), place), end; at != end; ++at) {
      INFO(at->str());
      CHECK(std::stod((*at)[1]) >= 0);
      CHECK(std::stod((*at)[1]) <= 600);
    }
  }
}

TEST_CASE("a ring for each published result of the metric that a panel shows") {
  const sim::Report report = report_of("poseidon/vgg19_22k.json");
  const auto panels = sim::figure_panels("VGG19-22K", report);
  REQUIRE(panels.size() == 1);
  CHECK_FALSE(panels.front().has_rows());
  std::size_t published = 0;
  for (const sim::FigureSeries& series : panels.front().series) published += series.published.size();
  CHECK(published > 10);
  CHECK(count_of(sim::figure_svg("poseidon", panels), "fill=\"none\" stroke-width=\"2\" stroke=\"#") == published);
}

TEST_CASE("efficiencies of several numbers of GPUs are drawn as speed-ups over the baseline") {
  const sim::Report report = report_of("poseidon/googlenet_4gpu.json");
  const auto panels = sim::figure_panels("", report);
  CHECK(panels.front().is_ideal_x);
  const sim::FigureSeries& poseidon = panels.front().series.front();
  REQUIRE(poseidon.predicted.size() == 3);
  CHECK(poseidon.predicted[0].value == Approx(1));
  for (const sim::FigurePoint& p : poseidon.predicted) CHECK(p.value <= p.x * 1.001);
  REQUIRE(poseidon.published.size() == 1);
  CHECK(poseidon.published.front().second == Approx(4));
}

TEST_CASE("gains over other variants have a row each, arrivals and staleness panels of their own") {
  CHECK(sim::figure_panels("", report_of("crossbow/resnet32_learners.json")).front().has_rows());
  const auto stragglers = sim::figure_panels("", report_of("revisiting-sync-sgd/stragglers.json"));
  REQUIRE(stragglers.size() == 2);
  for (const sim::FigureSeries& series : stragglers[1].series)
    for (std::size_t k = 1; k < series.predicted.size(); ++k)
      CHECK(series.predicted[k].value >= series.predicted[k - 1].value);
}

TEST_CASE("an unknown paper is refused with those that are known") {
  CHECK_THROWS_WITH(sim::plot_paper(kPublished, "suites", 1), Contains("no such paper") && Contains("crossbow"));
}
