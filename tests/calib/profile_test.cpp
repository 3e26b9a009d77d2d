#include "calib/profile.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Sample collective(double bytes, double seconds, const std::string& kind = "measured") {
  return {
      "collective", {{"operation", "all-reduce"}, {"library", "nccl"}, {"ranks", 8}, {"nodes", 1}, {"bytes", bytes}},
      {seconds},    kind,
      "test",       {}};
}

// 10 us + 100 GB/s.
Profile small_profile() {
  Profile profile;
  profile.name = "small";
  profile.device = {"NVIDIA X", "cuda", 8, {{"memory", "80 GB"}}};
  for (double bytes = 1e3; bytes < 1e9; bytes *= 10)
    profile.samples.push_back(collective(bytes, 10e-6 + bytes / 100e9));
  profile.fits = fit_curves(profile.samples);
  return profile;
}

std::string error_of(const Json& json) {
  try {
    profile_from_json(JsonDocument::parse(json.dump(), "p.json").root());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a profile reads back as it was written") {
  const Profile profile = small_profile();
  const std::string text = to_json(profile).dump(2);
  const Profile again = profile_from_json(JsonDocument::parse(text, "p.json").root());
  CHECK(to_json(again).dump(2) == text);
}

TEST_CASE("a curve's fit is found by its key, in whatever order") {
  const Profile profile = small_profile();
  REQUIRE(profile.fits.size() == 1);
  const Json key{{"nodes", 1}, {"ranks", 8}, {"library", "nccl"}, {"operation", "all-reduce"}};
  const Fit* fit = profile.find("collective", key);
  REQUIRE(fit != nullptr);
  CHECK(fit->line.at(5e6) == Approx(10e-6 + 5e6 / 100e9));
  CHECK(profile.curve("collective", key).size() == 6);
  CHECK(profile.find("collective", {{"ranks", 16}}) == nullptr);
}

TEST_CASE("merging keeps every sample and prefers the second profile's") {
  const Profile a = small_profile();
  Profile b = small_profile();
  b.samples = {collective(1e3, 20e-6), collective(1e9, 10.01e-3)};
  const Profile merged = merge(a, b, "both");
  CHECK(merged.samples.size() == a.samples.size() + 1);
  CHECK(merged.samples.front().seconds.front() == 20e-6);
  CHECK(merged.fits.size() == 1);
  CHECK(merged.fits[0].line.to_x == 1e9);
}

TEST_CASE("profiles of different devices are not merged, logs of the same kind of machine are") {
  Profile other = small_profile();
  other.device.name = "NVIDIA Y";
  CHECK_THROWS_WITH(merge(small_profile(), other, "x"), Contains("different devices"));
  other.device.kind = "imported";
  CHECK(merge(other, small_profile(), "x").device.name == "NVIDIA X");
}

TEST_CASE("samples of different kinds make an imported fit") {
  Profile profile = small_profile();
  profile.samples.push_back(collective(2e9, 20e-3, "imported"));
  CHECK(fit_curves(profile.samples).front().kind == "imported");
}

TEST_CASE("malformed profiles are refused with file and pointer") {
  Json json = to_json(small_profile());
  Json bad = json;
  bad["samples"][0]["seconds"] = Json::array();
  CHECK(error_of(bad) == "p.json: /samples/0/seconds: empty list; allowed: one or more times in seconds");
  bad = json;
  bad["samples"][1]["key"].erase("bytes");
  CHECK(error_of(bad) == "p.json: /samples/1/key: missing key \"bytes\"");
  bad = json;
  bad["samples"].erase(0);
  CHECK(error_of(bad) == "p.json: /fits/0: the profile does not have the 6 samples of this fit");
  bad = json;
  bad["fits"][0]["pieces"][0]["latency_s"] = -1;
  CHECK(error_of(bad).find("p.json: /fits/0/pieces/0/latency_s: ") == 0);
  bad = json;
  bad["device"]["colour"] = "green";
  CHECK(error_of(bad).find("p.json: /device: unknown key \"colour\"") == 0);
  bad = json;
  bad["schema"] = "lockstep/profile/2";
  CHECK(error_of(bad).find("p.json: /schema: ") == 0);
}

TEST_CASE("the report names device, curves, residuals and flags") {
  Profile profile = small_profile();
  profile.samples[0].flags = {"drift"};
  const std::string text = report_text(profile);
  CHECK(text.find("small: 8 x NVIDIA X (cuda)") == 0);
  CHECK(text.find("10.0 us + bytes / 100 GB/s") != std::string::npos);
  CHECK(text.find("Flagged samples: drift 1") != std::string::npos);
  CHECK(text.find("residual median 0.0 %") != std::string::npos);
}
