// Scenarios that rest on a profile: times are the profile's, and what it does not hold is refused.
#include "calib/profile.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using namespace lockstep::tests;

namespace {

calib::Sample iteration(int devices, int batch, double seconds) {
  return {"iteration",
          {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", devices}, {"batch", batch}},
          {seconds},
          "measured",
          "test",
          {}};
}

// Alone: 1 ms + 0.1 ms an image; with two devices busy twice that for an image. All-reduce of two: 50 us + 1 GB/s.
Json small_profile() {
  calib::Profile profile;
  profile.name = "made up";
  profile.device = {"G", "host", 2, Json::object()};
  for (int batch : {8, 32, 128}) {
    profile.samples.push_back(iteration(1, batch, 1e-3 + 0.1e-3 * batch));
    profile.samples.push_back(iteration(2, batch, 1e-3 + 0.2e-3 * batch));
  }
  for (double bytes : {1e3, 1e5, 1e7})
    profile.samples.push_back(
        {"collective",
         {{"operation", "all-reduce"}, {"library", "host"}, {"ranks", 2}, {"nodes", 1}, {"bytes", bytes}},
         {50e-6 + bytes / 1e9},
         "measured",
         "test",
         {}});
  profile.fits = calib::fit_curves(profile.samples);
  return calib::to_json(profile);
}

SmallFiles files_with_profile() {
  Json scenario = small_scenario();
  scenario["gpus"] = {1, 2};
  scenario["compute"]["profile"] = small_profile();
  scenario["communication"] = Json::parse(R"({"all_reduce": "profile", "fusion_threshold": "1 GB", "overlap": false,
                                              "message_overhead": "0 us", "launch_overhead": "0 us"})");
  Json cluster = small_cluster();
  cluster["intra_node"] = Json::parse(R"({"kind": "nvswitch", "gpu_link": {"bandwidth": "1 TB/s", "latency": "0 us"},
                                          "pcie_link": {"bandwidth": "10 GB/s", "latency": "0 us"}})");
  cluster["nic"].erase("attach");
  return SmallFiles(scenario, cluster);
}

std::string error_of(const SmallFiles& files, const Settings& settings = {}) {
  try {
    files.load(settings);
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.substr(text.find("scenario.json") == std::string::npos ? 0 : text.find("scenario.json"));
  }
  return "";
}

}  // namespace

TEST_CASE("iterations and all-reduces take as long as the profile says") {
  // At batch 16, which was not measured. One device: 1 + 1.6 = 2.6 ms. Two: 1 + 3.2 = 4.2 ms, and then the all-reduce
  // of 1,111,946 floats: 50 us + 4,447,784 B / 1 GB/s = 4.497784 ms.
  for (const std::string fidelity : {"message", "fast", "analytic"}) {
    const Report report = predict(files_with_profile().load({{"/fidelity", fidelity}}), 2, {});
    CHECK(report.points[0].point.mean_iteration_s() == Approx(2.6e-3).epsilon(1e-6));
    CHECK(report.points[1].point.mean_iteration_s() == Approx(8.697784e-3).epsilon(1e-4));
  }
}

TEST_CASE("what a prediction takes from a profile is listed as measured, with residual and range") {
  const LoadedScenario loaded = files_with_profile().load();
  int listed = 0;
  for (const Assumption& a : loaded.assumptions)
    if (a.pointer == "/compute/profile") {
      ++listed;
      CHECK(a.kind == "measured");
      CHECK(a.value == "made up");
      CHECK(a.source.find("batch 8 to 128, worst residual 0 %") == std::string::npos);  // rounding leaves a residual
      CHECK(a.source.find("batch 8 to 128, worst residual") != std::string::npos);
    }
  CHECK(listed == 1);  // a pointer is noted once
}

TEST_CASE("what the profile does not hold is refused") {
  CHECK(error_of(files_with_profile(), {{"/model", "lenet_caffe"}})
            .find("/compute/profile: has no iterations of \"lenet_caffe\" at fp32 by one learner; allowed: "
                  "lenet_crossbow at "
                  "fp32") != std::string::npos);
  CHECK(error_of(files_with_profile(), {{"/gpus", "[4]"}}).find("the profile has no all-reduce over 4 devices") !=
        std::string::npos);
  CHECK(error_of(files_with_profile(), {{"/compute/rates", R"([{"batch": 16, "rate": "1000 images/s"}])"}})
            .find("/compute/rates: stand beside a profile; allowed: one of the two") != std::string::npos);
  SmallFiles without = files_with_profile();
  without.scenario["compute"].erase("profile");
  CHECK(error_of(without).find("all_reduce \"profile\" without a profile; allowed: one in /compute/profile") !=
        std::string::npos);
  SmallFiles broken = files_with_profile();
  broken.scenario["compute"]["profile"]["samples"][0]["seconds"][0] = -1;
  CHECK(error_of(broken).find("/compute/profile/samples/0/seconds/0: ") != std::string::npos);
}
