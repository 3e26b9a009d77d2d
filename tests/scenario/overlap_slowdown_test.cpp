// The slowdown of compute by an overlapping collective, given in a scenario or measured in a profile.
#include "calib/profile.hpp"
#include "sim/scenario/overlap_spec.hpp"
#include "sim/scenario/profile_range.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using namespace lockstep::tests;

namespace {

void add_overlap(calib::Profile& profile, int devices, const std::string& library, int batch, double bytes,
                 double ratio) {
  for (const std::string beside : {"all-reduce", "nothing"})
    profile.samples.push_back({"overlap",
                               {{"model", "lenet_crossbow"},
                                {"precision", "fp32"},
                                {"devices", devices},
                                {"batch", batch},
                                {"library", library},
                                {"beside", beside},
                                {"bytes", bytes}},
                               {beside == "nothing" ? 2e-3 : 2e-3 * ratio},
                               "measured",
                               "test",
                               {}});
}

calib::Profile profile_with_iterations() {
  calib::Profile profile;
  profile.name = "made up";
  profile.device = {"G", "host", 2, Json::object()};
  for (int batch : {8, 32, 128})
    profile.samples.push_back(
        {"iteration",
         {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}, {"batch", batch}},
         {1e-4 * batch},
         "measured",
         "test",
         {}});
  return profile;
}

SmallFiles files_with(calib::Profile profile) {
  profile.fits = calib::fit_curves(profile.samples);
  Json scenario = small_scenario();
  scenario["compute"]["profile"] = calib::to_json(profile);
  return SmallFiles(scenario);
}

std::string error_of(const SmallFiles& files, const std::string& slowdown) {
  try {
    files.load({{"/compute/overlap_slowdown", slowdown}});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const Assumption* listed(const LoadedScenario& loaded) {
  for (const Assumption& one : loaded.assumptions)
    if (one.pointer == "/compute/overlap_slowdown") return &one;
  return nullptr;
}

}  // namespace

TEST_CASE("a slowdown goes by the logarithms of bytes and batch between what was measured") {
  OverlapSlowdown slowdown;
  CHECK_FALSE(slowdown);
  CHECK(slowdown.at(16, 1e6) == 1);
  slowdown.add(16, 1e3, 1.1);
  slowdown.add(16, 1e7, 1.3);
  slowdown.add(64, 1e3, 1.05);
  slowdown.add(64, 1e7, 0.97);  // noise: nothing gets faster
  REQUIRE(slowdown);
  CHECK(slowdown.at(16, 1e3) == Approx(1.1));
  CHECK(slowdown.at(16, 1e5) == Approx(1.2));  // half way from 1e3 to 1e7
  CHECK(slowdown.at(16, 1) == Approx(1.1));    // outside: the nearest
  CHECK(slowdown.at(4, 1e9) == Approx(1.3));
  CHECK(slowdown.at(64, 1e7) == 1);
  CHECK(slowdown.at(32, 1e5) == Approx(1.1125));  // half way from 16 (1.2) to 64 (1.025)
  CHECK(slowdown.least() == 1);
  CHECK(slowdown.most() == Approx(1.3));
  CHECK(OverlapSlowdown(1.25).at(7, 123) == 1.25);
}

TEST_CASE("a processor that sums does not compute: what compute loses to a sum in turns") {
  // While a sum of T seconds runs, compute loses T (1 - 1/s).
  const auto lost = [](double ratio) { return 1 - 1 / OverlapSlowdown(ratio).in_turns().at(1, 1); };
  CHECK(lost(1) == 0);
  CHECK(lost(1.25) == Approx(0.25));
  CHECK(lost(1.5) == Approx(0.5));
  CHECK(lost(2) == Approx(0.99));  // all, but for the limit
  CHECK(lost(2.2) == Approx(0.99));
  double last = 0;
  for (double ratio = 1.1; ratio < 2.05; ratio += 0.1) {
    CHECK(lost(ratio) > last);
    CHECK(lost(ratio) >= 1 - 1 / ratio - 1e-12);  // never less than where the sum is not delayed
    last = lost(ratio);
  }
  calib::Profile profile = profile_with_iterations();
  add_overlap(profile, 2, "nccl", 32, 1e6, 1.5);
  CHECK_FALSE(measured_overlap(profile, "lenet_crossbow", "fp32", 2)->is_in_turns);
  for (const char* library : {"host", "gloo"}) {
    calib::Profile on_processors = profile_with_iterations();
    add_overlap(on_processors, 2, library, 32, 1e6, 1.5);
    CHECK(measured_overlap(on_processors, "lenet_crossbow", "fp32", 2)->is_in_turns);
  }
}

TEST_CASE("a profile's overlap is taken by devices, real collectives before emulated ones") {
  calib::Profile profile = profile_with_iterations();
  add_overlap(profile, 1, "emulated", 32, 1e6, 1.9);
  CHECK(measured_overlap(profile, "lenet_crossbow", "fp32", 8)->is_emulated);
  CHECK_FALSE(measured_overlap(profile, "lenet_crossbow", "fp16", 8));
  CHECK_FALSE(measured_overlap(profile, "vgg16", "fp32", 8));
  for (int devices : {4, 2, 8}) add_overlap(profile, devices, "nccl", 32, 1e6, 1 + 0.1 * devices);
  add_overlap(profile, 4, "nccl", 32, 1e8, 1.6);
  const auto ratio = [&](int devices, double bytes) {
    return measured_overlap(profile, "lenet_crossbow", "fp32", devices)->slowdown.at(32, bytes);
  };
  CHECK(ratio(2, 1e6) == Approx(1.2));
  CHECK(ratio(3, 1e6) == Approx(1.4));  // the next larger
  CHECK(ratio(4, 1e8) == Approx(1.6));
  CHECK(ratio(8, 1e8) == Approx(1.8));
  CHECK(ratio(16, 1e6) == Approx(1.8));  // else the largest
  CHECK(ratio(1, 1e6) == Approx(1.2));   // although one was emulated
}

TEST_CASE("a scenario lists what its slowdown rests on, and states another") {
  calib::Profile profile = profile_with_iterations();
  CHECK(listed(files_with(profile).load()) == nullptr);
  add_overlap(profile, 2, "host", 32, 1e4, 1.1);
  add_overlap(profile, 2, "host", 32, 1e6, 1.3);
  const LoadedScenario measured = files_with(profile).load();
  REQUIRE(listed(measured));
  CHECK(listed(measured)->kind == "measured");
  CHECK(listed(measured)->value == "1.1 to 1.3");
  CHECK(listed(measured)->source == "profile made up, iterations beside all-reduces of host, 2 devices");
  CHECK_FALSE(measured.variants[0].compute.overlap_slowdown);

  const LoadedScenario stated = files_with(profile).load({{"/compute/overlap_slowdown", "1.05"}});
  CHECK(stated.variants[0].compute.overlap_slowdown == 1.05);
  REQUIRE(listed(stated));
  CHECK(listed(stated)->kind == "assumed");

  calib::Profile emulated = profile_with_iterations();
  add_overlap(emulated, 1, "emulated", 32, 1e6, 1.2);
  const LoadedScenario one_gpu = files_with(emulated).load();
  REQUIRE(listed(one_gpu));
  CHECK(listed(one_gpu)->kind == "assumed");
  CHECK(listed(one_gpu)->source.find("beside a collective that one GPU emulates") != std::string::npos);
}

TEST_CASE("where a slowdown is that of the nearest measurement, it is said") {
  // Measured: batches 16 and 32, sizes 10 kB to 1 MB of both (of batch 32 to 10 MB), two devices.
  calib::Profile profile = profile_with_iterations();
  add_overlap(profile, 2, "host", 32, 1e4, 1.1);
  add_overlap(profile, 2, "host", 32, 1e7, 1.3);
  add_overlap(profile, 2, "host", 16, 1e4, 1.1);
  add_overlap(profile, 2, "host", 16, 1e6, 1.2);
  using Lines = std::vector<std::string>;
  const auto lines = [&](const Settings& changes, int gpus, int batch, const std::vector<double>& bytes) {
    Settings settings{{"/communication/overlap", "true"}};
    settings.insert(settings.end(), changes.begin(), changes.end());
    return overlap_beyond_profile(files_with(profile).load(settings).variants[0], gpus, batch, bytes);
  };
  CHECK(lines({}, 2, 16, {1e4, 1e6}).empty());
  CHECK(lines({}, 2, 32, {2e5}).empty());
  CHECK(lines({}, 2, 24, {}).empty());
  CHECK(lines({}, 2, 64, {}) == Lines{"batch 64 is outside the profile's 16 to 32 for iterations beside all-reduces: "
                                      "the nearest's slowdown is taken"});
  const Lines sizes = lines({}, 2, 32, {2e5, 5e6, 8e6});
  CHECK(sizes == Lines{"collectives of 5.00 MB are outside the profile's 10.0 kB to 1.00 MB for iterations beside "
                       "all-reduces: the nearest's slowdown is taken"});
  CHECK(lines({}, 2, 8, {1e3}).size() == 2);
  // One GPU has no collectives; other collectives come after the computation, do not use the GPU, or have a given
  // slowdown.
  CHECK(lines({}, 1, 64, {1e3}).empty());
  CHECK(lines({{"/communication/overlap", "false"}}, 2, 64, {1e3}).empty());
  CHECK(lines({{"/compute/overlap_slowdown", "1.1"}}, 2, 64, {1e3}).empty());

  calib::Profile more = profile_with_iterations();
  add_overlap(more, 8, "host", 32, 1e4, 1.1);
  const LoadedScenario loaded = files_with(more).load({{"/communication/overlap", "true"}});
  CHECK(overlap_beyond_profile(loaded.variants[0], 2, 32, {1e4}) ==
        Lines{"the profile's iterations beside all-reduces were measured with 8 devices busy, not 2"});
  CHECK(overlap_beyond_profile(loaded.variants[0], 2, 16, {}).front() ==
        "batch 16 is outside the profile's 32 for iterations beside all-reduces: the nearest's slowdown is taken");
}

TEST_CASE("a slowdown needs no profile, and malformed ones are refused") {
  const SmallFiles files;
  CHECK(files.one({{"/compute/overlap_slowdown", R"({"value": 1.1, "kind": "published", "source": "somewhere"})"}})
            .compute.overlap_slowdown == 1.1);
  CHECK_FALSE(files.one().compute.overlap_slowdown);
  for (const std::string wrong : {"0.9", "-1", "101", "true", "[1.1]", "\"1.1\"", "fast", "null", "{\"value\": 1.1}",
                                  R"({"value": 1.1, "kind": "guessed", "source": "x"})"}) {
    INFO(wrong);
    CHECK(error_of(files, wrong).find("/compute/overlap_slowdown") != std::string::npos);
  }
}
