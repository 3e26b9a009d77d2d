#include "calib/profile.hpp"

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Sample collective_sample(double bytes, double seconds, const std::string& kind = "measured") {
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
    profile.samples.push_back(collective_sample(bytes, 10e-6 + bytes / 100e9));
  profile.fits = fit_curves(profile.samples);
  return profile;
}

std::string profile_error(const Json& json) {
  return error_of([&] { profile_from_json(JsonDocument::parse(json.dump(), "p.json").root()); });
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
  b.samples = {collective_sample(1e3, 20e-6), collective_sample(1e9, 10.01e-3)};
  const Profile merged = merge(a, b, "both");
  CHECK(merged.samples.size() == a.samples.size() + 1);
  CHECK(merged.samples.front().seconds.front() == 20e-6);
  CHECK(merged.fits.size() == 1);
  CHECK(merged.fits[0].line.to_x == 1e9);
}

TEST_CASE("a size is the same thing whether it is written as 1000 or as 1000.0") {
  Profile a = small_profile(), b = small_profile();
  for (Sample& sample : b.samples) {
    sample.key["bytes"] = sample.key["bytes"].get<std::int64_t>();  // as a probe counts them, importers read doubles
    sample.seconds = {1.0};
  }
  const Profile merged = merge(a, b, "both");
  REQUIRE(merged.samples.size() == 6);
  for (const Sample& sample : merged.samples) CHECK(sample.seconds[0] == 1.0);
  CHECK(canonical_id("copy", {{"a", 1.5}, {"b", {2.0, "2.0"}}}) == R"(copy {"a":1.5,"b":[2,"2.0"]})");
}

TEST_CASE("profiles of different devices are not merged, logs of the same kind of machine are") {
  Profile other = small_profile();
  other.device.name = "NVIDIA Y";
  CHECK_THROWS_WITH(merge(small_profile(), other, "x"), Contains("different devices"));
  // A log of another GPU is none of this one, in whatever order; what does not name its GPU may be.
  other.device.kind = "imported";
  CHECK_THROWS_WITH(merge(small_profile(), other, "x"), Contains("\"NVIDIA X\" and \"NVIDIA Y\""));
  CHECK_THROWS_WITH(merge(other, small_profile(), "x"), Contains("different devices"));
  Profile third = other;
  third.device.name = "NVIDIA Z";
  CHECK_THROWS_WITH(merge(other, third, "x"), Contains("different devices"));
  third.device = {kUnknownGpu, "imported", 16, Json::object()};
  CHECK(merge(third, small_profile(), "x").device.name == "NVIDIA X");
  CHECK(merge(third, small_profile(), "x").device.count == 8);
  CHECK(merge(other, third, "x").device.name == "NVIDIA Y");
  CHECK(merge(third, other, "x").device.name == "NVIDIA Y");
  CHECK(merge(third, other, "x").device.count == 16);
  // Measured devices have more in their names than logs tell.
  Profile measured = small_profile();
  measured.device.name = "NVIDIA Y (132 SMs), CUDA 12.4";
  CHECK(merge(measured, other, "x").device.name == measured.device.name);
  CHECK(merge(other, measured, "x").device.kind == "cuda");
  Profile host = small_profile();
  host.device = {"processor", "host", 2, Json::object()};
  CHECK(merge(host, other, "x").device.name == "processor");
}

TEST_CASE("merging keeps the facts of both, measured ones before imported ones, and says where they differ") {
  Profile a = small_profile(), b = small_profile();
  a.device.facts = {{"driver", "535"}, {"nvswitches", 4}};
  b.device.facts = {{"driver", "550"}, {"topology", {{"links", {{"GPU0-GPU1", "NV18"}}}}}};
  CHECK(merge(a, b, "x").device.facts.dump() ==
        R"({"driver":"550","nvswitches":4,"topology":{"links":{"GPU0-GPU1":"NV18"}}})");
  b.device.kind = "imported";
  CHECK(merge(a, b, "x").device.facts["driver"] == "535");
  CHECK(merge(b, a, "x").device.facts["driver"] == "535");
  CHECK(merge(b, a, "x").device.facts.contains("topology"));
  CHECK(differing_facts(a.device, b.device) == std::vector<std::string>{"driver \"535\" and \"550\""});
}

TEST_CASE("samples of different kinds make an imported fit") {
  Profile profile = small_profile();
  profile.samples.push_back(collective_sample(2e9, 20e-3, "imported"));
  CHECK(fit_curves(profile.samples).front().kind == "imported");
}

TEST_CASE("malformed profiles are refused with file and pointer") {
  Json json = to_json(small_profile());
  Json bad = json;
  bad["samples"][0]["seconds"] = Json::array();
  CHECK(profile_error(bad) == "p.json: /samples/0/seconds: empty list; allowed: one or more times in seconds");
  bad = json;
  bad["samples"][1]["key"].erase("bytes");
  CHECK(profile_error(bad) == "p.json: /samples/1/key: missing key \"bytes\"");
  bad = json;
  bad["samples"].erase(0);
  CHECK(profile_error(bad) == "p.json: /fits/0: the profile does not have the 6 samples of this fit");
  bad = json;
  bad["fits"][0]["pieces"][0]["latency_s"] = -1;
  CHECK(profile_error(bad).find("p.json: /fits/0/pieces/0/latency_s: ") == 0);
  bad = json;
  bad["device"]["colour"] = "green";
  CHECK(profile_error(bad).find("p.json: /device: unknown key \"colour\"") == 0);
  bad = json;
  bad["samples"][2]["key"]["ranks"] = "eight";
  CHECK(profile_error(bad).find("p.json: /samples/2/key/ranks: ") == 0);
  bad = json;
  bad["fits"][0]["key"]["operation"] = 3;
  CHECK(profile_error(bad).find("p.json: /fits/0/key/operation: ") == 0);
  bad = json;
  bad["samples"][0]["seconds"] = {0.0, 0.0, 1.0};
  CHECK(profile_error(bad).find("p.json: /samples/0/seconds: their median is 0; allowed: ") == 0);
  bad = json;
  bad["samples"][0]["set_aside"] = {{{"why", "ugly"}, {"seconds", {1.0}}}};
  CHECK(profile_error(bad).find("p.json: /samples/0/set_aside/0/why: ") == 0);
  bad["samples"][0]["set_aside"] = {{{"why", "first"}, {"seconds", {-1.0}}}};
  CHECK(profile_error(bad).find("p.json: /samples/0/set_aside/0/seconds/0: ") == 0);
  bad["samples"][0]["set_aside"] = {{{"why", "first"}}};
  CHECK(profile_error(bad) == "p.json: /samples/0/set_aside/0: missing key \"seconds\"");
  bad["samples"][0]["set_aside"] = {{{"why", "first"}, {"seconds", {1.0}}, {"flags", {"drift"}}}};
  CHECK(profile_error(bad).find("p.json: /samples/0/set_aside/0: unknown key \"flags\"") == 0);
  bad = json;
  bad["device"]["facts"] = Json::array();
  CHECK(profile_error(bad).find("p.json: /device/facts: is not an object; allowed: ") == 0);
  bad = json;
  bad["schema"] = "lockstep/profile/2";
  CHECK(profile_error(bad).find("p.json: /schema: ") == 0);
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
