// Published rates, predicted from launch files: scenarios/launch/published.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "tests/base/committed.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

const std::string kPublishedLaunches = LOCKSTEP_SOURCE_DIR "/scenarios/launch/published/";

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json published_record(const std::string& id) {
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites")) {
    const Json suite = Json::parse(content_of(entry.path().string()));
    for (const Json& record : suite.at("records"))
      if (record.at("id") == id) return record;
  }
  FAIL("no record " << id);
  return {};
}

// The values in the unit of the record.
struct PredictedRate {
  double value = 0, low = 0, high = 0;
};

// Predictions are in samples/s. A rate increases with them, a time decreases.
PredictedRate in_unit_of(const Json& record, const Json& prediction) {
  const double value = prediction.at("predicted"), low = prediction.at("low"), high = prediction.at("high");
  if (record.at("metric") == "throughput_per_gpu") {
    const double tokens = double(record.at("seq")) / double(record.at("gpus"));
    return {value * tokens, low * tokens, high * tokens};
  }
  const double unit = record.value("unit", std::string("s")) == "ms" ? 1000 : 1;
  const double batch = unit * double(prediction.at("global_batch"));
  return {batch / value, batch / high, batch / low};
}

std::string unit_of(const Json& record) {
  return record.at("metric") == "throughput_per_gpu" ? "tokens/s/GPU" : record.value("unit", std::string("s"));
}

std::string rounded(double value) {
  std::ostringstream text;
  text.precision(value >= 1000 ? 0 : value >= 100 ? 1 : 3);
  text << std::fixed << value;
  return text.str();
}

}  // namespace

TEST_CASE("published rates are predicted from launch files, and those that are missed are listed") {
  const TemporaryFolder folder;
  const Json list = Json::parse(content_of(kPublishedLaunches + "published.json"));
  std::string table =
      "| File | Options beside it | Published | Predicted | Low to high | Error | Fit "
      "|\n|---|---|---|---|---|---|---|\n";
  std::string misses;
  int covered = 0;
  for (const Json& entry : list.at("files")) {
    const std::string file = entry.at("file"), options = entry.at("options");
    INFO(file);
    const Json record = published_record(entry.at("record"));
    const Outcome run = run_program(folder.path(""), "simulate",
                                    "job --from " + kPublishedLaunches + file + " " + options + " --json -");
    INFO(run.err);
    REQUIRE(run.code == 0);
    const Json answer = Json::parse(run.out);
    const Json& prediction = answer.at("predictions").at(0);
    CHECK(prediction.at("gpus") == record.at("gpus"));
    for (const Json& setting : answer.at("from").at("settings")) CHECK(setting.at("use") != "unknown");
    const PredictedRate rate = in_unit_of(record, prediction);
    const double published = record.at("value");
    const bool is_covered = rate.low <= published && published <= rate.high;
    covered += is_covered ? 1 : 0;
    CHECK(is_covered != entry.contains("miss"));  // neither an unlisted miss nor a listed one that is none
    if (entry.contains("miss")) misses += "\n- `" + file + "`: " + std::string(entry.at("miss"));
    const long error = std::lround(100 * (rate.value / published - 1));
    table += "| [" + file + "](" + file + ") | `" + options + "` | " + rounded(published) + " " + unit_of(record) +
             " | " + rounded(rate.value) + " | " + rounded(rate.low) + " to " + rounded(rate.high) + " | " +
             (error > 0 ? "+" : "") + std::to_string(error) + " % | " +
             (record.value("use", std::string()) == "fit" ? "yes" : "no") + " |\n";
  }
  CHECK(covered >= 10);
  const std::string total = std::to_string(covered) + " of " + std::to_string(list.at("files").size());
  check_committed_table("scenarios/launch/published/README.md", "published rates",
                        table + "\nLow to high covers " + total + ". The others:\n" + misses + "\n");
}

}  // namespace lockstep::tests
