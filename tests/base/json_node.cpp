// Values read from a document, and the list of the assumptions of a prediction.
#include <limits>

#include "engine/base/json.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

TEST_CASE("Quantities come out in SI units") {
  const JsonDocument document = JsonDocument::parse(R"(["100 Gbit/s", "2us", "25 MiB", "11.8 TFLOP/s"])", "x.json");
  const std::vector<JsonNode> items = document.root().items();
  CHECK(items[0].quantity(Dimension::bandwidth, {0, 1e12}) == 1.25e10);
  CHECK(items[1].quantity(Dimension::time, {0, 1}) == 2e-6);
  CHECK(items[2].quantity(Dimension::size, {0, 1e12}) == 26214400);
  CHECK(items[3].quantity(Dimension::compute, {0, 1e15}) == 11.8e12);
}

TEST_CASE("Both ends of a range are allowed and infinity is none") {
  const JsonDocument document = JsonDocument::parse("[1, 65536, 0.5]", "x.json");
  const std::vector<JsonNode> items = document.root().items();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(items[0].integer(1, 65536) == 1);
  CHECK(items[1].integer(1, 65536) == 65536);
  CHECK(items[2].number({0.5, 0.5}) == 0.5);
  CHECK(error_of([&] {
          items[2].number({1, infinity});
        }) == "x.json: /2: value 0.5 is out of range; allowed: 1 or more");
  CHECK(error_of([&] {
          items[2].number({-infinity, 0});
        }) == "x.json: /2: value 0.5 is out of range; allowed: 0 or less");
}

TEST_CASE("A range with NaN in it refuses everything") {
  const JsonDocument document = JsonDocument::parse("[0]", "x.json");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(document.root().items()[0].number({nan, 1}), InputError);
}

TEST_CASE("Whole numbers may be written with exponent or zero fraction and keep 64 bits") {
  const JsonDocument document = JsonDocument::parse("[1e6, 8.0, 9223372036854775807, 9223372036854775808, -2]", "x");
  const std::vector<JsonNode> items = document.root().items();
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(items[0].integer(0, largest) == 1000000);
  CHECK(items[1].integer(0, largest) == 8);
  CHECK(items[2].integer(0, largest) == largest);
  CHECK_THROWS_AS(items[3].integer(0, largest), InputError);
  CHECK(items[4].integer(-2, 0) == -2);
}

TEST_CASE("Members and elements keep the order of the file") {
  const JsonDocument document = JsonDocument::parse(R"({"b": [true, "x"], "a": null})", "x.json");
  const auto members = document.root().members();
  REQUIRE(members.size() == 2);
  CHECK(members[0].first == "b");
  CHECK(members[1].first == "a");
  CHECK(members[1].second.is_null());
  CHECK(members[0].second.items()[0].boolean());
  CHECK(members[0].second.items()[1].choice({"y", "x"}) == "x");
  CHECK(members[0].second.items()[1].pointer() == "/b/1");
}

TEST_CASE("An optional member may be absent but its holder must be an object") {
  const JsonDocument document = JsonDocument::parse(R"({"a": 1})", "x.json");
  CHECK(document.root().find("a").has_value());
  CHECK_FALSE(document.root().find("b").has_value());
  CHECK(document.root().has("a"));
  CHECK_FALSE(document.root().has("b"));
  CHECK(error_of([&] { document.root().at("a").find("b"); }) == "x.json: /a: expected an object, got a number");
  CHECK(error_of([&] { document.root().at("b"); }) == "x.json: /: missing key \"b\"");
}

TEST_CASE("The ledger holds every sourced value once in the order of reading") {
  JsonDocument document = JsonDocument::parse(
      R"({"bandwidth": {"value": "12 GB/s", "kind": "published", "source": "Table 2"}, "latency": "2 us", "decay": 0})",
      "x.json");
  document.set("/decay", "0.5");
  const JsonNode root = document.root();
  CHECK(root.at("latency").sourced_quantity(Dimension::time, {0, 1}) == 2e-6);
  CHECK(root.at("bandwidth").sourced_quantity(Dimension::bandwidth, {0, 1e12}) == 12e9);
  CHECK(root.at("decay").sourced_number({0, 1}) == 0.5);
  CHECK(root.at("latency").sourced_quantity(Dimension::time, {0, 1}) == 2e-6);
  const std::vector<Assumption>& ledger = document.assumptions();
  REQUIRE(ledger.size() == 3);
  CHECK(ledger[0].pointer == "/latency");
  CHECK(ledger[0].value == "2 us");
  CHECK(ledger[0].kind == "assumed");
  CHECK(ledger[0].source == "given in x.json");
  CHECK(ledger[1].pointer == "/bandwidth");
  CHECK(ledger[1].value == "12 GB/s");
  CHECK(ledger[1].kind == "published");
  CHECK(ledger[1].source == "Table 2");
  CHECK(ledger[2].value == 0.5);
  CHECK(ledger[2].source == "given in --set");
}

TEST_CASE("A refused value is not noted and a replaced one is forgotten") {
  JsonDocument document = JsonDocument::parse(R"({"a": "2 us", "b": "2 GB"})", "x.json");
  CHECK_THROWS_AS(document.root().at("b").sourced_quantity(Dimension::time, {0, 1}), InputError);
  CHECK(document.assumptions().empty());
  document.root().at("a").sourced_quantity(Dimension::time, {0, 1});
  document.set("/a", "3 us");
  document.root().at("a").sourced_quantity(Dimension::time, {0, 1});
  REQUIRE(document.assumptions().size() == 1);
  CHECK(document.assumptions()[0].value == "3 us");
}

TEST_CASE("A value set on the command line is not vouched for by the old source") {
  JsonDocument document =
      JsonDocument::parse(R"({"a": {"value": "2 us", "kind": "published", "source": "Table 2"}})", "x.json");
  document.root().at("a").sourced_quantity(Dimension::time, {0, 1});
  document.set("/a/value", "3 us");
  CHECK(document.root().at("a").sourced_quantity(Dimension::time, {0, 1}) == 3e-6);
  REQUIRE(document.assumptions().size() == 1);
  CHECK(document.assumptions()[0].value == "3 us");
  CHECK(document.assumptions()[0].kind == "assumed");
  CHECK(document.assumptions()[0].source == "given in --set");
  document.set("/a/source", "my bench");
  document.set("/a/kind", "measured");
  document.root().at("a").sourced_quantity(Dimension::time, {0, 1});
  REQUIRE(document.assumptions().size() == 1);
  CHECK(document.assumptions()[0].kind == "measured");
  CHECK(document.assumptions()[0].source == "my bench");
}

}  // namespace
}  // namespace lockstep
