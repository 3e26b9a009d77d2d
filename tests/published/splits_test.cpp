// Megatron-LM (Narayanan et al. 2021, Korthikanti et al. 2022) and InternEvo: every scenario file runs, and predictions
// follow the published trends. No constant of computation was fitted to the predicted paper.
#include <algorithm>
#include <cmath>

#include "sim/report/result.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::vector<Comparison> compared(const std::string& name) {
  return predict(load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/" + name + ".json",
                               {{"/uncertainty/bandwidth", "0"}, {"/uncertainty/latency", "0"}}),
                 2, {})
      .comparisons;
}

// Returns predicted over published, for variants whose names begin like this.
std::vector<double> ratios_of(const std::vector<Comparison>& comparisons, const std::string& beginning = "") {
  std::vector<double> ratios;
  for (const Comparison& c : comparisons)
    if (c.variant.rfind(beginning, 0) == 0) ratios.push_back(c.predicted / c.published.value);
  return ratios;
}

double widest(const std::vector<double>& ratios) {
  return *std::max_element(ratios.begin(), ratios.end()) / *std::min_element(ratios.begin(), ratios.end());
}

void check_within(const std::vector<double>& ratios, double low, double high) {
  for (double ratio : ratios) {
    CHECK(ratio > low);
    CHECK(ratio < high);
  }
}

}  // namespace

TEST_CASE("Megatron-LM: from 1.7 billion parameters on 32 GPUs to a trillion on 3,072") {
  const std::vector<double> ratios = ratios_of(compared("megatron-lm/weak_scaling"));
  REQUIRE(ratios.size() == 10);
  check_within(ratios, 0.85, 1.1);
  // For any speed of the matrix products, the change from one size to the next is as published.
  CHECK(widest(ratios) < 1.1);
}

TEST_CASE("Megatron-LM: tensor and pipeline parallelism against ZeRO-3") {
  const std::vector<Comparison> all = compared("megatron-lm/zero3_against_ptd");
  const std::vector<double> split = ratios_of(all, "tensor x pipeline"), sharded = ratios_of(all, "ZeRO-3");
  REQUIRE(split.size() == 6);
  REQUIRE(sharded.size() == 6);
  check_within(split, 0.85, 1.1);
  CHECK(widest(split) < 1.1);
  check_within({sharded.begin(), sharded.begin() + 5}, 0.85, 1.2);
  // Half the sequences per GPU, half its rate: its waiting time is not hidden.
  const auto predicted = [&](const char* variant) {
    for (const Comparison& c : all)
      if (c.variant == variant) return c.predicted;
    return 0.0;
  };
  CHECK(predicted("ZeRO-3, 174.6B on 1536") / predicted("ZeRO-3, 174.6B on 768") ==
        Approx(1).epsilon(0.05));  // published: 1
  // A miss that is listed: when 529.6 billion on 2,240 GPUs are met, scenarios/published/README.md must say so.
  CHECK(sharded[5] > 1.2);
}

TEST_CASE("Megatron-LM: sequence parallelism and selective recomputation against full recomputation") {
  const std::vector<Comparison> all = compared("megatron-lm/recomputation");
  REQUIRE(all.size() == 8);
  check_within(ratios_of(all), 0.9, 1.3);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    const double published = all[i + 1].published.value / all[i].published.value;
    const double predicted = all[i + 1].predicted / all[i].predicted;
    CHECK(predicted == Approx(published).epsilon(0.06));
  }
}

TEST_CASE("InternEvo: the optimizer's state sharded within a node, and over all GPUs") {
  const std::vector<Comparison> all = compared("internevo/zero1_groups");
  const std::vector<double> node = ratios_of(all, "within a node"), global = ratios_of(all, "over all GPUs");
  REQUIRE(node.size() == 8);
  REQUIRE(global.size() == 8);
  check_within(node, 0.9, 1.1);
  check_within({global.begin(), global.begin() + 5}, 0.9, 1.15);  // up to 128 GPUs
  // A miss that is listed: when the global one is met on 1,024 GPUs, scenarios/published/README.md must say so.
  CHECK(global.back() > 1.2);
}
