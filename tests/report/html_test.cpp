// HTML pages: one file that contains the document unchanged, and refers to nothing outside.
#include "sim/report/html.hpp"

#include <regex>
#include <set>

#include "sim/report/html/parts.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::html_page;

const std::string document_begin = "<script type=\"application/json\" id=\"document\">";

// Returns the text between the tags as a browser reads it: up to the first end of a script element.
std::string embedded_text(const std::string& page) {
  const std::size_t begin = page.find(document_begin);
  REQUIRE(begin != std::string::npos);
  const std::size_t text = begin + document_begin.size();
  return page.substr(text, page.find("</script", text) - text);
}

// Texts that would end the element, open another, or break a line of a script.
const std::string hostile =
    "</script><script>x</script> <!-- --> {{style}} {{document}} & \" \\ \xe2\x80\xa8 \xe2\x80\xa9 \x01 \n";

Json hostile_document(const std::string& schema) {
  return {{"schema", schema},
          {"scenario", {{"name", hostile}}},
          {"plan", {{"name", hostile}}},
          {hostile, Json::array({1.5, -0.0, 1e300, 123456789012345, nullptr, true, hostile})}};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a page holds its document as it was, whatever texts are in it") {
  for (const char* schema : {"lockstep/result/1", "lockstep/plan-result/1", "lockstep/validation/1"}) {
    const Json document = hostile_document(schema);
    const std::string text = embedded_text(html_page(document));
    CHECK(Json::parse(text) == document);
    CHECK(text.find('<') == std::string::npos);
    CHECK(text.find("\xe2\x80\xa8") == std::string::npos);
    CHECK(text.find("\xe2\x80\xa9") == std::string::npos);
  }
}

TEST_CASE("texts of the document open and close no element of the page") {
  const std::string plain = html_page({{"schema", "lockstep/result/1"}, {"scenario", {{"name", "x"}}}});
  const std::string page = html_page(hostile_document("lockstep/result/1"));
  for (const char* part : {"<script", "</script", "<style", "</style", "<!--", "</title"})
    CHECK(count_of(page, part) == count_of(plain, part));
  CHECK(count_of(page, "</script") == 3);
  CHECK(page.find("<title>&lt;/script>&lt;script>x") != std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
  const std::string page = html_page({{"schema", "lockstep/result/1"}, {"provenance", {{"argv", {"a\xff.json"}}}}});
  CHECK(Json::parse(embedded_text(page))["provenance"]["argv"][0] == "a\xef\xbf\xbd.json");
}

TEST_CASE("a page refers to nothing outside and forbids itself to fetch") {
  const std::string page = html_page({{"schema", "lockstep/validation/1"}, {"suites", Json::array()}});
  std::string own =
      page;  // the chart library's text names addresses in comments, yet fetches none: Content-Security-Policy
  own.erase(own.find(sim::chart_js), sim::chart_js.size());
  std::set<std::string> references;
  const std::regex reference("(?:src|href|action|url|srcset|data)\\s*[=(]\\s*[\"']?([^\"'\\s>)]*)");
  for (std::sregex_iterator it(own.begin(), own.end(), reference), end; it != end; ++it)
    if ((*it)[1].str().find("//") != std::string::npos) references.insert((*it)[1]);
  CHECK(references == std::set<std::string>{});
  CHECK(own.find("@import") == std::string::npos);
  CHECK(page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';") != std::string::npos);
  CHECK(page.find("unsafe-eval") == std::string::npos);
  CHECK(page.find("<script src") == std::string::npos);
}

TEST_CASE("the chart library and its licence are in the page") {
  const std::string page = html_page({{"schema", "lockstep/validation/1"}});
  CHECK(page.find("Chart.js v3.") != std::string::npos);
  CHECK(page.find("The above copyright notice and this permission notice shall be included") != std::string::npos);
}

TEST_CASE("the same document gives the same page") {
  const Json document = hostile_document("lockstep/plan-result/1");
  CHECK(html_page(document) == html_page(document));
}

TEST_CASE("the title names the scenario or the plan") {
  const auto title = [](const Json& document) {
    const std::string page = html_page(document);
    const std::size_t begin = page.find("<title>") + 7;
    return page.substr(begin, page.find("</title>") - begin);
  };
  CHECK(title({{"schema", "lockstep/result/1"}, {"scenario", {{"name", "A & <B>"}}}}) ==
        "A &amp; &lt;B> - Lockstep simulation");
  CHECK(title({{"schema", "lockstep/plan-result/1"}, {"plan", {{"name", "In an hour"}}}}) ==
        "In an hour - Lockstep plan");
  CHECK(title({{"schema", "lockstep/result/1"}}) == "Lockstep simulation");
  CHECK(title({{"schema", "lockstep/validation/1"}}) == "Lockstep validation");
}

TEST_CASE("other documents have no page") {
  for (const Json& document : {Json::object(), Json{{"schema", "lockstep/result/2"}}, Json{{"schema", 1}},
                               Json{{"schema", "lockstep/scenario/1"}}, Json::array({"schema"}), Json()})
    CHECK_THROWS_AS(html_page(document), std::invalid_argument);
  CHECK_THROWS_WITH(html_page({{"schema", "lockstep/result/2"}}),
                    Contains("\"lockstep/result/2\"") && Contains("allowed: lockstep/result/1"));
}

TEST_CASE("the page of a simulation holds the result that --json writes") {
  const SmallFiles files;
  const sim::Report report = sim::predict(files.load(), 1, {});
  const Json result = sim::result_json(report, {"simulate", "x.json"});
  CHECK(Json::parse(embedded_text(html_page(result))) == result);
}

}  // namespace lockstep::tests
