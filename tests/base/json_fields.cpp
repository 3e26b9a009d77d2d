#include "engine/base/json_fields.hpp"

#include <cmath>

#include "engine/base/bisect.hpp"
#include "engine/base/field_text.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

enum class Colour { red, blue };
const Choices<Colour>& choices_of(Colour) {
  static const Choices<Colour> all{{Colour::red, "red"}, {Colour::blue, "blue"}};
  return all;
}

struct Part {
  double value = 0;
  LOCKSTEP_FIELDS(value);
};

struct Whole {
  Colour colour = Colour::red;
  std::vector<Part> parts;
  std::optional<int> count;
  LOCKSTEP_FIELDS(colour, parts, count);
};

}  // namespace

TEST_CASE("fields: a struct is read as it was written") {
  const Whole whole{Colour::blue, {{0.1}, {std::nan("")}}, std::nullopt};
  const std::string text = fields_to_json(whole).dump();
  CHECK(text == R"({"colour":"blue","parts":[{"value":0.1},{"value":null}]})");
  std::string direct;
  append_json_text(whole, direct);
  CHECK(direct == text);
  const Whole read = fields_from_json<Whole>(Json::parse(text));
  CHECK(read.colour == Colour::blue);
  CHECK(read.parts.at(0).value == 0.1);
  CHECK(std::isnan(read.parts.at(1).value));
  CHECK_FALSE(read.count);
  CHECK(fields_from_json<Whole>(Json::parse(R"({"colour": "red", "parts": [], "count": 3})")).count == 3);
  CHECK_THROWS(fields_from_json<Whole>(Json::parse(R"({"colour": "green", "parts": []})")));
}

TEST_CASE("law: a number that is written as text is read as the same number") {
  for (const double value :
       {0.0, 1.0, -2.5, 0.1, 1.0 / 3, 1e-300, 1.7976931348623157e308, 5e-324, 123456789012345680.0})
    for (const double signed_value : {value, -value}) {
      std::string text;
      append_json_text(Whole{Colour::red, {{signed_value}}, 1 << 30}, text);
      const Whole read = fields_from_json<Whole>(Json::parse(text));
      CHECK(read.parts.at(0).value == signed_value);
      CHECK(read.count == 1 << 30);
    }
}

TEST_CASE("bisect finds where a condition ceases to hold") {
  CHECK(bisect(0, 2, [](double x) { return x * x < 2; }) == Approx(std::sqrt(2)).epsilon(1e-13));
}

}  // namespace lockstep::tests
