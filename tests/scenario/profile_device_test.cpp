// A profile of one device does not predict another.
#include "sim/scenario/profile_device.hpp"

#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {

TEST_CASE("names of one GPU agree, names of two contradict each other, and names without a type go with any") {
  const auto contradicts = [](const std::string& device, const std::string& kind, const std::string& gpu) {
    return !sim::find_contradicting_device({device, kind, 1}, gpu).empty();
  };
  CHECK_FALSE(contradicts("NVIDIA H100 80GB HBM3 (132 SMs, 79 GiB), CUDA 13.0", "cuda", "H100 SXM5"));
  CHECK_FALSE(contradicts("NVIDIA B200", "cuda", "GB200"));
  CHECK_FALSE(contradicts("AMD EPYC, 2 threads, Eigen 3.4.0 (avx2)", "host", "processor core"));
  CHECK_FALSE(contradicts("NVIDIA GeForce", "cuda", "H100 SXM5"));
  CHECK_FALSE(contradicts("Tesla P40", "imported", "my GPU"));
  CHECK(contradicts("NVIDIA H100 80GB HBM3 (132 SMs, 79 GiB)", "cuda", "A100 SXM4"));
  CHECK(contradicts("NVIDIA H200", "cuda", "H20"));
  CHECK(contradicts("Tesla T4", "cuda", "L4"));
  CHECK(contradicts("AMD EPYC, 2 threads", "host", "H100 SXM5"));
  CHECK(sim::find_contradicting_device({"AMD EPYC, 2 threads", "host", 1}, "MI300X") == "AMD EPYC");
}

TEST_CASE("a scenario whose profile was measured on another device is refused, with what to do instead") {
  const std::string scenario = LOCKSTEP_SOURCE_DIR "/scenarios/lenet_host.json";
  CHECK_NOTHROW(sim::load_scenario(scenario, {}));
  CHECK_THROWS_WITH(sim::load_scenario(scenario, {{"/cluster/gpu/name", "H100 SXM5"}}),
                    Contains("profile.json: /: was measured on \"AMD EPYC\", and the cluster's GPU is \"H100 SXM5\"") &&
                        Contains("simulate job"));
}

}  // namespace lockstep::tests
