// Links of a cluster by the copies of a profile.
#include "sim/scenario/measured_link.hpp"

#include <algorithm>

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using namespace lockstep::tests;

namespace {

struct Planted {
  double latency_s;
  double bandwidth_bytes_per_s;
  double seconds(double bytes) const { return latency_s + bytes / bandwidth_bytes_per_s; }
};
constexpr Planted kNvlink{3e-6, 100e9}, kNvlinkBothWays{3e-6, 90e9}, kPinned{4e-6, 50e9}, kPageable{10e-6, 12e9};

void add(calib::Profile& profile, const Json& key, const Planted& planted) {
  for (double bytes = 4096; bytes <= 1 << 28; bytes *= 4) {
    Json of_size = key;
    of_size["bytes"] = bytes;
    profile.samples.push_back({"copy", of_size, {planted.seconds(bytes)}, "measured", "test", {}});
  }
}

calib::Profile profile_of_copies() {
  calib::Profile profile;
  profile.name = "made up";
  profile.device = {"G", "cuda", 2, Json::object()};
  add(profile, {{"from", "host"}, {"to", "gpu0"}, {"both_ways", false}}, kPageable);
  add(profile, {{"from", "host"}, {"to", "gpu0"}, {"both_ways", false}, {"memory", "pinned"}}, kPinned);
  add(profile, {{"from", "gpu0"}, {"to", "gpu0"}, {"both_ways", false}}, {2e-6, 1e12});
  add(profile, {{"from", "gpu0"}, {"to", "gpu1"}, {"both_ways", false}, {"link", "NV2"}}, kNvlink);
  add(profile, {{"from", "gpu0"}, {"to", "gpu1"}, {"both_ways", true}, {"link", "NV2"}}, kNvlinkBothWays);
  add(profile, {{"from", "gpu0"}, {"to", "gpu2"}, {"both_ways", false}, {"link", "SYS"}}, {9e-6, 20e9});
  profile.fits = calib::fit_curves(profile.samples);
  return profile;
}

// Makes one server of four GPUs on an NVSwitch.
Json nvswitch_cluster() {
  Json cluster = small_cluster();
  cluster["nodes"] = 1;
  cluster["gpus_per_node"] = 4;
  cluster.erase("nic");
  cluster.erase("fabric");
  cluster["profile"] = calib::to_json(profile_of_copies());
  cluster["intra_node"] = Json::parse(R"({"kind": "nvswitch", "gpu_link": {"from": "gpu0", "to": "gpu1"},
                                          "pcie_link": {"from": "host", "to": "gpu0"}})");
  return cluster;
}

ClusterSpec cluster_of(const Json& cluster) {
  return read_cluster(JsonDocument::parse(cluster.dump(), "c.json").root());
}

Json with_gpu_link(const std::string& link) {
  Json cluster = nvswitch_cluster();
  cluster["intra_node"]["gpu_link"] = Json::parse(link);
  return cluster;
}

void check_error(const Json& cluster, const std::string& line) {
  CHECK(error_of([&] { cluster_of(cluster); }) == line);
}

}  // namespace

TEST_CASE("a message over measured links takes what the copy took") {
  const IntraNodeSpec node = cluster_of(nvswitch_cluster()).intra_node;
  for (const double bytes : {4096.0, 1e6, 1e9}) {
    const double peer_s = 2 * node.gpu_link.latency_s + bytes / node.gpu_link.bandwidth_bytes_per_s;
    CHECK(peer_s == Approx(kNvlink.seconds(bytes)));
    const LinkSpec pcie = node.pcie.gpu_link;
    CHECK(pcie.latency_s + bytes / pcie.bandwidth_bytes_per_s == Approx(kPinned.seconds(bytes)));
  }
}

TEST_CASE("the copy that is named is taken") {
  const auto link = [](const std::string& text) { return cluster_of(with_gpu_link(text)).intra_node.gpu_link; };
  CHECK(link(R"({"from": "gpu0", "to": "gpu1", "both_ways": true})").bandwidth_bytes_per_s ==
        Approx(kNvlinkBothWays.bandwidth_bytes_per_s));
  CHECK(link(R"({"from": "gpu0", "to": "gpu2", "link": "SYS"})").bandwidth_bytes_per_s == Approx(20e9));
  CHECK(link(R"({"from": "gpu0", "to": "gpu1", "hops": 3})").latency_s == Approx(1e-6));
}

TEST_CASE("an NVLink of a mesh has its share of a pair's bytes and all of its latency") {
  Json cluster = nvswitch_cluster();
  cluster["intra_node"] = Json::parse(R"({"kind": "nvlink-mesh", "link": {"from": "gpu0", "to": "gpu1"},
    "links": [[0, 1, 2]], "pcie": {"switches": [{"socket": 0, "gpus": [0, 1, 2, 3]}],
    "gpu_link": {"from": "host", "to": "gpu0", "memory": "pinned"}, "switch_uplink": {"from": "host", "to": "gpu0"}}})");
  const IntraNodeSpec node = cluster_of(cluster).intra_node;
  CHECK(node.mesh.link.bandwidth_bytes_per_s == Approx(kNvlink.bandwidth_bytes_per_s / 2));
  CHECK(node.mesh.link.latency_s == Approx(kNvlink.latency_s));
  CHECK(node.pcie.gpu_link.latency_s + node.pcie.switch_uplink.latency_s == Approx(kPinned.latency_s));
  cluster["intra_node"]["link"]["to"] = "gpu2";
  check_error(cluster,
              "c.json: /intra_node/link: the profile does not say how many NVLinks carry copies from gpu0 to gpu2, "
              "SYS; allowed: a copy with a \"link\" such as NV2");
}

TEST_CASE("a measured link is listed with its source, and the profile among the inputs") {
  Json cluster = nvswitch_cluster();
  cluster["profile"] = "copies.json";
  Json scenario = small_scenario();
  const SmallFiles files(scenario, cluster);
  files.folder.write("copies.json", calib::to_json(profile_of_copies()).dump());
  const LoadedScenario loaded = files.load({}, {4});
  const auto& all = loaded.assumptions;
  const auto latency = std::find_if(
      all.begin(), all.end(), [](const Assumption& a) { return a.pointer == "/cluster/intra_node/gpu_link/latency"; });
  REQUIRE(latency != all.end());
  CHECK(latency->kind == "measured");
  CHECK(latency->value == "1.50 us");
  CHECK(latency->source ==
        "made up: copies from gpu0 to gpu1, NV2 on G, 4.10 kB to 268 MB, worst residual 0 %, shared by 2 links");
  const auto is_copies = [](const auto& input) { return input.first.find("copies.json") != std::string::npos; };
  CHECK(std::count_if(loaded.inputs.begin(), loaded.inputs.end(), is_copies) == 1);
}

TEST_CASE("a log of one size gives a bandwidth") {
  calib::Profile profile = profile_of_copies();
  profile.samples.resize(1);
  profile.samples[0] = {"copy",  {{"from", "gpu1"}, {"to", "gpu0"}, {"both_ways", false}, {"bytes", 5e8}},
                        {5e-3},  "imported",
                        "a log", {}};
  profile.fits = calib::fit_curves(profile.samples);
  Json cluster = with_gpu_link(R"({"from": "gpu1", "to": "gpu0"})");
  cluster["profile"] = calib::to_json(profile);
  cluster["intra_node"]["pcie_link"] = Json::parse(R"({"bandwidth": "50 GB/s", "latency": "1 us"})");
  CHECK(cluster_of(cluster).intra_node.gpu_link.bandwidth_bytes_per_s == Approx(100e9));
  CHECK(cluster_of(cluster).intra_node.gpu_link.latency_s == 0);
}

TEST_CASE("links that no copy tells of are refused") {
  Json cluster = nvswitch_cluster();
  cluster.erase("profile");
  check_error(cluster,
              "c.json: /intra_node/gpu_link: a link by a copy needs the profile that has it; allowed: one in /profile "
              "of the cluster");
  check_error(with_gpu_link(R"({"from": "host", "to": "gpu0"})"),
              "c.json: /intra_node/gpu_link: a copy from host to gpu0 does not go over this link; allowed: one between "
              "GPUs");
  check_error(with_gpu_link(R"({"from": "gpu0", "to": "gpu0"})"),
              "c.json: /intra_node/gpu_link: a copy within gpu0 goes over no link");
  check_error(with_gpu_link(R"({"from": "gpu0"})"), "c.json: /intra_node/gpu_link: missing key \"to\"");
  check_error(with_gpu_link(R"({"from": "gpu0", "to": "gpu1", "latency": "1 us"})"),
              "c.json: /intra_node/gpu_link: unknown key \"latency\"; known: from, to, both_ways, memory, link, hops");
  check_error(with_gpu_link(R"({"from": "gpu0", "to": "gpu1", "hops": 0})"),
              "c.json: /intra_node/gpu_link/hops: value 0 is out of range; allowed: 1 to 16");
  check_error(with_gpu_link(R"({"from": "gpu0", "to": "gpu3"})"),
              "c.json: /intra_node/gpu_link: the profile has no copy from gpu0 to gpu3; allowed: gpu0 to gpu1, NV2, "
              "gpu0 to gpu1, NV2, both ways, gpu0 to gpu2, SYS, host to gpu0, host to gpu0, pinned");
}

TEST_CASE("a copy whose time does not grow with its bytes tells of no bandwidth") {
  calib::Profile profile = profile_of_copies();
  for (calib::Sample& sample : profile.samples) sample.seconds = {5e-6};
  profile.fits = calib::fit_curves(profile.samples);
  Json cluster = nvswitch_cluster();
  cluster["profile"] = calib::to_json(profile);
  check_error(cluster,
              "c.json: /intra_node/gpu_link: copies from gpu0 to gpu1, NV2 take no longer with more bytes; allowed: a "
              "profile with larger ones");
}
