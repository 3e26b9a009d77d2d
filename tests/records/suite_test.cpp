// The split of published results, and that fitting never looks at the other side.
#include "sim/records/suite.hpp"

#include <cmath>
#include <set>

#include "sim/records/fit.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::vector<sim::Suite> committed_suites() {
  return sim::load_suites(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites");
}

sim::Catalogue without_constants() {
  sim::Catalogue bare = catalogue();
  bare.constants.clear();
  return bare;
}

}  // namespace

TEST_CASE("fit and test records are disjoint and as the rule says") {
  std::set<std::string> fit, test;
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    if (record.use == sim::Use::given) continue;
    (record.use == sim::Use::fit ? fit : test).insert(record.id);
    CHECK(record.use == sim::use_by_rule(record.group));
  }
  CHECK(fit.size() > 250);
  CHECK(test.size() > 250);
  for (const std::string& id : fit) CHECK(test.count(id) == 0);
}

TEST_CASE("no committed constant was fitted on a test record") {
  std::set<std::string> test;
  for (const sim::Record& record : sim::records_of(committed_suites()))
    if (record.use == sim::Use::test) test.insert(record.id);
  REQUIRE_FALSE(catalogue().constants.empty());
  for (const auto& [name, constant] : catalogue().constants) {
    CHECK_FALSE(constant.records.empty());
    for (const std::string& id : constant.records) CHECK(test.count(id) == 0);
  }
}

TEST_CASE("the fit sees no test record, whichever is there") {
  const std::vector<sim::Record> all = sim::records_of(committed_suites());
  const auto ids_seen = [](const std::vector<sim::Record>& records) {
    std::vector<std::string> ids;
    for (const sim::Record& record : sim::fit_input(records)) ids.push_back(record.id);
    return ids;
  };
  const std::vector<std::string> seen = ids_seen(all);
  const std::set<std::string> seen_set(seen.begin(), seen.end());
  int taken = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].use != sim::Use::test) continue;
    CHECK(seen_set.count(all[i].id) == 0);
    if (++taken % 10 != 1) continue;  // the list is a filter of each record alone; every tenth is taken away for real
    std::vector<sim::Record> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(ids_seen(fewer) == seen);
  }
  CHECK(taken > 250);
}

TEST_CASE("a paper left out is predicted without its constants") {
  // Two papers with three records each of a GPU that is twice as fast in one of them.
  std::string json;
  for (int i = 0; i < 6; ++i)
    json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + std::to_string(i) + R"(", "source": ")" +
            (i < 3 ? "A" : "B") + R"(", "metric": "images_per_s", "gpu": "K80", "gpus": 1, "model": "ResNet-50",
            "batch_per_gpu": 64, "precision": "fp32", "role": "target", "use": "fit", "value": )" +
            std::to_string(i < 3 ? 20 + i : 37 + i) + "}";
  const auto records = records_from(json + "]");
  const sim::Catalogue fitted = sim::fit_constants(without_constants(), records, 1);
  const auto left_out = sim::predict_left_out(fitted, records, sim::targets_of(records), 1);
  REQUIRE(left_out.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(left_out[i].record == &records[i]);
    // What is known is the other paper's: 41 instead of 21, 21 instead of 41.
    CHECK(left_out[i].predicted == Approx(i < 3 ? 41 : 21).epsilon(0.08));
  }
}

TEST_CASE("bounds hold what they are calibrated on, and follow how far papers are apart") {
  // Twelve papers with a rate each, between 30 and 30 times `ratio`.
  const auto calibrated = [](double ratio) {
    std::string json;
    for (int i = 0; i < 12; ++i)
      json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + std::to_string(i) + R"(", "source": "paper )" +
              std::to_string(i) + R"(", "metric": "images_per_s", "gpu": "K80", "gpus": 1, "model": "ResNet-50",
              "batch_per_gpu": 64, "precision": "fp32", "role": "target", "use": "fit", "value": )" +
              std::to_string(30 * std::pow(ratio, i / 11.0)) + "}";
    return records_from(json + "]");
  };
  double narrower = 0;
  for (const double ratio : {1.1, 2.0}) {
    const auto records = calibrated(ratio);
    sim::Catalogue fitted = sim::fit_constants(without_constants(), records, 1);
    sim::calibrate_bounds(fitted, sim::predict_left_out(fitted, records, sim::targets_of(records), 1));
    int inside = 0;
    double width = 0;
    for (const sim::Prediction& p : sim::predict_left_out(fitted, records, sim::targets_of(records), 1)) {
      inside += p.low <= *p.record->value && *p.record->value <= p.high;
      width = p.high / p.low;
    }
    CHECK(inside >= 10);  // 0.8 of twelve
    CHECK(width > narrower);
    CHECK(width < ratio * ratio * 1.2);
    narrower = width;
  }
}

TEST_CASE("taking any one test record away changes no constant") {
  std::vector<sim::Record> few;
  for (const sim::Record& record : sim::records_of(committed_suites()))
    if (record.id.rfind("MXP-K80-ResNet", 0) == 0 || record.id.rfind("MXP-K80-AlexNet", 0) == 0) few.push_back(record);
  REQUIRE(few.size() >= 6);
  const std::string all = sim::constants_json(sim::fit_constants(without_constants(), few, 1)).dump();
  CHECK(all.find("kernel launch") != std::string::npos);
  int taken = 0;
  for (std::size_t i = 0; i < few.size() && taken < 3; ++i) {
    if (few[i].use != sim::Use::test) continue;
    ++taken;
    std::vector<sim::Record> fewer = few;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(sim::constants_json(sim::fit_constants(without_constants(), fewer, 1)).dump() == all);
  }
  CHECK(taken > 0);
}

TEST_CASE("a fitted constant meets a record that it alone decides") {
  // One GPU, one rate: the speed takes up what is published whatever the launch overhead.
  // Three records, which a constant needs.
  std::string json;
  for (const char* id : {"a", "b", "c"})
    json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + id + R"(", "metric": "images_per_s", "value": 50,
    "gpu": "K80", "gpus": 1, "model": "ResNet-50", "batch_per_gpu": 64, "precision": "fp32", "role": "input",
    "use": "given"})";
  const auto records = records_from(json + "]");
  const sim::Catalogue fitted = sim::fit_constants(without_constants(), records, 1);
  const auto predictions = sim::predict_records({&records[0]}, {}, fitted, 1);
  REQUIRE(predictions[0].is_mapped());
  CHECK(predictions[0].predicted == Approx(50).epsilon(0.03));
}

TEST_CASE("scores are medians and shares over the mapped records of one use") {
  // Errors 10, 20 and 30 per cent, the last one outside its bounds.
  std::vector<sim::Record> records(4);
  std::vector<sim::Prediction> predictions;
  for (int i = 0; i < 4; ++i) {
    sim::Record& record = records[static_cast<std::size_t>(i)];
    record.id = std::string(1, static_cast<char>('a' + i));
    record.value = 100;
    record.use = sim::Use::test;
    sim::Prediction p{&record, {}};
    p.predicted = 100 + 10 * (i + 1);
    p.low = i == 2 ? 110 : 95;
    p.high = 150;
    if (i == 3) p.mapped.unmapped = "why";
    predictions.push_back(p);
  }
  const sim::Score score = sim::score_of(predictions, sim::Use::test);
  CHECK(score.predicted == 3);
  CHECK(score.unmapped == 1);
  CHECK(score.median == Approx(0.2));
  CHECK(score.worst == Approx(0.3));
  CHECK(score.worst_id == "c");
  CHECK(score.coverage == Approx(2.0 / 3));
  CHECK(sim::score_of(predictions, sim::Use::fit).predicted == 0);
}

}  // namespace lockstep::tests
