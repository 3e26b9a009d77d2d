#include "engine/base/text.hpp"

#include "tests/catch.hpp"

namespace lockstep {
namespace {

TEST_CASE("rates, iterations and durations keep their significant digits at every size") {
  CHECK(rate_text(0.0123456) == "0.0123");
  CHECK(rate_text(0.61) == "0.61");
  CHECK(rate_text(6.3512) == "6.35");
  CHECK(rate_text(12.4) == "12");
  CHECK(rate_text(1234567) == "1,234,567");
  CHECK(iteration_time_text(0.2947) == "294.7 ms");
  CHECK(iteration_time_text(1.2345) == "1.234 s");
  CHECK(iteration_time_text(10.9723) == "10.97 s");
  CHECK(iteration_time_text(187.26) == "187.3 s");
  CHECK(duration_text(0.0423) == "42.3 ms");
  CHECK(duration_text(0) == "0 s");
  CHECK(duration_text(1.5) == "1.5 s");
  CHECK(gpus_text(1) == "1 GPU");
  CHECK(gpus_text(64) == "64 GPUs");
}

TEST_CASE("Control characters are escaped and other bytes stay") {
  CHECK(one_line("a\nb\r\t\x01\x7f") == "a\\nb\\r\\t\\x01\\x7f");
  CHECK(one_line("\xc3\xa9 \"\\") == "\xc3\xa9 \"\\");
}

TEST_CASE("A long quote is cut between characters") {
  const std::string eighty(80, 'a');
  CHECK(in_quotes(eighty) == '"' + eighty + '"');
  CHECK(in_quotes(eighty + "b") == '"' + eighty + "...\"");
  const std::string two_bytes = "\xc3\xa9";
  CHECK(in_quotes(eighty.substr(1) + two_bytes + "b") == '"' + eighty.substr(1) + "...\"");
}

TEST_CASE("Words are joined by comma and blank") {
  CHECK(joined({}) == "");
  CHECK(joined({"a"}) == "a");
  CHECK(joined({"a", "", "b"}) == "a, , b");
}

TEST_CASE("The nearest names take the fewest edits, alike ones in their order") {
  const std::vector<std::string> names{"resnet101", "resnet50", "vgg16", "ResNet152"};
  CHECK(nearest_names("resnet51", names) == std::vector<std::string>{"resnet50", "resnet101", "ResNet152"});
  CHECK(nearest_names("RESNET152", names, 1) == std::vector<std::string>{"ResNet152"});
  CHECK(nearest_names("", {"ab", "a", "b"}, 2) == std::vector<std::string>{"a", "b"});
  CHECK(nearest_names("x", {}, 3).empty());
}

TEST_CASE("Short numbers have six significant digits at most") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(65536) == "65536");
  CHECK(short_number(1.25e10) == "1.25e+10");
  CHECK(short_number(-0.1) == "-0.1");
  CHECK(short_number(1234567) == "1.23457e+06");
}

}  // namespace
}  // namespace lockstep
