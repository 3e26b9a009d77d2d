// Elements of pictures: the characters of a name cannot end its text element.
#include "engine/base/svg.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("texts and labels are escaped") {
  CHECK(svg::escaped("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
  CHECK(svg::text(1, 2, "start", "</text><script>").find("<script>") == std::string::npos);
  CHECK(svg::document(10, 20, "\"><script>", "").find("<script>") == std::string::npos);
}

TEST_CASE("steps of an axis are 1, 2 or 5 times a power of ten, the least that are few enough") {
  for (const double span : {0.013, 0.7, 1.0, 4.2, 99.0, 12345.0})
    for (const int most : {3, 6, 10}) {
      const double step = svg::step_of(span, most);
      const double digit = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
      INFO(span << " " << most << " " << step);
      CHECK(step * most >= span * (1 - 1e-12));
      CHECK((std::abs(digit - 1) < 1e-9 || std::abs(digit - 2) < 1e-9 || std::abs(digit - 5) < 1e-9));
      CHECK(step / 2.5 * most < span * (1 + 1e-9));
    }
}
