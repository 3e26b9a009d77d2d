// Clusters that differ in any fact are not the same: points of a plan would otherwise share wrong costs.
#include "sim/scenario/same_cluster.hpp"

#include <cctype>
#include <filesystem>

#include "engine/base/json.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

sim::ClusterSpec read(const Json& json) {
  const JsonDocument document = JsonDocument::parse(json.dump(), "cluster.json");
  return sim::read_cluster(document.root());
}

bool is_quantity(const Json& json) {  // "80 GB/s"
  return json.is_string() && !json.get<std::string>().empty() && std::isdigit(json.get<std::string>().front());
}

Json changed(const Json& fact) {
  if (fact.is_boolean()) return !fact.get<bool>();
  if (fact.is_number()) return fact.get<double>() == 1 ? 2 : 1;
  std::size_t end = 0;
  const std::string text = fact.get<std::string>();
  const double number = std::stod(text, &end);
  return std::to_string(number * 1.5 + 1) + text.substr(end);
}

// Appends the pointers of all numbers, quantities and booleans.
void find_facts(const Json& json, const Json::json_pointer& here, std::vector<Json::json_pointer>& facts) {
  if (json.is_number() || json.is_boolean() || is_quantity(json)) facts.push_back(here);
  if (json.is_object())
    for (const auto& member : json.items())
      if (member.key() != "description") find_facts(member.value(), here / member.key(), facts);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) find_facts(json[i], here / i, facts);
}

}  // namespace

TEST_CASE("a cluster is the same as itself, and differs from one with any other fact") {
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/clusters")) {
    if (file.path().extension() != ".json") continue;
    const sim::ClusterSpec cluster = sim::read_cluster(JsonDocument::load(file.path().string()).root());
    CHECK(sim::is_same_cluster(cluster, cluster));
    const Json written = sim::cluster_format().write(cluster);
    INFO(file.path());
    std::vector<Json::json_pointer> facts;
    find_facts(written, Json::json_pointer(), facts);
    for (const Json::json_pointer& fact : facts) {
      Json other = written;
      other[fact] = changed(written.at(fact));
      try {
        const sim::ClusterSpec differs = read(other);
        INFO(fact.to_string() << ": " << written.at(fact) << " and " << other.at(fact));
        CHECK_FALSE(sim::is_same_cluster(cluster, differs));
        ++compared;
      } catch (const InputError&) {  // such a cluster does not exist
      }
    }
  }
  CHECK(compared > 200);
}

}  // namespace lockstep::tests
