#include "engine/train/curves.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/atomic_file.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

const char* const kRecord = R"({"schema": "lockstep/run/1", "provenance": {"started_utc": "1970-01-02T00:00:00Z"},
  "epochs": [{"epoch": 1, "iterations": 10, "images": 80, "train_s": 2, "test_accuracy": 0.5, "train_loss": 1.25,
              "learning_rate": 0.1},
             {"epoch": 2, "iterations": 20, "images": 160, "train_s": 4, "test_accuracy": 0.75, "train_loss": null,
              "learning_rate": 0.05}]})";

std::uint64_t number_at(const std::string& bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

// RFC 3720, B.4.
TEST_CASE("CRC-32C has its standard's check values") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
}

TEST_CASE("Rows of records") {
  const TemporaryFolder folder;
  const RunCurve run = read_curve(folder.write("a,b.json", kRecord));
  CHECK(curves_csv({run}) ==
        "run,epoch,iterations,images,train_s,test_accuracy,train_loss,learning_rate\n"
        "\"a,b\",1.0,10.0,80.0,2.0,0.5,1.25,0.1\n"
        "\"a,b\",2.0,20.0,160.0,4.0,0.75,,0.05\n");
}

// Builds frames by hand: each length and each record with its masked checksum. The first record gives the format's
// version. Then come three scalars of the first epoch and two of the second, whose loss is unknown.
TEST_CASE("Events are framed records that hold each scalar at its iteration") {
  const TemporaryFolder folder;
  const std::string events = curve_events(read_curve(folder.write("run.json", kRecord)));
  const auto masked = [](const std::string& bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return static_cast<std::uint64_t>((crc >> 15 | crc << 17) + 0xA282EAD8U);
  };
  std::vector<std::string> records;
  for (std::size_t at = 0; at < events.size();) {
    const std::uint64_t length = number_at(events, at, 8);
    CHECK(number_at(events, at + 8, 4) == masked(events.substr(at, 8)));
    records.push_back(events.substr(at + 12, length));
    CHECK(number_at(events, at + 12 + length, 4) == masked(records.back()));
    at += 16 + length;
  }
  REQUIRE(records.size() == 6);
  CHECK(records[0].substr(9) == std::string("\x1A\x0D"
                                            "brain.Event:2"));
  // wall_time (field 1), step (2), summary (5) with a value (1) of tag (1) and simple_value (2)
  double wall_s = 0;
  std::memcpy(&wall_s, records[1].data() + 1, 8);
  CHECK(wall_s == 86400 + 2);
  CHECK(records[1].substr(9, 2) == std::string("\x10\x0A"));
  CHECK(records[1].substr(13, 4) == std::string("\x0A\x14\x0A\x0D"));
  CHECK(records[1].substr(17, 13) == "test_accuracy");
  float value = 0;
  std::memcpy(&value, records[1].data() + 31, 4);
  CHECK(value == 0.5F);
}

TEST_CASE("A picture has every run, its axis and its points") {
  const TemporaryFolder folder;
  RunCurve run = read_curve(folder.write("first.json", kRecord));
  RunCurve other = run;
  other.name = "a<b";
  const std::string svg = curves_svg({run, other}, Over::seconds);
  CHECK(svg == curves_svg({run, other}, Over::seconds));
  CHECK_THAT(svg, Contains("first") && Contains("a&lt;b") && Contains("seconds of training"));
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("<polyline") == 4);
  CHECK(count("<circle") == 6);  // two accuracies and one loss of each
  CHECK_THAT(error_of([] { curves_svg({{"x", "", {}}}, Over::epochs); }), Contains("none of the records"));
}

TEST_CASE("seeds of a cell are their median in a band, as long as half of them go on") {
  std::vector<RunCurve> runs;
  const std::vector<double> accuracy{0.5, 0.9, 0.6};
  for (std::size_t i = 0; i < 3; ++i) {
    RunCurve run{"ssgd-8/seed-" + std::to_string(i + 1), "", {}, "ssgd-8"};
    run.points.push_back({1, 10, 80, 1, accuracy[i], 1.0 + double(i), 0.1});
    if (i < 2) run.points.push_back({2, 20, 160, 2, 0.9 + 0.02 * double(i), 0.5, 0.1});
    if (i < 1) run.points.push_back({3, 30, 240, 3, 0.99, 0.4, 0.1});
    runs.push_back(run);
  }
  runs.push_back({"alone", "", {{1, 10, 80, 1, 0.2, 2, 0.1}}});
  const std::vector<SeedBand> bands = make_seed_bands(runs);
  REQUIRE(bands.size() == 2);
  CHECK(bands[0].median.name == "ssgd-8, median of 3 seeds");
  REQUIRE(bands[0].median.points.size() == 2);  // one of three is less than half
  CHECK(bands[0].median.points[0].test_accuracy == 0.6);
  CHECK(bands[0].low[0].test_accuracy == 0.5);
  CHECK(bands[0].high[0].test_accuracy == 0.9);
  CHECK(bands[0].median.points[0].train_loss == 2);
  CHECK(bands[0].median.points[1].test_accuracy == Approx(0.91));
  CHECK(bands[1].median.name == "alone");
  CHECK(bands[1].low.empty());
  const std::string svg = curves_svg(runs, Over::iterations);
  CHECK_THAT(svg, Contains("<polygon") && Contains("ssgd-8, median of 3 seeds") && Contains(">alone<"));
}

TEST_CASE("a folder of records and its study give the same curves, without those of a search") {
  const TemporaryFolder folder;
  std::string lines = R"({"schema": "lockstep/sweep-result/1"})"
                      "\n";
  for (const char* name : {"ssgd-8/seed-1", "ssgd-8/seed-2", "search/ssgd-8/rate-0.1"}) {
    folder.write("out/" + std::string(name) + ".json", kRecord);
    Json line{{"name", name}};
    line.update(Json::parse(kRecord));
    lines += line.dump() + "\n";
  }
  folder.write("out/sweep.json", R"({"schema": "lockstep/sweep-result/1"})");
  const std::string study = folder.write("out.jsonl", lines);
  for (const std::string& path : {folder.path("out"), study}) {
    INFO(path);
    const std::vector<RunCurve> runs = read_curves(path);
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].name == "ssgd-8/seed-1");
    CHECK(runs[1].cell == "ssgd-8");
    CHECK(runs[1].points.size() == 2);
  }
  folder.write("empty/sweep.json", R"({"schema": "lockstep/sweep-result/1"})");
  CHECK_THAT(error_of([&] { read_curves(folder.path("empty")); }), Contains("no record of a run"));
}

TEST_CASE("train plot writes a picture, rows and events of a run") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd");
  r.evaluations_per_epoch = 2;
  r.output = folder.path("run.json");
  run(r);
  const tests::Outcome plotted =
      tests::run_program(folder.path(""), "train", "plot run.json -o c.svg --csv c.csv --events logs");
  CHECK(plotted.err.empty());
  REQUIRE(plotted.code == 0);
  CHECK_THAT(read_file(folder.path("c.svg")), Contains("<svg") && Contains("test accuracy"));
  const std::string rows = read_file(folder.path("c.csv"));
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 5);  // two epochs, two evaluations each
  CHECK(read_file(folder.path("logs/run/events.out.tfevents.lockstep")).size() > 100);
  const tests::Outcome refused = tests::run_program(folder.path(""), "train", "plot small.json -o d.svg");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("small.json: this is a network"));
}

}  // namespace
}  // namespace lockstep::train
