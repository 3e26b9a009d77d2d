// The origin of a value: a file, an included file, or the command line. Errors must name the place to correct.
#include "engine/base/json.hpp"

#include <string>

#include "engine/base/provenance.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

const char kScenario[] = R"({"cluster": "clusters/c.json", "list": [1, 2], "gpus": 8})";
const char kCluster[] = R"({"nic": {"bandwidth": "1 GB/s", "latency": "2 us"}, "racks": [{"hosts": 4}]})";

/// Returns the line that an error at `pointer` prints.
std::string place(const JsonDocument& document, const std::vector<std::string>& keys) {
  return error_of([&] {
    JsonNode node = document.root();
    for (const std::string& key : keys) node = node.is_array() ? node.items()[std::stoul(key)] : node.at(key);
    node.fail("wrong");
  });
}

std::string set_error(const std::string& pointer, const std::string& text = "1") {
  JsonDocument document = JsonDocument::parse(kScenario, "x.json");
  return error_of([&] { document.set(pointer, text); });
}

TEST_CASE("A file is read with its name and its SHA-256") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.json", kScenario);
  const JsonDocument document = JsonDocument::load(path);
  CHECK(document.name() == path);
  CHECK(document.root().at("gpus").integer(1, 10) == 8);
  CHECK(document.inputs() == std::map<std::string, std::string>{{path, sha256_hex(kScenario)}});
}

TEST_CASE("A file that cannot be read is one line") {
  const TemporaryFolder folder;
  CHECK(error_of([&] { JsonDocument::load("none.json"); }) == "none.json: cannot read: No such file or directory");
  CHECK(error_of([&] { JsonDocument::load(folder.path("")); }) == folder.path("") + ": cannot read: Is a directory");
  const std::string large = folder.write("large.json", std::string((64 << 20) + 1, ' '));
  CHECK(error_of([&] { JsonDocument::load(large); }) == large + ": cannot read: larger than 67108864 bytes");
}

TEST_CASE("An included file replaces the string and answers for its errors") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("x.json", kScenario);
  const std::string cluster = folder.write("clusters/c.json", kCluster);
  JsonDocument document = JsonDocument::load(scenario);
  document.include("/cluster");
  CHECK(document.root().at("cluster").at("nic").at("latency").text() == "2 us");
  CHECK(place(document, {"cluster"}) == cluster + ": /: wrong");
  CHECK(place(document, {"cluster", "nic", "latency"}) == cluster + ": /nic/latency: wrong");
  CHECK(place(document, {"cluster", "racks", "0", "hosts"}) == cluster + ": /racks/0/hosts: wrong");
  CHECK(place(document, {"gpus"}) == scenario + ": /gpus: wrong");
  CHECK(place(document, {}) == scenario + ": /: wrong");
  CHECK(document.inputs().size() == 2);
  CHECK(document.inputs().at(cluster) == sha256_hex(kCluster));
}

TEST_CASE("Only a string that names a json file is included") {
  JsonDocument document = JsonDocument::parse(R"({"a": "ring", "b": {"c": 1}})", "x.json");
  const Json before = document.json();
  for (const char* pointer : {"/a", "/b", "/b/c", "/none", "/none/none", ""}) document.include(pointer);
  CHECK(document.json() == before);
  CHECK(place(document, {"a"}) == "x.json: /a: wrong");
}

TEST_CASE("An included file that is missing or malformed is named") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("x.json", kScenario);
  JsonDocument document = JsonDocument::load(scenario);
  const std::string cluster = folder.path("clusters/c.json");
  CHECK(error_of([&] { document.include("/cluster"); }) ==
        scenario + ": /cluster: cannot read \"" + cluster + "\": No such file or directory");
  folder.write("clusters/c.json", "{\n]");
  CHECK(error_of([&] { document.include("/cluster"); }) ==
        cluster + ": line 2, column 1: unexpected ']'; expected string literal");
  CHECK(document.json() == Json::parse(kScenario));
}

TEST_CASE("A file included from an included file is found beside it") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("x.json", R"({"cluster": "clusters/c.json"})");
  folder.write("clusters/c.json", R"({"nic": "../nics/n.json"})");
  const std::string nic = folder.write("nics/n.json", R"({"latency": "2 us"})");
  JsonDocument document = JsonDocument::load(scenario);
  document.include("/cluster");
  document.include("/cluster/nic");
  CHECK(place(document, {"cluster", "nic", "latency"}) == nic + ": /latency: wrong");
  CHECK(place(document, {"cluster"}) == folder.path("clusters/c.json") + ": /: wrong");
}

TEST_CASE("A value set on the command line overrides and answers for its errors") {
  JsonDocument document = JsonDocument::parse(R"({"nic": {"bandwidth": "1 GB/s"}, "list": [1, {"a": 2}]})", "x.json");
  document.set("/nic/bandwidth", "40 Gbit/s");
  document.set("/list/1", R"({"b": 3})");
  CHECK(document.root().at("nic").at("bandwidth").quantity(Dimension::bandwidth, {0, 1e12}) == 5e9);
  CHECK(document.json()["list"][1] == Json{{"b", 3}});
  CHECK(place(document, {"nic", "bandwidth"}) == "--set: /nic/bandwidth: wrong");
  CHECK(place(document, {"list", "1", "b"}) == "--set: /list/1/b: wrong");
  CHECK(place(document, {"list", "0"}) == "x.json: /list/0: wrong");
  CHECK(place(document, {"nic"}) == "x.json: /nic: wrong");
}

TEST_CASE("A value set is JSON where it parses as such and else a string") {
  const auto value = [](const std::string& text) {
    JsonDocument document = JsonDocument::parse("{}", "x.json");
    document.set("/a", text);
    return document.json()["a"].dump();
  };
  CHECK(value("8") == "8");
  CHECK(value("true") == "true");
  CHECK(value("\"8\"") == "\"8\"");
  CHECK(value("[1, \"2 us\"]") == "[1,\"2 us\"]");
  CHECK(value("40 Gbit/s") == "\"40 Gbit/s\"");
  CHECK(value("nan") == "\"nan\"");
  CHECK(value("") == "\"\"");
  CHECK(set_error("/gpus", "{\"a\": 1, \"a\": 2}") == "--set: /gpus: /: duplicate key \"a\"");
  CHECK(set_error("/gpus", "[1,") ==
        "--set: /gpus: line 1, column 4: unexpected end of input; expected '[', '{', or a literal");
}

TEST_CASE("A value is set only at a place that exists or in an object that exists") {
  CHECK(set_error("/new") == "");
  CHECK(set_error("/list/1") == "");
  CHECK(set_error("/a/b/c") == "--set: /a/b/c: no such place; \"/a\" does not exist");
  CHECK(set_error("/list/0/c/d") == "--set: /list/0/c/d: no such place; \"/list/0/c\" does not exist");
  CHECK(set_error("/gpus/a") == "--set: /gpus/a: no such place; \"/gpus\" is a number");
  for (const char* index : {"2", "-", "01", "+1", "-1", "a", "99999999999999999999"}) {
    const std::string pointer = std::string("/list/") + index;
    CHECK(set_error(pointer) == "--set: " + pointer + ": no such place; the array has 2 elements");
  }
}

TEST_CASE("A pointer with bad syntax is refused") {
  for (const std::string pointer : {"", "/", "gpus", "//", "/list/", "/a~2", "/a~"}) {
    CHECK(set_error(pointer) == "--set: \"" + pointer + "\" is not a place in the scenario; allowed: /member/member");
  }
}

TEST_CASE("Slash and tilde in a key are escaped in pointers") {
  JsonDocument document = JsonDocument::parse(R"({"a/b": {"~": 1}})", "x.json");
  CHECK(place(document, {"a/b", "~"}) == "x.json: /a~1b/~0: wrong");
  document.set("/a~1b/~0", "2");
  CHECK(document.json()["a/b"]["~"] == 2);
  CHECK(place(document, {"a/b", "~"}) == "--set: /a~1b/~0: wrong");
}

TEST_CASE("The origin of the smallest subtree wins and a later one replaces those below it") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("x.json", kScenario);
  const std::string cluster = folder.write("clusters/c.json", kCluster);
  JsonDocument document = JsonDocument::load(scenario);
  document.include("/cluster");
  document.set("/cluster/nic/latency", "3 us");
  CHECK(place(document, {"cluster", "nic", "latency"}) == "--set: /cluster/nic/latency: wrong");
  CHECK(place(document, {"cluster", "nic", "bandwidth"}) == cluster + ": /nic/bandwidth: wrong");
  const std::string other = folder.write("other.json", R"({"latency": "4 us"})");
  document.set("/cluster/nic", other);
  CHECK(place(document, {"cluster", "nic"}) == "--set: /cluster/nic: wrong");
  document.include("/cluster/nic");
  CHECK(place(document, {"cluster", "nic", "latency"}) == other + ": /latency: wrong");
  document.set("/cluster", "{\"nic\": 1, \"nice\": 2}");
  CHECK(place(document, {"cluster", "nic"}) == "--set: /cluster/nic: wrong");
}

TEST_CASE("An origin covers its subtree and no neighbour with a longer name") {
  JsonDocument document = JsonDocument::parse(R"({"nic": 1, "nics": 2})", "x.json");
  document.set("/nic", "3");
  CHECK(place(document, {"nics"}) == "x.json: /nics: wrong");
}

TEST_CASE("A path set on the command line is relative to the current folder") {
  const TemporaryFolder folder;
  JsonDocument document = JsonDocument::load(folder.write("deep/x.json", kScenario));
  document.set("/cluster", "none/c.json");
  CHECK(error_of([&] { document.include("/cluster"); }) ==
        "--set: /cluster: cannot read \"none/c.json\": No such file or directory");
}

}  // namespace
}  // namespace lockstep
