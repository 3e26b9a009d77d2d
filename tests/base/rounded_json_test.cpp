#include <cmath>
#include <limits>

#include "engine/base/random.hpp"
#include "engine/base/rounded_json.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("Rounded numbers are within half of the twelfth digit, and rounding them again changes nothing") {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double value = std::pow(10, 40 * random_uniform(1, 2, i) - 20) * (i % 2 == 0 ? 1 : -1);
    const double once = rounded(Json(value)).get<double>();
    CHECK(std::abs(once / value - 1) <= 5.0000001e-12);
    CHECK(rounded(Json(once)).get<double>() == once);
  }
}

TEST_CASE("Numbers that differ in their last bits are the same after rounding") {
  const double value = 22.77665686133137, next = std::nextafter(value, 30.0);
  REQUIRE(Json(value).dump() != Json(next).dump());
  CHECK(rounded(Json(value)).dump() == "22.7766568613");
  CHECK(rounded(Json(next)).dump() == "22.7766568613");
}

TEST_CASE("Integers, texts and numbers that JSON does not have are kept; arrays and objects are rounded within") {
  CHECK(rounded(Json(std::int64_t{85520809984123})).dump() == "85520809984123");
  CHECK(rounded(Json(85520809984123.0)).get<double>() == 85520809984123.0);
  CHECK(rounded(Json("1.23456789012345")).dump() == "\"1.23456789012345\"");
  CHECK(rounded(Json(std::numeric_limits<double>::infinity())).dump() == "null");
  const Json nested = Json::parse(R"({"a": [1.00000000000049, {"b": 2.123456789012345e30}], "c": null})");
  CHECK(rounded(nested).dump() == R"({"a":[1.0,{"b":2.12345678901e+30}],"c":null})");
}
