#include "engine/base/provenance.hpp"

#include <cmath>
#include <ctime>
#include <regex>
#include <stdexcept>

#include "engine/base/version.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

TEST_CASE("SHA-256 matches the test vectors of FIPS 180") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("The SHA-256 of a file is that of its bytes") {
  const TemporaryFolder folder;
  const std::string content("a\0b\r\n", 5);
  CHECK(sha256_file(folder.write("a", content)) == sha256_hex(content));
  CHECK_THROWS_WITH(sha256_file("none"), "none: cannot read: No such file or directory");
}

TEST_CASE("Provenance tells who made a result and from what") {
  const Json made = provenance({"simulate", "x.json"}, "flow", {{"x.json", "ab"}});
  std::vector<std::string> keys;
  for (const auto& entry : made.items()) keys.push_back(entry.key());
  CHECK(keys == std::vector<std::string>{"version", "git", "argv", "started_utc", "host", "simgrid", "network_model",
                                         "inputs"});
  CHECK(made["version"] == version());
  CHECK(made["git"] == git_revision());
  CHECK(made["argv"] == Json{"simulate", "x.json"});
  CHECK(made["host"].get<std::string>() != "");
  CHECK(made["network_model"] == "flow");
  CHECK(made["inputs"] == Json{{"x.json", "ab"}});
}

TEST_CASE("The start is one time of this process in UTC") {
  const std::string started = provenance({}, "", {})["started_utc"];
  REQUIRE(std::regex_match(started, std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")));
  std::tm parts = {};
  REQUIRE(::strptime(started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) != nullptr);
  CHECK(std::fabs(std::difftime(std::time(nullptr), ::timegm(&parts))) < 300);
  CHECK(provenance({}, "", {})["started_utc"] == started);
}

TEST_CASE("The version line names what was built in") {
  CHECK(std::regex_match(version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")));
  CHECK_FALSE(git_revision().empty());
  std::string line = "lockstep " + version() + " (git " + git_revision() + ")";
  if (simgrid_version() != "") line += ", SimGrid " + simgrid_version();
  if (cuda_version() != "") line += ", CUDA " + cuda_version();
  CHECK(version_line() == line);
}

}  // namespace
}  // namespace lockstep
