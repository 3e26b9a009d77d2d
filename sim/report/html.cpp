#include "sim/report/html.hpp"

#include <map>

#include "sim/report/html/parts.hpp"

namespace lockstep::sim::report {
namespace {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// JSON that may stand in a script element. '<' occurs in strings alone, so that escaping it there keeps the document
// as it was; U+2028 and U+2029 end lines in older JavaScript. Bytes that are not UTF-8 (a file's name on the command
// line) become U+FFFD.
std::string script_safe(const Json& document) {
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') {
      safe += "\\u003c";
    } else if (text.compare(i, 3, "\xe2\x80\xa8") == 0 || text.compare(i, 3, "\xe2\x80\xa9") == 0) {
      safe += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

// The name that the page's title begins with: of the scenario or the plan.
std::string name_in(const Json& document, const char* part) {
  const auto found = document.find(part);
  if (found == document.end() || !found->is_object()) return "";
  const auto name = found->find("name");
  return name != found->end() && name->is_string() ? name->get<std::string>() : "";
}

std::string title_of(const Json& document) {
  const auto found = document.is_object() ? document.find("schema") : document.end();
  const std::string schema = found != document.end() && found->is_string() ? found->get<std::string>() : "";
  const auto with_name = [&](const char* part, const std::string& kind) {
    const std::string name = name_in(document, part);
    return name.empty() ? kind : name + " - " + kind;
  };
  if (schema == "lockstep/result/1") return with_name("scenario", "Lockstep simulation");
  if (schema == "lockstep/plan-result/1") return with_name("plan", "Lockstep plan");
  if (schema == "lockstep/validation/1") return "Lockstep validation";
  throw std::invalid_argument("no page for a document of schema \"" + schema +
                              "\"; allowed: lockstep/result/1, lockstep/plan-result/1, lockstep/validation/1");
}

// The frame with each {{name}} replaced by its part; what stands in a part stays as it is.
std::string filled(std::string_view frame, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string text;
  for (;;) {
    const std::size_t begin = frame.find("{{");
    text += frame.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    const std::size_t end = frame.find("}}", begin);
    text += parts.at(std::string(frame.substr(begin + 2, end - begin - 2)));
    frame.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html_page(const Json& document) {
  const std::string title = title_of(document);
  return filled(page_html, {{"title", html_escaped(title)},
                            {"style", std::string(page_css)},
                            {"licence", html_escaped(chart_licence)},
                            {"document", script_safe(document)},
                            {"charts", std::string(chart_js)},
                            {"script", std::string(page_js)}});
}

std::string static_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en-GB\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" +
         html_escaped(title) + "</title>\n<style>\n" + std::string(page_css) +
         "thead th { padding: 0.4rem 0.5rem; }\n</style>\n</head>\n<body>\n" + body + "</body>\n</html>\n";
}

}  // namespace lockstep::sim::report
