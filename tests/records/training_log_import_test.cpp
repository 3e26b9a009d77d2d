// Logs of trainings become predictions without editing: `simulate --predict` maps the output of `calibrate import
// training-log`.
#include "calib/import/training_log.hpp"

#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

TEST_CASE("the log of every program leads to a predicted time of an iteration") {
  for (const LogExample& example : log_examples()) {
    INFO(example.format);
    Json facts = example.facts;
    facts["gpu"] = "H100";
    facts["network"] = "8x 400 Gb/s InfiniBand";
    if (example.format != "llm.c") facts["model"] = "llama3-8b";
    const calib::TrainingLog log = calib::read_training_log(log_of(example, usual_steps(2)), "a.log", "", facts);
    const Json record = calib::training_record(log, "us");
    INFO(record.dump());
    const auto records = records_from(Json::array({record}).dump());
    const auto predictions = predict(records);
    CHECK(predictions.at(0).task.unmapped == "");
    CHECK(predictions.at(0).predicted > 0.01);
    CHECK(predictions.at(0).predicted < 60);
  }
}

}  // namespace lockstep::tests
