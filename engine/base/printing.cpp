#include "engine/base/printing.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "engine/base/text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLongestMessage = 2000;

bool is_control_of_two_bytes(const std::string& text, std::size_t at) {
  return text[at] == '\xC2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0;
}

// Returns the code point at `at` if it is a mark that changes the direction of text, else 0. Such marks can make a name
// look like another (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069; Unicode UAX 9; CVE-2021-42574).
unsigned order_mark(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if (byte(at) == 0xD8 && byte(at + 1) == 0x9C) return 0x061C;
  if (byte(at) != 0xE2 || (byte(at + 1) != 0x80 && byte(at + 1) != 0x81)) return 0;
  const unsigned code = 0x2000 | (byte(at + 1) & 0x3F) << 6 | (byte(at + 2) & 0x3F);
  const bool turns =
      code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return turns ? code : 0;
}

}  // namespace

std::string for_terminal(const std::string& text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_control_of_two_bytes(text, at)) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[++at])));
      shown += code;
    } else if (const unsigned mark = order_mark(text, at)) {
      char code[12];
      std::snprintf(code, sizeof code, "\\u%04x", mark);
      shown += code;
      at += mark < 0x800 ? 1 : 2;
    } else {
      shown += text[at] == '\n' ? "\n" : one_line(text.substr(at, 1));
    }
  }
  return shown;
}

void print(const std::string& text) {
  std::fputs(for_terminal(text).c_str(), stdout);
}

std::string message_line(const std::string& text) {
  if (text.size() <= kLongestMessage) return for_terminal(one_line(text));
  std::size_t cut = kLongestMessage;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 character
  return for_terminal(one_line(text.substr(0, cut))) + "...";
}

std::string message_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "not enough memory" : message_line(error.what());
}

std::string for_markdown(const std::string& text) {
  std::string shown;
  for (const char c : for_terminal(one_line(text))) {
    if (c == '&')
      shown += "&amp;";
    else if (c == '<')
      shown += "&lt;";
    else if (c == '>')
      shown += "&gt;";
    else if (std::string("|`[]\\").find(c) != std::string::npos)
      shown += std::string("\\") + c;
    else
      shown += c;
  }
  return shown;
}

std::string for_csv(const std::string& text) {
  const bool is_formula = !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos;
  const std::string cell = is_formula ? "'" + text : text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

bool has_drawable_stderr() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && (terminal == nullptr || std::string(terminal) != "dumb");
}

}  // namespace lockstep
