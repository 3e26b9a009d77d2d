// Scenarios with a profile: times are the profile's, and settings outside it are refused.
#include <cmath>

#include "calib/profile.hpp"
#include "sim/point/calibration.hpp"
#include "sim/program/scenario_cost.hpp"
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

calib::Sample curve_point(const std::string& probe, Json key, const std::string& variable, double x, double seconds) {
  key[variable] = x;
  return {probe, key, {seconds}, "measured", "test", {}};
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

TEST_CASE("mixed precision takes what was measured in a half precision") {
  // Batch 16 on one device takes 2 + 0.1 * 16 = 3.6 ms in bf16, 3 + 1.6 = 4.6 ms in fp16.
  SmallFiles files = files_with_profile();
  files.scenario["compute"]["precision"] = "mixed";
  files.scenario["gpus"] = {1};
  files.cluster["gpu"]["peak"]["fp16"] = "20 TFLOP/s";
  const auto refused = error_of(files);
  CHECK(refused.find("at fp16 by one learner; allowed: lenet_crossbow at fp32") != std::string::npos);
  CHECK(refused.find("fp32", refused.find("at fp32") + 7) == std::string::npos);  // named once

  calib::Profile profile =
      calib::profile_from_json(JsonDocument::parse(files.scenario["compute"]["profile"].dump(), "profile").root());
  const auto add = [&](const std::string& precision, double base_s) {
    const Json key{{"model", "lenet_crossbow"}, {"precision", precision}, {"learners", 1}, {"devices", 1}};
    for (double batch : {8, 32, 128})
      profile.samples.push_back(curve_point("iteration", key, "batch", batch, base_s + 0.1e-3 * batch));
    profile.fits = calib::fit_curves(profile.samples);
    files.scenario["compute"]["profile"] = calib::to_json(profile);
    return predict(files.load({{"/fidelity", "fast"}}), 1, {}).points[0].point.mean_iteration_s();
  };
  CHECK(add("bf16", 2e-3) == Approx(3.6e-3).epsilon(1e-6));
  CHECK(add("fp16", 3e-3) == Approx(4.6e-3).epsilon(1e-6));
}

TEST_CASE("iterations beside an input pipeline and train's average are taken where the scenario names them") {
  // With the pipeline, two devices take 2 ms + 0.3 ms per image; their average costs 10 us + 2 GB/s. At batch 16 that
  // is 2 + 4.8 = 6.8 ms, and 10 us + 4,447,784 B / 2 GB/s = 2.233892 ms.
  SmallFiles files = files_with_profile();
  const JsonDocument document = JsonDocument::parse(files.scenario["compute"]["profile"].dump(), "profile");
  calib::Profile profile = calib::profile_from_json(document.root());
  const Json beside{
      {"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}, {"input", "synthetic"}};
  for (double batch : {8, 32, 128})
    profile.samples.push_back(curve_point("iteration", beside, "batch", batch, 2e-3 + 0.3e-3 * batch));
  const Json average{{"operation", "average"}, {"library", "host"}, {"ranks", 2}, {"nodes", 1}};
  for (double bytes : {1e3, 1e5, 1e7})
    profile.samples.push_back(curve_point("collective", average, "bytes", bytes, 10e-6 + bytes / 2e9));
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["compute"]["profile"] = calib::to_json(profile);
  files.scenario["compute"]["profile_input"] = "synthetic";
  files.scenario["communication"]["all_reduce"] = "profile-average";
  const Report report = predict(files.load({{"/fidelity", "fast"}, {"/gpus", "[2]"}}), 1, {});
  CHECK(report.points[0].point.mean_iteration_s() == Approx(9.033892e-3).epsilon(1e-4));
  CHECK(error_of(files, {{"/gpus", "[4]"}}).find("the profile has no average over 4 devices") != std::string::npos);
  CHECK(error_of(files, {{"/compute/profile_input", "\"disk\""}}).find("/compute/profile_input: ") !=
        std::string::npos);
  files.scenario["compute"]["profile"] = small_profile();
  CHECK(error_of(files).find("by one learner beside an input pipeline (synthetic); allowed: lenet_crossbow at fp32") !=
        std::string::npos);
}

TEST_CASE("where layers were measured an iteration is spread over them as they were") {
  // conv1 takes 3 ms forward and 1 + 2 ms back, fc1 1 ms forward and 2 back, the update 1 ms: 10 ms. The measured
  // iteration took 2.6 ms, so each gets 0.26 of its time. Layers that ran as part of others get nothing.
  SmallFiles files = files_with_profile();
  const JsonDocument document = JsonDocument::parse(files.scenario["compute"]["profile"].dump(), "profile");
  calib::Profile profile = calib::profile_from_json(document.root());
  const auto add = [&](const std::string& layer, const std::string& pass, double seconds) {
    const Json key{{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"layer", layer}, {"pass", pass}};
    profile.samples.push_back(curve_point("layer", key, "batch", 16, seconds));
  };
  add("conv1", "forward", 3e-3);
  add("conv1", "backward_filter", 1e-3);
  add("conv1", "backward_data", 2e-3);
  add("conv1", "update", 7);  // counted by the update of the whole model
  add("fc1", "forward", 1e-3);
  add("fc1", "backward", 2e-3);
  profile.samples.push_back(curve_point("update", {{"kernel", "momentum"}}, "elements", 1111946, 1e-3));
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["compute"]["profile"] = calib::to_json(profile);
  const LoadedScenario loaded = files.load();
  const ModelCost cost = model_cost(loaded.variants[0], 16);
  const auto layer_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < cost.layers.size(); ++i)
      if (loaded.variants[0].model.layers[i].name == name) return cost.layers[i];
    FAIL("no layer " << name);
    return LayerCost{};
  };
  CHECK(layer_of("conv1").forward_s == Approx(0.78e-3));
  CHECK(layer_of("conv1").backward_s == Approx(0.78e-3));
  CHECK(layer_of("fc1").backward_s == Approx(0.52e-3));
  CHECK(layer_of("pool1").forward_s == 0);
  CHECK(cost.update_s == Approx(0.26e-3));
  CHECK(cost.iteration_s() == Approx(2.6e-3));
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

TEST_CASE("where a prediction reaches beyond its profile, table and result say so") {
  // Measured: batches 8 to 128, one and two devices, all-reduces of two from 1 kB to 10 MB.
  const auto notes_of = [](const SmallFiles& files, const Settings& settings) {
    const Report report = predict(files.load(settings), 1, {});
    std::vector<std::string> notes;
    const std::string table = table_text(report);
    const Json result = result_json(report, {});
    for (const Json& point : result["points"])
      for (const Json& note : point.value("notes", Json::array())) {
        notes.push_back(note.get<std::string>());
        CHECK(table.find(notes.back()) != std::string::npos);
      }
    return notes;
  };
  SmallFiles files = files_with_profile();
  CHECK(notes_of(files, {}).empty());
  CHECK(notes_of(files, {{"/gpus", "[1]"}, {"/batch_per_gpu", "256"}}) ==
        std::vector<std::string>{"1 GPUs: batch 256 is outside the profile's 8 to 128: extrapolated by its fit"});
  CHECK(notes_of(files, {{"/gpus", "[1]"}, {"/batch_per_gpu", "4"}}).size() == 1);
  // The small layers' own all-reduces are below the smallest measured one: ten floats, a bias.
  const std::vector<std::string> unfused =
      notes_of(files, {{"/gpus", "[2]"}, {"/communication/fusion_threshold", "0 B"}});
  REQUIRE(unfused.size() == 1);
  CHECK_THAT(unfused[0], Contains("outside the profile's 1.00 kB to 10.0 MB: extrapolated by its fit"));
  files.cluster["gpu"]["name"] = "H";
  Json& profile = files.scenario["compute"]["profile"];
  Json fewer = profile;
  fewer["fits"] = fewer["samples"] = Json::array();
  for (const char* list : {"fits", "samples"})
    for (const Json& item : profile[list])
      if (item["key"].value("devices", 1) == 1) fewer[list].push_back(item);
  profile = fewer;
  CHECK(notes_of(files, {{"/gpus", "[2]"}}) ==
        std::vector<std::string>{"2 GPUs: the profile's iterations were measured with 1 devices busy, not 2",
                                 "2 GPUs: the profile was measured on G, the cluster has H"});
}

TEST_CASE("NCCL's calls beyond the sizes and nodes of a profile are said to be extrapolated") {
  SmallFiles files = files_with_profile();
  files.scenario["communication"] = Json::parse(R"({"all_reduce": "nccl", "fusion_threshold": "1 GB", "overlap": false,
                                                    "launch_overhead": "0 us", "nccl": {"generation": "hopper"}})");
  const auto nccl_profile = [](double most_bytes) {
    calib::Profile profile;
    profile.name = "nccl";
    profile.device = {"G", "imported", 2, Json::object()};
    const Json key{{"operation", "all-reduce"}, {"library", "nccl"}, {"ranks", 2}, {"nodes", 1}};
    for (double bytes = 1e3; bytes <= most_bytes; bytes *= 10)
      profile.samples.push_back(curve_point("collective", key, "bytes", bytes, 20e-6 + bytes / 1e10));
    profile.fits = calib::fit_curves(profile.samples);
    return calib::to_json(profile);
  };
  const auto notes_at = [&](const std::string& gpus) {
    return predict(files.load({{"/gpus", gpus}}), 1, {}).points[0].extrapolations;
  };
  files.scenario["communication"]["nccl"]["profile"] = nccl_profile(1e9);
  CHECK(notes_at("[2]").empty());
  CHECK(notes_at("[4]") == std::vector<std::string>{"4 GPUs: all-reduces over 2 nodes are more than the profile's 1: "
                                                    "extrapolated by NCCL's cost model"});
  files.scenario["communication"]["nccl"]["profile"] = nccl_profile(1e6);
  CHECK(notes_at("[2]") == std::vector<std::string>{"2 GPUs: all-reduces of 4.45 MB are outside the profile's 1.00 kB "
                                                    "to 1.00 MB: extrapolated by its fit"});
}

TEST_CASE("a slowdown beside collectives of other sizes or batches than were measured is said to be the nearest's") {
  SmallFiles files = files_with_profile();
  const JsonDocument document = JsonDocument::parse(files.scenario["compute"]["profile"].dump(), "profile");
  calib::Profile profile = calib::profile_from_json(document.root());
  for (const std::string beside : {"all-reduce", "nothing"})
    for (double bytes : {1e3, 1e6}) {
      const Json key{{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"devices", 2}, {"batch", 16},
                     {"library", "host"},         {"beside", beside}};
      profile.samples.push_back(curve_point("overlap", key, "bytes", bytes, beside == "nothing" ? 2e-3 : 2.2e-3));
    }
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["compute"]["profile"] = calib::to_json(profile);
  const auto notes = [&](const Settings& settings) {
    return predict(files.load(settings), 1, {}).points[0].extrapolations;
  };
  const auto at_batch = [](const std::string& batch) {
    return Settings{{"/gpus", "[2]"}, {"/batch_per_gpu", batch}, {"/communication/overlap", "true"}};
  };
  CHECK(notes(at_batch("16")) ==
        std::vector<std::string>{"2 GPUs: collectives of 4.45 MB are outside the profile's 1.00 kB "
                                 "to 1.00 MB for iterations beside all-reduces: the nearest's "
                                 "slowdown is taken"});
  REQUIRE(notes(at_batch("32")).size() == 2);
  CHECK_THAT(notes(at_batch("32"))[0],
             Contains("batch 32 is outside the profile's 16 for iterations beside all-reduces"));
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
  CHECK(
      error_of(without).find(
          "all_reduce \"profile\" without a profile; allowed: one in /compute/profile, or in /communication/profile") !=
      std::string::npos);
  SmallFiles broken = files_with_profile();
  broken.scenario["compute"]["profile"]["samples"][0]["seconds"][0] = -1;
  CHECK(error_of(broken).find("/compute/profile/samples/0/seconds/0: ") != std::string::npos);
}

TEST_CASE("what was measured badly widens the bounds and is said") {
  // Batch 8 on one device takes 1.8 ms, scattered by `by` both ways. Bounds are that and the 5 % of /uncertainty.
  const auto scattered = [](double by) {
    SmallFiles files = files_with_profile();
    files.scenario["gpus"] = {1};
    files.scenario["batch_per_gpu"] = 8;
    files.scenario["uncertainty"] = {{"compute", 0.05}};
    for (Json& sample : files.scenario["compute"]["profile"]["samples"]) {
      const double seconds = sample["seconds"][0];
      if (sample["probe"] == "iteration")
        sample["seconds"] = Json::array({seconds, (1 - by) * seconds, (1 + by) * seconds});
    }
    return predict(files.load(), 1, {});
  };
  const auto width = [&](double by) { return scattered(by).points[0].point.interval.high - 1; };
  const double reach = sim::reach_of_80_percent();
  CHECK(width(0) == Approx(reach * 0.05));
  CHECK(width(0.2) == Approx(reach * std::hypot(0.05, 0.2)));
  CHECK(width(0.1) > width(0.02));

  const Report report = scattered(0.2);
  CHECK(report.points[0].point.interval.low == Approx(1 - reach * std::hypot(0.05, 0.2)));
  REQUIRE(report.points[0].extrapolations.size() == 2);
  CHECK(report.points[0].extrapolations[0] ==
        "1 GPUs: the profile's iterations at batch 8 are known to 20 % only (its median is known to 20 %): the bounds "
        "are as wide");
  CHECK_THAT(report.points[0].extrapolations[1], Contains("1 GPUs: between "));
  CHECK_THAT(table_text(report), Contains("Of profile \"made up\" 6 of 6 series are known to no better than 5 %"));
  CHECK(result_json(report, {})["imprecise"].size() == 1);
  const Report precise = scattered(0.02);
  CHECK(precise.points[0].extrapolations.empty());
  CHECK_FALSE(result_json(precise, {}).contains("imprecise"));
  CHECK_THROWS_WITH(scattered(0.8), Contains("known to 80 % only") && Contains("measure them again"));
}

TEST_CASE("an all-reduce that was measured badly widens the part that it takes") {
  SmallFiles files = files_with_profile();
  files.scenario["gpus"] = {2};
  files.scenario["uncertainty"] = {{"compute", 0}, {"bandwidth", 0.1}, {"latency", 0.1}};
  const auto high = [&] { return predict(files.load(), 1, {}).points[0].point.interval.high; };
  const double before = high();
  for (Json& sample : files.scenario["compute"]["profile"]["samples"]) {
    const double seconds = sample["seconds"][0];
    if (sample["probe"] == "collective") sample["seconds"] = {seconds, 0.7 * seconds, 1.3 * seconds};
  }
  CHECK(high() > before);
  CHECK_THAT(predict(files.load(), 1, {}).points[0].extrapolations.at(0),
             Contains("2 GPUs: the profile's all-reduces of 4.45 MB are known to 30 % only"));
}

TEST_CASE("rates of one GPU stand beside all-reduces of a profile") {
  // 16 images at 8000 images/s take 2 ms; then come the profile's 50 us + 4,447,784 B / 1 GB/s.
  SmallFiles files = files_with_profile();
  files.scenario["communication"]["profile"] = files.scenario["compute"]["profile"];
  files.scenario["compute"].erase("profile");
  files.scenario["compute"]["rates"] = Json::parse(R"([{"batch": 16, "rate": "8000 images/s"}])");
  for (const std::string fidelity : {"message", "fast", "analytic"}) {
    const Report report =
        predict(files.load({{"/fidelity", fidelity}, {"/gpus", "[2]"}, {"/baseline/gpus", "2"}}), 1, {});
    CHECK(report.points[0].point.mean_iteration_s() == Approx(6.497784e-3).epsilon(1e-4));
  }
  CHECK(error_of(files, {{"/gpus", "[4]"}}).find("the profile has no all-reduce over 4 devices") != std::string::npos);
  CHECK(error_of(files, {{"/communication/all_reduce", "ring"}})
            .find("/communication/profile: has no effect on all_reduce \"ring\"; allowed: beside \"profile\"") !=
        std::string::npos);
  // The written file is read as itself.
  const LoadedScenario loaded = files.load({{"/gpus", "[2]"}, {"/baseline/gpus", "2"}});
  CHECK(to_json(loaded.variants[0])["communication"]["profile"]["name"] == "made up");
}

TEST_CASE("of all-reduces by several libraries one must be named") {
  SmallFiles files = files_with_profile();
  const JsonDocument document = JsonDocument::parse(files.scenario["compute"]["profile"].dump(), "profile");
  calib::Profile profile = calib::profile_from_json(document.root());
  const Json key{{"operation", "all-reduce"}, {"library", "gloo"}, {"ranks", 2}, {"nodes", 1}};
  for (double bytes : {1e3, 1e5, 1e7})
    profile.samples.push_back(curve_point("collective", key, "bytes", bytes, 100e-6 + bytes / 5e8));
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["compute"]["profile"] = calib::to_json(profile);
  CHECK(error_of(files).find("the profile has the all-reduce of several libraries over 2 devices; allowed: one of them "
                             "in /communication/library: host, gloo") != std::string::npos);
  const auto iteration_s = [&](const std::string& library) {
    files.scenario["communication"]["library"] = library;
    return predict(files.load({{"/gpus", "[2]"}}), 1, {}).points[0].point.mean_iteration_s();
  };
  CHECK(iteration_s("host") == Approx(4.2e-3 + 50e-6 + 4.447784e-3).epsilon(1e-4));
  CHECK(iteration_s("gloo") == Approx(4.2e-3 + 100e-6 + 8.895568e-3).epsilon(1e-4));
  files.scenario["communication"]["library"] = "mpi";
  CHECK(error_of(files).find("the profile has no all-reduce of mpi over 2 devices; allowed: by host, gloo") !=
        std::string::npos);
}

TEST_CASE("NCCL's latency and bandwidth follow a profile's all-reduces, which contain their launch") {
  SmallFiles files = files_with_profile();
  files.scenario["communication"] = Json::parse(R"({"all_reduce": "nccl", "fusion_threshold": "1 GB", "overlap": false,
                                                    "launch_overhead": "0 us", "nccl": {"generation": "hopper"}})");
  const auto iteration_s = [&] {
    return predict(files.load({{"/fidelity", "fast"}, {"/gpus", "[2]"}}), 1, {}).points[0].point.mean_iteration_s();
  };
  const double by_tables_s = iteration_s();
  // 2 ms + 1 GB/s is far slower than any NVSwitch: 6.45 ms for 4,447,784 B.
  calib::Profile profile;
  profile.name = "slow";
  profile.device = {"G", "imported", 2, Json::object()};
  const Json key{{"operation", "all-reduce"}, {"library", "nccl"}, {"ranks", 2}, {"nodes", 1}};
  for (double bytes = 1e6; bytes < 1e10; bytes *= 10)
    profile.samples.push_back(curve_point("collective", key, "bytes", bytes, 2e-3 + bytes / 1e9));
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["communication"]["nccl"]["profile"] = calib::to_json(profile);
  CHECK(iteration_s() > by_tables_s + 5e-3);
  CHECK(iteration_s() < by_tables_s + 8e-3);
  files.scenario["communication"]["launch_overhead"] = "20 us";
  CHECK(error_of(files).find("/communication/launch_overhead: measured calls contain their launch; allowed: \"0 us\" "
                             "beside nccl/profile") != std::string::npos);
  files.scenario["communication"]["launch_overhead"] = "0 us";
  files.scenario["communication"]["nccl"]["profile"] = small_profile();
  CHECK(error_of(files).find("/communication/nccl/profile: has no all-reduces by NCCL on one node; allowed: two sizes "
                             "or more") != std::string::npos);
}

TEST_CASE("NCCL's calls between nodes follow a profile's all-reduces over several nodes") {
  // Two nodes of two GPUs; 2 ms + 1 GB/s over them, far slower than any NIC: 4,447,784 B take 6.447784 ms, in every
  // fidelity, after the 4.2 ms of compute of two busy devices.
  SmallFiles files = files_with_profile();
  files.scenario["communication"] = Json::parse(R"({"all_reduce": "nccl", "fusion_threshold": "1 GB", "overlap": false,
                                                    "launch_overhead": "0 us",
                                                    "nccl": {"generation": "hopper", "algorithm": "ring",
                                                             "protocol": "simple"}})");
  files.scenario["gpus"] = {4};
  files.scenario["baseline"] = {{"gpus", 4}};
  calib::Profile profile;
  profile.name = "slow network";
  profile.device = {"G", "imported", 4, Json::object()};
  Json key{{"operation", "all-reduce"}, {"library", "nccl"}, {"ranks", 4}, {"nodes", 2}};
  for (double bytes = 1e5; bytes < 1e10; bytes *= 10)
    profile.samples.push_back(curve_point("collective", key, "bytes", bytes, 2e-3 + bytes / 1e9));
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["communication"]["nccl"]["profile"] = calib::to_json(profile);
  for (const std::string fidelity : {"message", "fast", "analytic"}) {
    const PointResult point = predict(files.load({{"/fidelity", fidelity}}), 1, {}).points[0].point;
    CHECK(point.mean_iteration_s() == Approx(4.2e-3 + 6.447784e-3).epsilon(0.01));
    const NcclFitResult& fit = point.details.nccl_fit.value();
    CHECK(fit.nodes == std::vector<int>{2});
    CHECK(fit.errors.calls == 5);
    CHECK(fit.correction.latency_excess_s == 0.0);
    CHECK(fit.errors.leave_one_out < 0.05);
    CHECK_FALSE(fit.errors.most_nodes_left_out);
  }
  for (calib::Sample& sample : profile.samples) sample.key["ranks"] = 16;  // eight GPUs a node
  profile.fits = calib::fit_curves(profile.samples);
  files.scenario["communication"]["nccl"]["profile"] = calib::to_json(profile);
  CHECK(error_of(files).find("/communication/nccl/profile: has all-reduces by NCCL only over nodes of other sizes; "
                             "allowed: 2 GPUs a node, as the cluster has") != std::string::npos);
}
