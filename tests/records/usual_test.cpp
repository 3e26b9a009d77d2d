// The prior of a constant, before any record, is the same for the fit and for predictions.
#include "sim/stack/priors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/validation/fit.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

TEST_CASE("every committed constant has a usual value, and is no farther from it than it may be") {
  for (const auto& [name, constant] : catalogue().constants) {
    if (name.rfind("bounds", 0) == 0) continue;
    INFO(name);
    const sim::Prior& usual = sim::prior_of(name);
    CHECK(usual.value > 0);
    CHECK(usual.value <= usual.most);
    CHECK(usual.spread > 0);
    CHECK(std::abs(std::log(constant.value)) < 5 * std::max(usual.spread, usual.narrower_spread));
    CHECK_FALSE(usual.source.empty());
  }
  CHECK_THROWS_AS(sim::prior_of("colour"), std::logic_error);
}

TEST_CASE("no prediction rests on more than a GPU has") {
  for (const char* gpu : {"K80", "P100", "V100", "A100", "H100"})
    for (const char* software : {"mlperf", "pytorch", "tensorflow", "mxnet-ngc", "other"}) {
      const auto records = records_from(std::string(R"([{"id": "a", "metric": "images_per_s", "role": "target",
        "model": "vgg16", "gpu": ")") + gpu +
                                        R"(", "gpus": 1, "batch_per_gpu": 64, "software": ")" + software + "\"}]");
      const auto p = predict(records).at(0);
      INFO(gpu << " " << software << " " << p.task.unmapped);
      REQUIRE(p.is_mapped());
      const sim::ComputeSpec& compute = p.task.target.front().scenario.compute;
      CHECK(compute.compute_efficiency.front().efficiency <= 1);
      if (std::string(software) != "mlperf" && std::string(software) != "mxnet-ngc")  // which move fewer bytes
        CHECK(compute.memory_efficiency <= 1);
    }
}

TEST_CASE("without constants predictions take the usual values") {
  const sim::Catalogue bare = without_constants();
  const auto records = records_from(two_servers("100 Gb/s RoCE") + "");
  const auto predictions = predict(records, bare);
  int usual = 0;
  for (const Assumption& a : predictions.at(0).task.assumptions) {
    if (a.source.rfind("never fitted", 0) != 0) continue;
    ++usual;
    INFO(a.pointer);
    CHECK(a.value == sim::prior_of(a.pointer).value);
  }
  CHECK(usual > 5);
}

TEST_CASE("a constant that no record moves stays what is usual") {
  // Rates that the prior launch time and speed already meet, so that the fit changes nothing.
  const sim::Catalogue bare = without_constants();
  std::string json;
  for (const char* id : {"a", "b", "c"})
    json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + id + R"(", "metric": "images_per_s", "value": 1,
    "gpu": "K80", "gpus": 1, "model": "ResNet-50", "batch_per_gpu": 64, "precision": "fp32", "role": "target",
    "use": "fit"})";
  auto records = records_from(json + "]");
  const double usual = predict(records, bare).at(0).predicted;
  for (sim::Record& record : records) record.value = usual;
  const sim::Catalogue fitted = sim::fit_constants(bare, records, 1).all;
  for (const auto& [name, constant] : fitted.constants) {
    INFO(name);
    CHECK(constant.value == Approx(1).epsilon(1e-3));
  }
}

}  // namespace lockstep::tests
