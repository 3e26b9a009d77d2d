// The precision of GEMMs in eight and four bits.
#include "sim/program/scenario_cost.hpp"
#include "sim/scenario/check.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

Json cluster_with(const Json& peaks) {
  Json cluster = switched_cluster();
  for (const auto& [precision, peak] : peaks.items()) cluster["gpu"]["peak"][precision] = peak;
  return cluster;
}

sim::Scenario in_precision(const std::string& precision, const Json& peaks) {
  Json scenario = split_scenario({{"tensor", 2}, {"micro_batches", 1}}, {4});
  scenario["compute"]["precision"] = precision;
  return SmallFiles(scenario, cluster_with(peaks)).one();
}

}  // namespace

TEST_CASE("products are in eight or four bits, and what stays in half precision has its peak") {
  const Json peaks{{"bf16", "100 TFLOP/s"}, {"fp8", "200 TFLOP/s"}, {"fp4", "400 TFLOP/s"}};
  const sim::DeviceCost half = sim::describe_device(in_precision("bf16", peaks)),
                        eight = sim::describe_device(in_precision("fp8", peaks)),
                        four = sim::describe_device(in_precision("fp4", peaks));
  CHECK(half.peak_flops < eight.peak_flops);
  CHECK(eight.peak_flops < four.peak_flops);
  CHECK(four.peak_flops == 400e12);
  CHECK(half.operand_copy_bytes == 0);
  // Read and written twice; with a pass for the largest value before, and scales of a byte for sixteen.
  CHECK(eight.operand_copy_bytes == 4);
  CHECK(four.operand_copy_bytes == Approx(5.125));
  for (const sim::DeviceCost* narrow : {&eight, &four}) {
    CHECK(narrow->half_peak_flops == 100e12);
    CHECK(narrow->activation_bytes == 2);
  }
}

TEST_CASE("narrow precision is refused without a peak in it and in half precision") {
  CHECK_THROWS_WITH(in_precision("fp4", {{"bf16", "100 TFLOP/s"}, {"fp8", "200 TFLOP/s"}}),
                    Contains("/compute/precision") && Contains("no peak rate for \"fp4\""));
  for (const char* precision : {"fp8", "fp4"})
    CHECK_THROWS_WITH(in_precision(precision, {{precision, "400 TFLOP/s"}}),
                      Contains("no peak rate in half precision"));
}

}  // namespace lockstep::tests
