// What a constant is before any record: the same for the fit and for predictions.
#include "sim/records/usual.hpp"

#include <stdexcept>

#include "sim/records/fit.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

TEST_CASE("every committed constant has a usual value and lies below its most") {
  for (const auto& [name, constant] : catalogue().constants) {
    if (name.rfind("bounds", 0) == 0) continue;
    INFO(name);
    CHECK(sim::usual_of(name).value > 0);
    CHECK(constant.value <= sim::usual_of(name).most);
    CHECK_FALSE(sim::usual_of(name).source.empty());
  }
  CHECK_THROWS_AS(sim::usual_of("colour"), std::logic_error);
}

TEST_CASE("without constants predictions take the usual values") {
  sim::Catalogue bare = catalogue();
  bare.constants.clear();
  const auto records = records_from(two_servers("100 Gb/s RoCE") + "");
  const auto predictions = predict(records, bare);
  int usual = 0;
  for (const Assumption& a : predictions.at(0).mapped.assumptions) {
    if (a.source.rfind("never fitted", 0) != 0) continue;
    ++usual;
    INFO(a.pointer);
    CHECK(a.value == sim::usual_of(a.pointer).value);
  }
  CHECK(usual > 5);
}

TEST_CASE("a constant that no record moves is fitted to nothing else than its usual value") {
  // Rates that the usual launch and speed meet already: the fit has nothing to add, and leaves them out.
  sim::Catalogue bare = catalogue();
  bare.constants.clear();
  std::string json;
  for (const char* id : {"a", "b", "c"})
    json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + id + R"(", "metric": "images_per_s", "value": 1,
    "gpu": "K80", "gpus": 1, "model": "ResNet-50", "batch_per_gpu": 64, "precision": "fp32", "role": "target",
    "use": "fit"})";
  auto records = records_from(json + "]");
  const double usual = predict(records, bare).at(0).predicted;
  for (sim::Record& record : records) record.value = usual;
  const sim::Catalogue fitted = sim::fit_constants(bare, records, 1);
  CHECK(fitted.constants.empty());
}

}  // namespace lockstep::tests
