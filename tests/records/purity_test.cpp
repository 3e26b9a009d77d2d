// A prediction depends only on its own record and on given results, and not on other targets or any order.
#include <algorithm>
#include <map>
#include <random>

#include "sim/validation/suite.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

// Maps "id" to the bytes of its prediction.
std::map<std::string, std::string> predicted_bytes(const std::vector<sim::Record>& records) {
  std::map<std::string, std::string> by_id;
  for (const sim::Prediction& p : predict(records)) by_id[p.record->id] = sim::predictions_json({p}).dump();
  return by_id;
}

std::vector<sim::Record> committed() {
  return sim::records_of(committed_suites());
}

// Returns the targets with these ids, in this order, and all given results.
std::vector<sim::Record> with_given(const std::vector<std::string>& ids) {
  const std::vector<sim::Record> all = committed();
  std::vector<sim::Record> some;
  for (const std::string& id : ids)
    for (const sim::Record& record : all)
      if (record.id == id) some.push_back(record);
  REQUIRE(some.size() == ids.size());
  for (const sim::Record& record : all)
    if (record.role == sim::Role::input) some.push_back(record);
  return some;
}

}  // namespace

TEST_CASE("Crossbow's records are the same in either order") {
  // One is synchronised by the host, the other without it. Earlier, XB-24 could take XB-27's time or give it its own.
  const auto one = predicted_bytes(with_given({"XB-24", "XB-27"}));
  const auto other = predicted_bytes(with_given({"XB-27", "XB-24"}));
  CHECK(one.size() == 2);
  CHECK(one == other);
  for (const char* id : {"XB-24", "XB-27"}) CHECK(predicted_bytes(with_given({id})).at(id) == one.at(id));
}

TEST_CASE("shuffling records changes no byte of any prediction") {
  std::vector<sim::Record> records;
  for (const sim::Record& record : committed())
    for (const char* suite : {"XB-", "JZ-", "TM-", "PO-", "MXP-K80", "STAS-", "BPS-"})
      if (record.id.rfind(suite, 0) == 0) records.push_back(record);
  REQUIRE(records.size() > 100);
  const auto in_order = predicted_bytes(records);
  std::mt19937 random(7);
  std::shuffle(records.begin(), records.end(), random);
  CHECK(predicted_bytes(records) == in_order);
}

TEST_CASE("a record alone with what is given is predicted as among all others") {
  const std::vector<sim::Record> all = committed();
  std::vector<std::string> ids;
  for (const sim::Record& record : all)
    if (record.role == sim::Role::target && ids.size() < 800) ids.push_back(record.id);
  std::vector<std::string> some;
  for (std::size_t i = 0; i < ids.size(); i += 37) some.push_back(ids[i]);
  const auto together = predicted_bytes(with_given(some));
  for (const std::string& id : some) CHECK(predicted_bytes(with_given({id})).at(id) == together.at(id));
}

TEST_CASE("given results count whatever their order") {
  // Two rates at the same batch, in the same experiment. The order in the file must not decide which one counts.
  std::string json = two_servers("100 Gb/s RoCE");
  json.insert(1, R"({"id": "another", "role": "input", "group": "g", "metric": "images_per_s", "value": 390,
    "unit": "images/s", "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64}, )");
  std::vector<sim::Record> records = records_from(json);
  const auto before = predicted_bytes(records);
  std::reverse(records.begin(), records.end());
  CHECK(predicted_bytes(records) == before);
}

}  // namespace lockstep::tests
