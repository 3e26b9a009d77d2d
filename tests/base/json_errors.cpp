// Malformed inputs are refused with one line that names file, place, the error and what is allowed.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

struct Case {
  std::string text;
  std::string error;
};

/// Reads a small scenario, as strictly as real ones are read.
void read_scenario(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "x.json");
  const JsonNode root = document.root();
  root.keys({"name", "gpus", "step", "mode", "overlap", "momentum", "decay", "link", "sizes"});
  root.at("gpus").integer(1, 65536);
  if (const auto name = root.find("name")) name->text();
  if (const auto step = root.find("step")) step->sourced_quantity(Dimension::time, {1e-9, 1e9});
  if (const auto mode = root.find("mode")) mode->choice({"ring", "tree"});
  if (const auto overlap = root.find("overlap")) overlap->boolean();
  if (const auto momentum = root.find("momentum")) momentum->number({0, 1});
  if (const auto decay = root.find("decay")) decay->sourced_number({0, 0.1});
  if (const auto link = root.find("link")) {
    link->keys({"bandwidth", "latency"});
    link->at("bandwidth").quantity(Dimension::bandwidth, {1, 1e15});
  }
  if (const auto sizes = root.find("sizes")) {
    for (const JsonNode& size : sizes->items()) size.quantity(Dimension::size, {0, 1e15});
  }
}

void check(const std::vector<Case>& cases) {
  for (const Case& malformed : cases) {
    INFO(malformed.text);
    CHECK(error_of([&] { read_scenario(malformed.text); }) == malformed.error);
  }
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

const char kBandwidths[] =
    "; allowed: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, "
    "b/s, bps, kb/s, kbps, Mb/s, Mbps, Gb/s, Gbps, Tb/s, Tbps";

TEST_CASE("A correct scenario is accepted") {
  CHECK(error_of([] {
          read_scenario(R"({"name": "n", "gpus": 8, "step": "3 ms", "mode": "ring", "overlap": true, "momentum": 0.9,
                            "decay": {"value": 1e-4, "kind": "published", "source": "s"},
                            "link": {"bandwidth": "100 Gbit/s"}, "sizes": ["0 B", "25 MiB"]})");
        }) == "");
}

TEST_CASE("Text that is no JSON is refused with line and column") {
  check({
      {"", "x.json: line 1, column 1: unexpected end of input; expected '[', '{', or a literal"},
      {"  \n ", "x.json: line 2, column 2: unexpected end of input; expected '[', '{', or a literal"},
      {"{\"gpus\": 8", "x.json: line 1, column 11: unexpected end of input; expected '}'"},
      {"{\"gpus\": 8,}", "x.json: line 1, column 12: unexpected '}'; expected string literal"},
      {"{\"gpus\" 8}", "x.json: line 1, column 9: unexpected number literal; expected ':'"},
      {"{\n \"gpus\": 8\n}\nmore", "x.json: line 4, column 1: invalid literal"},
      {"{\"gpus\": 8} {}", "x.json: line 1, column 13: unexpected '{'; expected end of input"},
      {"{\"gpus\": 08}", "x.json: line 1, column 11: unexpected number literal; expected '}'"},
      {"{\"gpus\": .5}", "x.json: line 1, column 10: invalid literal"},
      {"{\"gpus\": nan}", "x.json: line 1, column 11: invalid literal"},
      {"{\"gpus\": Infinity}", "x.json: line 1, column 10: invalid literal"},
      {"{\"gpus\": 1e400}", "x.json: line 1, column 14: number \"1e400\" is out of range"},
      {"{\"gpus\": -1e400}", "x.json: line 1, column 15: number \"-1e400\" is out of range"},
      {"{\"gpus\": 8} // comment", "x.json: line 1, column 13: invalid literal"},
      {"{\"name\": \"a\nb\"}",
       "x.json: line 1, column 12: invalid string: control character U+000A (LF) must be escaped to \\u000A or \\n"},
      {"{\"name\": \"\xff\"}", "x.json: line 1, column 11: invalid string: ill-formed UTF-8 byte"},
      {"\xEF\xBB\xBF{\"gpus\": 8}", "x.json: line 1, column 1: byte order mark; allowed: UTF-8 without one"},
      {std::string("{\"gpus\": 8}\0{", 13), "x.json: line 1, column 12: NUL byte"},
      {"{\n\n \"gpus\": ", "x.json: line 3, column 10: unexpected end of input; expected '[', '{', or a literal"},
  });
}

TEST_CASE("Duplicate keys are refused where they are") {
  check({
      {R"({"gpus": 8, "gpus": 9})", "x.json: /: duplicate key \"gpus\""},
      {R"({"link": {"latency": 1, "latency": 1}})", "x.json: /link: duplicate key \"latency\""},
      {R"({"sizes": [{}, {"a": {"b": 1, "b": 2}}]})", "x.json: /sizes/1/a: duplicate key \"b\""},
      {R"({"a/b": [1, [{"~": 1, "~": 1}]]})", "x.json: /a~1b/1/0: duplicate key \"~\""},
      {R"({"gpus": 8, "\u0067pus": 9})", "x.json: /: duplicate key \"gpus\""},
  });
}

TEST_CASE("Equal keys in different objects are no duplicates") {
  CHECK_NOTHROW(JsonDocument::parse(R"([{"a": {"a": 1}}, {"a": 2}])", "x.json"));
}

TEST_CASE("Nesting deeper than 64 is refused and never overflows the stack") {
  CHECK_NOTHROW(JsonDocument::parse(nested(64), "x.json"));
  const std::string error = "x.json: /: nested deeper than 64 levels";
  CHECK(error_of([] { JsonDocument::parse(nested(65), "x.json"); }) == error);
  CHECK(error_of([] { JsonDocument::parse(nested(10000000), "x.json"); }) == error);
}

TEST_CASE("Unknown and missing keys name the object that holds them") {
  check({
      {R"({"gpu": 8})",
       "x.json: /: unknown key \"gpu\"; known: name, gpus, step, mode, overlap, momentum, decay, link, sizes"},
      {R"({"gpus": 8, "link": {"bandwidth": "1 B/s", "latncy": "2 us"}})",
       "x.json: /link: unknown key \"latncy\"; known: bandwidth, latency"},
      {R"({"gpus": 8, "link": {"a\nb": 1}})", "x.json: /link: unknown key \"a\\nb\"; known: bandwidth, latency"},
      {R"({})", "x.json: /: missing key \"gpus\""},
      {R"({"gpus": 8, "link": {}})", "x.json: /link: missing key \"bandwidth\""},
  });
}

TEST_CASE("A value of the wrong type is refused with what is allowed") {
  check({
      {R"([])", "x.json: /: expected an object, got an array"},
      {R"("text")", "x.json: /: expected an object, got a string"},
      {R"({"gpus": "8"})", "x.json: /gpus: expected a whole number, got a string; allowed: 1 to 65536"},
      {R"({"gpus": null})", "x.json: /gpus: expected a whole number, got null; allowed: 1 to 65536"},
      {R"({"gpus": 2.5})", "x.json: /gpus: expected a whole number, got 2.5; allowed: 1 to 65536"},
      {R"({"gpus": 8, "name": 3})", "x.json: /name: expected a string, got a number"},
      {R"({"gpus": 8, "name": ""})", "x.json: /name: expected a string that is not empty"},
      {R"({"gpus": 8, "mode": true})", "x.json: /mode: expected a string, got a boolean; allowed: ring, tree"},
      {R"({"gpus": 8, "mode": "rnig"})", "x.json: /mode: \"rnig\" is unknown; allowed: ring, tree"},
      {R"({"gpus": 8, "overlap": 1})", "x.json: /overlap: expected a boolean, got a number; allowed: true, false"},
      {R"({"gpus": 8, "momentum": "0.9"})", "x.json: /momentum: expected a number, got a string; allowed: 0 to 1"},
      {R"({"gpus": 8, "link": "12 GB/s"})", "x.json: /link: expected an object, got a string"},
      {R"({"gpus": 8, "sizes": {}})", "x.json: /sizes: expected an array, got an object"},
      {R"({"gpus": 8, "link": {"bandwidth": []}})",
       "x.json: /link/bandwidth: expected a quantity, got an array; allowed: a number and a unit, such as \"1 B/s\""},
  });
}

TEST_CASE("A text that a terminal or a table would obey is refused") {
  for (const char* text : {"a\\u001b[2J", "a\\nb", "\\u0007", "\\u007f"}) {
    const JsonDocument document = JsonDocument::parse("{\"name\": \"" + std::string(text) + "\"}", "a.json");
    CHECK(error_of([&] {
            document.root().at("name").text();
          }).find(" has control characters; allowed: text on one line") != std::string::npos);
  }
}

TEST_CASE("A number out of its range is refused with the range") {
  check({
      {R"({"gpus": 0})", "x.json: /gpus: value 0 is out of range; allowed: 1 to 65536"},
      {R"({"gpus": -3})", "x.json: /gpus: value -3 is out of range; allowed: 1 to 65536"},
      {R"({"gpus": 65537})", "x.json: /gpus: value 65537 is out of range; allowed: 1 to 65536"},
      {R"({"gpus": 18446744073709551615})",
       "x.json: /gpus: value 18446744073709551615 is out of range; allowed: 1 to 65536"},
      {R"({"gpus": 1e300})", "x.json: /gpus: value 1e+300 is out of range; allowed: 1 to 65536"},
      {R"({"gpus": 8, "momentum": 1.0000000001})",
       "x.json: /momentum: value 1.0000000001 is out of range; allowed: 0 to 1"},
      {R"({"gpus": 8, "sizes": ["1 B", "-1 MB"]})",
       "x.json: /sizes/1: value -1e+06 B is out of range; allowed: 0 to 1e+15 B"},
      {R"({"gpus": 8, "link": {"bandwidth": "0 GB/s"}})",
       "x.json: /link/bandwidth: value 0 B/s is out of range; allowed: 1 to 1e+15 B/s"},
      {R"({"gpus": 8, "step": "1e300 s"})", "x.json: /step: value 1e+300 s is out of range; allowed: 1e-09 to 1e+09 s"},
      {R"({"gpus": 8, "step": "1e400 s"})", "x.json: /step: \"1e400 s\" is too large or too small for a number"},
      {R"({"gpus": 8, "sizes": ["1e308 TB"]})",
       "x.json: /sizes/0: \"1e308 TB\" is too large or too small for a number"},
  });
}

TEST_CASE("A quantity without a known unit is refused with the units") {
  const std::string times = "; allowed: ns, us, ms, s, min, h, d, w";
  check({
      {R"({"gpus": 8, "step": 3})", "x.json: /step: missing unit" + times},
      {R"({"gpus": 8, "step": "3"})", "x.json: /step: missing unit" + times},
      {R"({"gpus": 8, "step": "3 "})", "x.json: /step: missing unit" + times},
      {R"({"gpus": 8, "step": "3 S"})", "x.json: /step: unit \"S\" is unknown" + times},
      {R"({"gpus": 8, "step": "3 GB"})", "x.json: /step: unit \"GB\" is unknown" + times},
      {R"({"gpus": 8, "step": "3  s"})", "x.json: /step: unit \" s\" is unknown" + times},
      {R"({"gpus": 8, "step": "3 s "})", "x.json: /step: unit \"s \" is unknown" + times},
      {R"({"gpus": 8, "step": "03 s"})",
       "x.json: /step: \"03 s\" does not start with a number; allowed: a number and a unit, such as \"1 s\""},
      {R"({"gpus": 8, "step": " 3 s"})",
       "x.json: /step: \" 3 s\" does not start with a number; allowed: a number and a unit, such as \"1 s\""},
      {R"({"gpus": 8, "step": ""})",
       "x.json: /step: \"\" does not start with a number; allowed: a number and a unit, such as \"1 s\""},
      {R"({"gpus": 8, "link": {"bandwidth": "nan GB/s"}})",
       "x.json: /link/bandwidth: \"nan GB/s\" does not start with a number; allowed: a number and a unit, such as "
       "\"1 B/s\""},
      {R"({"gpus": 8, "link": {"bandwidth": "100 Gbits"}})",
       std::string("x.json: /link/bandwidth: unit \"Gbits\" is unknown") + kBandwidths},
      {R"({"gpus": 8, "link": {"bandwidth": "1 Kbit/s"}})",
       std::string("x.json: /link/bandwidth: unit \"Kbit/s\" is unknown") + kBandwidths},
  });
}

TEST_CASE("A value with its source must be complete") {
  const std::string kinds = "; allowed: measured, published, fitted, assumed";
  check({
      {R"({"gpus": 8, "step": {"value": "3 s", "kind": "fitted"}})", "x.json: /step: missing key \"source\""},
      {R"({"gpus": 8, "step": {"value": "3 s", "source": "s"}})", "x.json: /step: missing key \"kind\""},
      {R"({"gpus": 8, "step": {"kind": "fitted", "source": "s"}})", "x.json: /step: missing key \"value\""},
      {R"({"gpus": 8, "step": {"value": "3 s", "kind": "fitted", "source": "s", "unit": "s"}})",
       "x.json: /step: unknown key \"unit\"; known: value, kind, source"},
      {R"({"gpus": 8, "step": {"value": "3 s", "kind": "modelled", "source": "s"}})",
       "x.json: /step/kind: \"modelled\" is unknown" + kinds},
      {R"({"gpus": 8, "step": {"value": "3 s", "kind": "fitted", "source": ""}})",
       "x.json: /step/source: expected a string that is not empty"},
      {R"({"gpus": 8, "step": {"value": 3, "kind": "fitted", "source": "s"}})",
       "x.json: /step/value: missing unit; allowed: ns, us, ms, s, min, h, d, w"},
      {R"({"gpus": 8, "decay": {"value": 0.2, "kind": "fitted", "source": "s"}})",
       "x.json: /decay/value: value 0.2 is out of range; allowed: 0 to 0.1"},
      {R"({"gpus": 8, "decay": [0.01]})", "x.json: /decay: expected a number, got an array; allowed: 0 to 0.1"},
  });
}

TEST_CASE("An error stays one short line whatever the input holds") {
  const std::string huge(1000000, 'x');
  const std::string error = error_of([&] { read_scenario(R"({"gpus": 8, "mode": "\u0001\n)" + huge + "\"}"); });
  CHECK(error == "x.json: /mode: \"\\x01\\n" + huge.substr(0, 78) + "...\" is unknown; allowed: ring, tree");
}

}  // namespace
}  // namespace lockstep
