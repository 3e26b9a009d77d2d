// Records as JSON: refusals, and their messages.
#include "sim/validation/record.hpp"

#include "sim/validation/record.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string record_error(const std::string& json) {
  return error_of([&] { records_from(json); });
}

}  // namespace

TEST_CASE("a bad record is one line with file pointer wrong and allowed") {
  CHECK(record_error("{}") == "records.json: /: expected an array, got an object");
  CHECK(record_error(R"([{"metric": "speedup"}])") == "records.json: /0: missing key \"id\"");
  CHECK(record_error(R"([{"id": "a"}])") == "records.json: /0: missing key \"metric\"");
  CHECK(record_error(R"([{"id": "a", "metric": "m", "role": "goal"}])") ==
        "records.json: /0/role: \"goal\" is unknown; allowed: input, target, context");
  CHECK(record_error(R"([{"id": "a", "metric": "m"}, {"id": "a", "metric": "m"}])") ==
        "records.json: /1/id: a second record with the id \"a\"; allowed: each id once");
  CHECK(record_error(R"([{"id": "a", "metric": "m", "gpus": 0}])").rfind("records.json: /0/gpus: ", 0) == 0);
  CHECK(record_error(R"([{"id": "a", "metric": "m", "gpus": 1.5}])").rfind("records.json: /0/gpus: ", 0) == 0);
  CHECK(record_error(R"([{"id": "a", "metric": "m", "gpu": 7}])").rfind("records.json: /0/gpu: ", 0) == 0);
  CHECK(record_error(R"([{"id": "a", "metric": "m", "colour": "red"}])")
            .rfind("records.json: /0: unknown key \"colour\"; known: id, metric", 0) == 0);
}

TEST_CASE("a bad record costs itself, where the file is to be predicted") {
  const std::string good = R"({"id": "good", "metric": "images_per_s", "software": "pytorch", "model": "resnet50",
      "gpu": "V100", "gpus": 1, "batch_per_gpu": 64})";
  const std::string bad = R"({"id": "bad", "metric": "images_per_s", "colour": "red"})";
  const auto read = [](const std::string& json) {
    return sim::read_records(JsonDocument::parse(json, "records.json"), sim::BadRecords::keep);
  };
  const std::vector<sim::Record> records = read("[" + bad + ", 7, " + good + ", " + good + "]");
  REQUIRE(records.size() == 4);
  const auto predictions = predict(records);
  CHECK(predictions[0].record->id == "bad");
  CHECK_THAT(predictions[0].task.unmapped, Contains("records.json: /0: unknown key \"colour\""));
  CHECK(predictions[1].record->id == "record 1");
  CHECK_FALSE(predictions[1].is_mapped());
  CHECK(predictions[2].predicted == predict(read("[" + good + "]")).at(0).predicted);
  CHECK_THAT(predictions[3].task.unmapped, Contains("a second record with the id \"good\""));
}

TEST_CASE("a record is as large as what the command line takes, and its texts of bounded length") {
  const auto refused = [](const std::string& member) {
    return record_error(R"([{"id": "a", "metric": "m", )" + member + "}]");
  };
  CHECK(refused(R"("gpus": 1048577)").rfind("records.json: /0/gpus: value 1048577 is out of range", 0) == 0);
  CHECK(refused(R"("gpus_per_node": 1025)").rfind("records.json: /0/gpus_per_node: value 1025", 0) == 0);
  CHECK(refused("\"system\": \"" + std::string(100000, '9') + "\"") ==
        "records.json: /0/system: is of 100000 bytes; allowed: up to 4000");
}

TEST_CASE("what a record leaves out or has as null is not stated") {
  const auto records = records_from(R"([{"id": "a", "metric": "speedup", "gpus": null, "value": [1, 2]}])");
  REQUIRE(records.size() == 1);
  CHECK(records[0].gpus == 0);
  CHECK(records[0].given.empty());
  CHECK_FALSE(records[0].value);
  CHECK(records[0].role == sim::Role::target);
}

TEST_CASE("the batch of a GPU is the stated one or the global batch over the GPUs") {
  const auto records = records_from(
      R"([{"id": "a", "metric": "m", "batch_per_gpu": 204.0}, {"id": "b", "metric": "m", "gpus": 8, "global_batch": 512},
          {"id": "c", "metric": "m", "gpus": 8}])");
  const auto batch = [&](std::size_t i) { return sim::resolve_record(records[i], catalogue()).batch(); };
  CHECK(batch(0) == 204);
  CHECK(batch(1) == 64);
  CHECK(batch(2) == 0);
}

}  // namespace lockstep::tests
