// The object "workers": what it says, its defaults, samples from files.
#include "sim/scenario/workers_spec.hpp"

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

DelaySpec delay_of(const std::string& text, const std::string& name = "test.json") {
  return read_delay(JsonDocument::parse(text, name).root());
}

}  // namespace

TEST_CASE("every distribution is read with its values, in factors or in seconds") {
  CHECK(delay_of(R"({"distribution": "none"})").kind == DelaySpec::Kind::none);
  const DelaySpec lognormal = delay_of(R"({"distribution": "lognormal", "median": 1.5, "sigma": 0.2, "shift": 0.5})");
  CHECK(lognormal.kind == DelaySpec::Kind::lognormal);
  CHECK(lognormal.scale == 1.5);
  CHECK(lognormal.shape == 0.2);
  CHECK(lognormal.shift == 0.5);
  CHECK_FALSE(lognormal.in_seconds);
  const DelaySpec gamma =
      delay_of(R"({"distribution": "gamma", "unit": "seconds", "scale": "250 ms", "shape": 4, "shift": "1 s"})");
  CHECK(gamma.in_seconds);
  CHECK(gamma.scale == 0.25);
  CHECK(gamma.shift == 1);
  const DelaySpec tail = delay_of(
      R"({"distribution": "pareto-tail", "median": 1, "sigma": 0.1, "tail_probability": 0.02, "tail_index": 1.8})");
  CHECK(tail.tail_probability == 0.02);
  CHECK(tail.tail_index == 1.8);
  const DelaySpec percentiles = delay_of(
      R"({"distribution": "percentiles", "unit": "seconds", "includes_communication": true,
          "percentiles": [{"at": 0.5, "value": "1 s"}, {"at": 0.9, "value": "2 s"}]})");
  CHECK(percentiles.includes_communication);
  CHECK(percentiles.percentiles[1].value == 2);
}

TEST_CASE("samples come from the scenario or from a text beside it") {
  CHECK(delay_of(R"({"distribution": "empirical", "samples": [1, 2.5, 3]})").samples == std::vector<double>{1, 2.5, 3});
  const TemporaryFolder folder;
  folder.write("delays.txt", "1.0 1.25\n2, 3e0\n");
  const DelaySpec delay = delay_of(R"({"distribution": "empirical", "unit": "seconds", "samples": "delays.txt"})",
                                   folder.path("scenario.json"));
  CHECK(delay.samples == std::vector<double>{1, 1.25, 2, 3});
  CHECK(delay.samples_file == folder.path("delays.txt"));
  folder.write("wrong.txt", "1 two 3");
  CHECK_THROWS_AS(delay_of(R"({"distribution": "empirical", "samples": "wrong.txt"})", folder.path("scenario.json")),
                  InputError);
  CHECK_THROWS_AS(delay_of(R"({"distribution": "empirical", "samples": "none.txt"})", folder.path("scenario.json")),
                  InputError);
}

TEST_CASE("N is what the backups leave of the GPUs, or given") {
  WorkersSpec spec;
  spec.backups = 4;
  CHECK(spec.aggregate_of(100) == 96);
  spec.aggregate = 50;
  CHECK(spec.aggregate_of(100) == 50);
}
