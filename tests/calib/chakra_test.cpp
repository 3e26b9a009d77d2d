// Chakra's execution traces, in the layout of its converter (mlcommons/chakra, src/converter/pytorch_converter.py).
#include "calib/import/imported.hpp"
#include "engine/base/atomic_file.hpp"
#include "tests/base/input_error.hpp"
#include "tests/calib/event_writer.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
using lockstep::tests::EventWriter;

namespace {

std::string framed(const std::string& content) {
  return EventWriter::varint(content.size()) + content;
}

std::string chakra_head() {
  return framed(EventWriter::text(1, "0.0.4"));
}

std::string chakra_attribute(const std::string& name, std::int64_t value) {
  return EventWriter::text(10, EventWriter::text(1, name) + EventWriter::whole(9, value));
}

std::string collective_node(const std::string& kernel, std::int64_t type, std::int64_t bytes,
                            std::int64_t duration_us) {
  return framed(EventWriter::whole(1, 7) + EventWriter::text(2, kernel) + EventWriter::whole(3, 7) +
                EventWriter::whole(7, duration_us) + chakra_attribute("comm_type", type) +
                chakra_attribute("comm_size", bytes));
}

std::string chakra_corpus() {
  return read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/fuzz/corpus/chakra.et");
}

}  // namespace

TEST_CASE("collectives of Chakra's nodes have the ranks of their process group, and bytes as nccl-tests counts them") {
  const Imported log = import_chakra(chakra_corpus(), "a.et");
  REQUIRE(log.samples.size() == 2);
  const Sample &sum = log.samples[0], &gathered = log.samples[1];
  CHECK(sum.key.at("operation") == "all-reduce");
  CHECK(sum.key.at("ranks") == 8);
  CHECK(sum.key.at("bytes") == 1 << 26);
  REQUIRE(sum.seconds.size() == 2);
  CHECK(sum.seconds[0] == Approx(900e-6));
  CHECK(sum.seconds[1] == Approx(920e-6));
  CHECK(gathered.key.at("operation") == "all-gather");
  CHECK(gathered.key.at("ranks") == 2);
  CHECK(gathered.key.at("bytes") == 2 << 20);  // a share of each of two ranks
}

TEST_CASE("without process groups the ranks are given, and a group that contradicts them is refused") {
  const std::string trace = chakra_head() + collective_node("ncclDevKernel_ReduceScatter_Sum_bf16", 7, 1 << 20, 50);
  CHECK_THAT(error_of([&] { import_chakra(trace, "a.et"); }), Contains("--ranks"));
  const Imported log = import_chakra(trace, "a.et", {4, 1, ""});
  CHECK(log.samples.front().key.at("ranks") == 4);
  CHECK(log.samples.front().key.at("operation") == "reduce-scatter");
  for (int ranks : {2, 8}) CHECK_NOTHROW(import_chakra(chakra_corpus(), "a.et", {ranks, 1, ""}));
  CHECK_THAT(error_of([] {
               import_chakra(chakra_corpus(), "a.et", {64, 1, ""});
             }),
             Contains("has 8 ranks") && Contains("has 2 ranks") && Contains("--ranks is 64"));
}

TEST_CASE("a kernel that contradicts its type is refused with both, as are files of something else") {
  const auto error = [](const std::string& bytes) {
    return error_of([&] { import_chakra(bytes, "a.et", {4, 1, ""}); });
  };
  CHECK_THAT(error(chakra_head() + collective_node("ncclDevKernel_AllGather_RING_LL", 0, 1 << 20, 50)),
             Contains("comm_type is all-reduce") && Contains("AllGather") && Contains("all-gather"));
  CHECK_THAT(error(chakra_head()), Contains("no collective"));
  CHECK_THAT(error(chakra_corpus().substr(0, 200)), Contains("cut off"));
  CHECK_THAT(error("{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": []}"), Contains("has no times"));
}
