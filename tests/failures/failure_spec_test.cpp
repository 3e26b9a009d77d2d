// The object `failures`: defaults with sources, the process that a job sees, the committed schema. LOCKSTEP_UPDATE=1
// rewrites the schema.
#include "sim/failures/failure_spec.hpp"

#include "tests/base/committed.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

sim::FailureSpec spec_of(const Json& failures, std::vector<Assumption>* assumptions = nullptr) {
  JsonDocument document = JsonDocument::parse(Json{{"failures", failures}}.dump(), "plan.json");
  sim::failures_format().complete(document, "/failures");
  const sim::FailureSpec spec = sim::failures_format().read(document.root().at("failures"));
  if (assumptions != nullptr) *assumptions = document.assumptions();
  return spec;
}

}  // namespace

TEST_CASE("failures that are not described are published ones, each with its source") {
  std::vector<Assumption> assumptions;
  const sim::FailureSpec spec = spec_of(Json::object(), &assumptions);
  CHECK(spec.per_node_day == Approx(419. / (54 * 2048)).epsilon(0.01));
  CHECK(spec.spares == 0);
  CHECK(!spec.checkpoint_interval_s);
  REQUIRE(assumptions.size() >= 4);
  for (const Assumption& a : assumptions) {
    INFO(a.pointer);
    CHECK(a.source.rfind("given in", 0) != 0);
  }
}

TEST_CASE("a job of more nodes is interrupted more often, and writes its checkpoint faster") {
  const sim::FailureSpec spec =
      spec_of({{"per_node_day", 0.01}, {"checkpoint_bandwidth", "1 GB/s"}, {"restart", "10 min"}});
  const sim::FailureProcess one = sim::process_of(spec, {1, 8, 100e9, 1}),
                            ten = sim::process_of(spec, {10, 8, 100e9, 1});
  CHECK(one.mttf_s == Approx(100 * 86400));
  CHECK(ten.mttf_s == Approx(10 * 86400));
  CHECK(one.checkpoint_s == Approx(100));
  CHECK(ten.checkpoint_s == Approx(10));
  CHECK(one.restart_s == Approx(600 + 100));
  CHECK(ten.interval_s == Approx(std::sqrt(2 * 10 * 864000.)).epsilon(0.01));
  const sim::FailureSpec stored = spec_of({{"storage_bandwidth", "2 GB/s"}, {"checkpoint_interval", "1 h"}});
  CHECK(sim::process_of(stored, {10, 8, 100e9, 1}).checkpoint_s == Approx(50));
  CHECK(sim::process_of(stored, {10, 8, 100e9, 1}).interval_s == 3600);
  CHECK(sim::process_of(stored, {10, 8, 100e9, 5000}).interval_s == 5000);  // at least one iteration
}

TEST_CASE("what failures cannot be is refused") {
  const auto error = [](const Json& failures) { return error_of([&] { spec_of(failures); }); };
  CHECK_THAT(error({{"mttf", "3 h"}}), Contains("plan.json: /failures: unknown key \"mttf\""));
  CHECK_THAT(error({{"per_node_day", -1}}), Contains("/failures/per_node_day: "));
  CHECK_THAT(error({{"restart", 5}}), Contains("/failures/restart: missing unit"));
  CHECK_THAT(error({{"spares", 1.5}}), Contains("/failures/spares: "));
  CHECK_THAT(error({{"checkpoint_interval", "0 s"}}), Contains("/failures/checkpoint_interval: "));
}

TEST_CASE("the committed schema and table of failures follow from the format") {
  check_committed("scenarios/schema/failures.schema.json", sim::failures_schema().dump(1) + "\n");
  check_committed_table("sim/plan/README.md", "failures", sim::failures_format().table());
}

TEST_CASE("storage in words is the storage of all nodes, or each node's bandwidth to it") {
  const Json all = sim::parse_storage_bandwidth("--storage", "200 GB/s");
  CHECK(all.at("storage_bandwidth").at("value") == "200 GB/s");
  CHECK(all.at("storage_bandwidth").at("source") == "--storage 200 GB/s");
  CHECK(sim::parse_storage_bandwidth("--storage", "5 GB/s per node").at("checkpoint_bandwidth").at("value") ==
        "5 GB/s");
  for (const char* wrong : {"fast", "200", "1 kB/s", "5 GB/s per rack"}) {
    INFO(wrong);
    CHECK_THROWS_WITH(sim::parse_storage_bandwidth("--storage", wrong),
                      Contains(std::string("--storage \"") + wrong) && Contains("write the storage's bandwidth"));
  }
}

}  // namespace lockstep::tests
