#include "engine/base/printing.hpp"

#include <new>
#include <stdexcept>

#include "tests/catch.hpp"

namespace lockstep {

TEST_CASE("What a name holds is text on a terminal, and nothing that it obeys") {
  CHECK(for_terminal("a\xE2\x80\xAE"
                     "b\xE2\x81\xA6"
                     "c\xD8\x9C") == "a\\u202eb\\u2066c\\u061c");
  CHECK(for_terminal("\xE2\x80\x9Cquoted\xE2\x80\x9D \xE2\x82\xAC") == "\xE2\x80\x9Cquoted\xE2\x80\x9D \xE2\x82\xAC");
  CHECK(for_terminal("a\x1b[2J\x07\tb\nc\x7f") == "a\\x1b[2J\\x07\\tb\nc\\x7f");
  CHECK(for_terminal("\xC2\x9B"
                     "2J \xC3\xBC \xE2\x82\xAC") == "\\x9b2J \xC3\xBC \xE2\x82\xAC");
  CHECK(message_line("a\nb") == "a\\nb");
}

TEST_CASE("A message is one line of at most 2000 bytes, between characters") {
  std::string long_text = "f: ";
  while (long_text.size() < 9000) long_text += "\xE2\x82\xAC";
  const std::string line = message_line(long_text);
  CHECK(line.size() <= 2003);
  CHECK(line.substr(line.size() - 6) == "\xE2\x82\xAC...");
  CHECK(message_of(std::bad_alloc()) == "not enough memory");
  CHECK(message_of(std::runtime_error("a\x1b")) == "a\\x1b");
}

TEST_CASE("Markdown shows a name as it is") {
  CHECK(for_markdown("a|b <img src=x> `c` [d](e) & f\ng") ==
        "a\\|b &lt;img src=x&gt; \\`c\\` \\[d\\](e) &amp; f\\\\ng");
}

TEST_CASE("A cell of a table is no formula, and keeps its commas and quotes") {
  CHECK(for_csv("plain") == "plain");
  CHECK(for_csv("a,\"b\"") == "\"a,\"\"b\"\"\"");
  for (const char* formula : {"=1+1", "@SUM(A1)", "+1", "-1"}) CHECK(for_csv(formula) == std::string("'") + formula);
  CHECK(for_csv("=A,B") == "\"'=A,B\"");
}

}  // namespace lockstep
