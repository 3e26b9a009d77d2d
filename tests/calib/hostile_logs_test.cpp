// Logs that no tool wrote are refused with one line, or read without harm.
#ifdef LOCKSTEP_WITH_ZLIB
#include <sys/resource.h>
#include <zlib.h>

#include <fstream>

#include "tests/base/input_error.hpp"
#include "tests/fork.hpp"
#endif

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::string nvbandwidth(const std::string& device, const std::string& cell) {
  const Json test{{"name", "host_to_device_memcpy_ce"},
                  {"bandwidth_description", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"},
                  {"bandwidth_matrix", Json::array({Json::array({"50", cell})})}};
  const Json all{{"GPU Device list", Json::array({"0: " + device + " (00000000:1b:00)"})},
                 {"testcases", Json::array({test})}};
  return Json{{"nvbandwidth", all}}.dump();
}

}  // namespace

TEST_CASE("A text of any length in a log of nvbandwidth ends no process") {
  const std::string text = nvbandwidth(std::string(50000, 'A'), "50");
  CHECK(error_of([&] { import_nvbandwidth(text, "a.json"); }) ==
        "a.json: /nvbandwidth/GPU Device list/0: a name of more than 256 characters");
  const std::string line = "memcpy CE CPU(row) -> GPU(column) " + std::string(100000, 'x') + " bandwidth (GB/s)\n";
  CHECK_THROWS_AS(import_nvbandwidth("Running a.\n" + line, "a.log"), InputError);
  CHECK_THROWS_AS(import_nccl_tests("# Rank 0 " + std::string(100000, 'o') + "\n", "a.log", {"all-reduce", 8, 1}),
                  InputError);
}

TEST_CASE("Times beyond any machine's are left out, and a log of nothing else is refused") {
  const Imported log = import_nvbandwidth(nvbandwidth("H100", "1e-160"), "a.json");
  REQUIRE(log.samples.size() == 1);  // the other cell
  REQUIRE(log.refused.size() == 1);
  CHECK_THAT(log.refused[0], Contains("a.json: /nvbandwidth/testcases/0/bandwidth_matrix/0/1: /seconds/0: value 5"));
  CHECK_THAT(error_of([] { import_csv("model,batch,us\nnet,8,1e-9\n", "a.csv"); }),
             Contains("a.csv line 2: /seconds: their median is 1e-15; allowed: times in seconds, 1e-12 or more"));
}

// 1e29 is no number of bytes that 64 bits hold: converted it was undefined.
TEST_CASE("Sizes beyond any call's are left out of a log, and refused in a table") {
  const std::string osu = "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n";
  const Imported log = import_osu(osu + "1000 11.00\n100000000000000000000000000000 110.00\n", "a.log", {4, 1, ""});
  REQUIRE(log.samples.size() == 1);
  REQUIRE(log.refused.size() == 1);
  CHECK(log.refused[0] == "a.log line 4: a size of 1e+29 bytes");
  CHECK(error_of([&] { import_osu(osu + "1e29 110.00\n", "a.log", {4, 1, ""}); }).find("a.log: no row of") == 0);
  CHECK(error_of([] { import_csv("bytes,ranks,ms\n1" + std::string(16, '0') + ",8,2\n", "n.csv"); }) ==
        "n.csv line 2: bytes \"1" + std::string(16, '0') + "\" is too large; allowed: up to 1e+15");
  const Json trace{{"traceEvents",
                    {{{"ph", "X"},
                      {"cat", "kernel"},
                      {"name", "nccl"},
                      {"ts", 1},
                      {"dur", 3},
                      {"pid", 0},
                      {"tid", 9},
                      {"args",
                       {{"Collective name", "allreduce"},
                        {"In msg nelems", 10},
                        {"Out msg nelems", 10},
                        {"Group size", 1e12},
                        {"dtype", "Float"}}}}}}};
  CHECK(error_of([&] { import_torch_trace(trace.dump(), "t.json", {"cnn", 8, "fp32"}); }).find("t.json: ") == 0);
}

TEST_CASE("A profile whose times are beyond any machine's is refused, as is a fit of such") {
  const std::string line =
      R"({"probe": "update", "key": {"kernel": "momentum", "elements": 8}, "seconds": [5e-324], "kind": "measured"})";
  const JsonDocument document = JsonDocument::parse(line, "a.json");
  CHECK_THAT(error_of([&] { sample_from_json(document.root()); }), Contains("a.json: /seconds: their median is"));
  for (const double seconds : {5e-324, 1e-160, 1e300})
    CHECK_THROWS_AS(fit_pieces({{1, seconds}, {2, seconds}, {4, 2 * seconds}}), std::invalid_argument);
  for (const double seconds : {kMedianSeconds.low, kMedianSeconds.high / 2})  // 1 s + x of them
    CHECK(fit_pieces({{1, 2 * seconds}, {2, 3 * seconds}, {4, 5 * seconds}}).at(3) == Approx(4 * seconds));
}

TEST_CASE("Bytes that are no UTF-8 become U+FFFD, and what is stays") {
  const TemporaryFolder folder;
  const std::string fine = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\n";
  CHECK(log_text(folder.write("fine", fine)) == fine);
  CHECK(log_text(folder.write("bad", "a\xFF\xC3z\xED\xA0\x80")) ==
        "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  const Imported log = import_csv(log_text(folder.write("n.csv", "model,batch,ms\n\xFFnet,8,20\n")), "n.csv");
  CHECK(log.samples.at(0).key["model"] == "\xEF\xBF\xBDnet");
}

#ifdef LOCKSTEP_WITH_ZLIB
TEST_CASE("A small file that becomes a large one is refused before it takes memory") {
  const TemporaryFolder folder;
  const std::string path = folder.path("bomb.gz"), zeros(std::size_t{1} << 20, '\0');
  const gzFile file = gzopen(path.c_str(), "wb1");
  for (int mib = 0; mib < 256; ++mib) gzwrite(file, zeros.data(), 1 << 20);
  gzclose(file);
  const std::vector<double> is_refused = tests::in_child([&] {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const std::string error = error_of([&] { log_text(path, std::size_t{128} << 20); });
    getrusage(RUSAGE_SELF, &after);
    const bool is_small = after.ru_maxrss - before.ru_maxrss < 32 << 10;  // KiB; 256 MiB are in the file
    return std::vector<double>{is_small && error.find(path + ": more than ") == 0 ? 1.0 : 0.0};
  });
  CHECK(is_refused.at(0) == 1);
}
#endif
