#include "sim/launch/shell_tokens.hpp"
#include "sim/launch/words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestBracket = 64;  // nesting depth

std::size_t end_of_part_within(const std::string& text, std::size_t begin, int depth);

bool is_word_at(const std::string& text, std::size_t at, std::string_view word) {
  const std::size_t end = at + word.size();
  return text[at] == word.front() && text.compare(at, word.size(), word) == 0 &&
         (at == 0 || !is_name_character(text[at - 1])) && (end >= text.size() || !is_name_character(text[end]));
}

// Whether a command may begin at `at`: behind a bracket, an operator, or a word such as "then".
bool begins_command(const std::string& text, std::size_t at) {
  while (at > 0 && is_blank(text[at - 1])) --at;
  if (at == 0 || std::string("\n;&|()").find(text[at - 1]) != std::string::npos) return true;
  std::size_t begin = at;
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  const std::string before = text.substr(begin, at - begin);
  if (before.empty()) return text[at - 1] == '{' || text[at - 1] == '!';
  return is_among(before, {"do", "then", "else", "elif", "if", "while", "until", "time"});
}

// Whether the command "case" is at `at` and "esac" follows.
bool is_case_at(const std::string& text, std::size_t at) {
  constexpr std::size_t kLongestCase = 1 << 16;
  return is_word_at(text, at, "case") && begins_command(text, at) &&
         (at + 4 < text.size() && (is_blank(text[at + 4]) || text[at + 4] == '\n')) &&
         std::string_view(text).substr(at, kLongestCase).find("esac") != std::string_view::npos;
}

// The word that ends a here-document.
struct HereDelimiter {
  std::string word;
  bool strips_tabs = false;  // "<<-"
};

// Notes the here-document whose "<<" is at `at`. Returns the position behind its word.
std::size_t begin_here_document(const std::string& text, std::size_t at, std::vector<HereDelimiter>& waiting) {
  HereDelimiter delimiter;
  at += 2;
  delimiter.strips_tabs = text.compare(at, 1, "-") == 0;
  if (delimiter.strips_tabs) ++at;
  while (at < text.size() && is_blank(text[at])) ++at;
  for (; at < text.size() && !is_blank(text[at]) && std::string("\n;&|()<>").find(text[at]) == std::string::npos; ++at)
    if (text[at] != '"' && text[at] != '\'' && text[at] != '\\') delimiter.word += text[at];
  if (!delimiter.word.empty()) waiting.push_back(std::move(delimiter));
  return at;
}

bool ends_here_document(std::string row, const std::string& word, bool strips_tabs) {
  if (!row.empty() && row.back() == '\r') row.pop_back();
  if (strips_tabs) row.erase(0, std::min(row.size(), row.find_first_not_of('\t')));
  return row == word;
}

// Returns the position behind the here-documents that begin after the line that ends at `at`.
std::size_t end_of_here_documents(const std::string& text, std::size_t at, std::vector<HereDelimiter>& waiting) {
  ++at;
  for (const HereDelimiter& delimiter : waiting)
    for (bool is_open = true; is_open && at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      is_open = !ends_here_document(text.substr(at, end - at), delimiter.word, delimiter.strips_tabs);
      at = end + 1;
    }
  waiting.clear();
  return std::min(at, text.size());
}

// Returns the position after the bracket that closes the one at `begin`. A round bracket that ends a pattern between
// "case" and "esac" closes nothing.
std::size_t end_of_bracket(const std::string& text, std::size_t begin, char open, char close, int depth) {
  if (depth > kDeepestBracket) return std::string::npos;
  int count = 0;
  const bool is_arithmetic = text.compare(begin, 2, "((") == 0;
  std::vector<HereDelimiter> waiting;
  std::vector<int> cases;  // brackets that were open at each "case"
  for (std::size_t i = begin; i < text.size();) {
    if (open == '(' && is_case_at(text, i)) cases.push_back(count);
    if (!cases.empty() && is_word_at(text, i, "esac")) cases.pop_back();
    const bool is_inner_arithmetic = open == '(' && i > begin && text.compare(i, 2, "((") == 0;
    if (is_inner_arithmetic) {
      i = end_of_bracket(text, i, '(', ')', depth + 1);
      if (i == std::string::npos) return i;
      continue;
    }
    const bool ends_pattern = text[i] == close && !cases.empty() && cases.back() == count;
    if (text[i] == open) ++count;
    if (text[i] == close && !ends_pattern && --count == 0) return i + 1;
    if (text[i] == open || text[i] == close) {
      ++i;
      continue;
    }
    const bool is_comment =
        open == '(' && text[i] == '#' && count > 0 && !is_arithmetic && (is_blank(text[i - 1]) || text[i - 1] == '\n');
    if (is_comment) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (open == '(' && !is_arithmetic && text.compare(i, 2, "<<") == 0 && text.compare(i, 3, "<<<") != 0) {
      i = begin_here_document(text, i, waiting);
      continue;
    }
    if (text[i] == '\n' && !waiting.empty()) {
      i = end_of_here_documents(text, i, waiting);
      continue;
    }
    i = end_of_part_within(text, i, depth + 1);
    if (i == std::string::npos) return i;
  }
  return std::string::npos;
}

std::size_t end_of_double_quotes(const std::string& text, std::size_t begin, int depth) {
  for (std::size_t i = begin + 1; i < text.size();) {
    if (text[i] == '"') return i + 1;
    i = text[i] == '\'' ? i + 1 : end_of_part_within(text, i, depth + 1);
    if (i == std::string::npos) return i;
  }
  return std::string::npos;
}

std::size_t end_of_part_within(const std::string& text, std::size_t begin, int depth) {
  if (depth > kDeepestBracket) return std::string::npos;
  const char c = text[begin];
  if (c == '\\') return std::min(begin + 2, text.size());
  if (c == '\'' || c == '`') {
    const std::size_t close = text.find(c, begin + 1);
    return close == std::string::npos ? close : close + 1;
  }
  if (c == '"') return end_of_double_quotes(text, begin, depth);
  const char next = begin + 1 < text.size() ? text[begin + 1] : '\0';
  if (c == '$' && next == '(') return end_of_bracket(text, begin + 1, '(', ')', depth);
  if (c == '$' && next == '{') return end_of_bracket(text, begin + 1, '{', '}', depth);
  return begin + 1;
}

struct Reader {
  const std::string& text;
  const std::string& name;
  std::size_t at = 0;
  int line = 1;
  std::vector<Token> tokens = {};
  std::string descriptor = {};            // "2" before ">"
  std::vector<std::size_t> waiting = {};  // words after "<<" whose bodies begin at the next line

  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const {
    throw InputError(name + ":" + std::to_string(line) + ": " + wrong + "; " + allowed);
  }
  void add(Token::Kind kind, const std::string& word) {
    Token token;
    token.kind = kind;
    token.text = word;
    token.line = line;
    if (kind == Token::Kind::op) token.body.swap(descriptor);
    tokens.push_back(token);
  }
  bool starts_with(const std::string& what) const { return text.compare(at, what.size(), what) == 0; }
};

// Reads the bodies of here-documents after the line that ends at `at`.
void read_bodies(Reader& r) {
  for (const std::size_t index : r.waiting) {
    Token& word = r.tokens[index];
    std::string delimiter;
    const bool strips_tabs = index > 0 && r.tokens[index - 1].text == "<<-";
    for (const char c : word.text)
      if (c == '"' || c == '\'' || c == '\\')
        word.is_literal = true;
      else
        delimiter += c;
    while (true) {
      if (r.at >= r.text.size())
        r.fail("the here-document " + in_quotes(delimiter) + " does not end", "close it with a line of that word");
      const std::size_t end = std::min(r.text.find('\n', r.at), r.text.size());
      std::string row = r.text.substr(r.at, end - r.at);
      r.at = std::min(end + 1, r.text.size());
      ++r.line;
      if (!row.empty() && row.back() == '\r') row.pop_back();
      if (ends_here_document(row, delimiter, strips_tabs)) break;
      if (strips_tabs) row.erase(0, std::min(row.size(), row.find_first_not_of('\t')));
      word.body += row + "\n";
    }
  }
  r.waiting.clear();
}

void read_newline(Reader& r) {
  r.add(Token::Kind::op, "\n");
  ++r.at;
  ++r.line;
  read_bodies(r);
}

// Returns the position after the bracket that closes the array at `begin`; skips comments.
std::size_t end_of_array(const std::string& text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size();) {
    const char before = text[i - 1];
    if (text[i] == ')') return i + 1;
    if (text[i] == '#' && (is_blank(before) || before == '\n' || before == '(')) {
      i = text.find('\n', i);
    } else {
      i = end_of_part(text, i);
    }
    if (i == std::string::npos) return i;
  }
  return std::string::npos;
}

// Whether it is a descriptor, such as "2" in "2>&1".
bool is_descriptor(const Reader& r, const std::string& word) {
  return r.at < r.text.size() && (r.text[r.at] == '>' || r.text[r.at] == '<') &&
         std::all_of(word.begin(), word.end(), is_digit);
}

// Reads a word of a command. A backslash at the end of a line continues the word.
void read_word(Reader& r) {
  const std::size_t begin = r.at;
  const int first_line = r.line;
  std::string word;
  while (r.at < r.text.size()) {
    const char c = r.text[r.at];
    if (r.starts_with("\\\n")) {
      r.at += 2;
      ++r.line;
      continue;
    }
    if (r.starts_with("\\\r\n")) {
      r.at += 3;
      ++r.line;
      continue;
    }
    const bool begins_array = c == '(' && !word.empty() && word.back() == '=';
    if (is_blank(c) || c == '\n' || (std::string(";&|<>()").find(c) != std::string::npos && !begins_array)) break;
    const std::size_t end = begins_array ? end_of_array(r.text, r.at) : end_of_part(r.text, r.at);
    if (end == std::string::npos) {
      r.line = first_line;
      const char* what = c == '$' || c == '(' ? "a bracket" : "a quote";
      r.fail(std::string(what) + " is not closed: " + in_quotes(r.text.substr(begin, 40)), "close it");
    }
    word += r.text.substr(r.at, end - r.at);
    r.line += static_cast<int>(std::count(r.text.begin() + static_cast<std::ptrdiff_t>(r.at),
                                          r.text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    r.at = end;
  }
  if (is_descriptor(r, word)) r.descriptor = word;
  if (word.empty() || is_descriptor(r, word)) return;
  const bool is_delimiter = !r.tokens.empty() && r.tokens.back().kind == Token::Kind::op &&
                            (r.tokens.back().text == "<<" || r.tokens.back().text == "<<-");
  r.add(Token::Kind::word, word);
  r.tokens.back().line = first_line;
  if (is_delimiter) r.waiting.push_back(r.tokens.size() - 1);
}

// Reads "<(commands)" or ">(commands)" as one word.
bool read_process(Reader& r) {
  if (!r.starts_with("<(") && !r.starts_with(">(")) return false;
  const std::size_t end = end_of_bracket(r.text, r.at + 1, '(', ')', 0);
  if (end == std::string::npos) r.fail("a bracket is not closed", "close it");
  r.add(Token::Kind::word, r.text.substr(r.at, end - r.at));
  r.line += static_cast<int>(std::count(r.text.begin() + static_cast<std::ptrdiff_t>(r.at),
                                        r.text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  r.at = end;
  return true;
}

bool read_operator(Reader& r) {
  if (read_process(r)) return true;
  static const std::array<const char*, 20> kOperators{"<<<", "<<-", "&>>", "<<", ">>", "&&", "||", ";;", "|&", "&>",
                                                      ">&",  "<&",  "((",  ";",  "&",  "|",  "<",  ">",  "(",  ")"};
  for (const char* op : kOperators) {
    if (!r.starts_with(op)) continue;
    r.at += std::string(op).size();
    // An arithmetic expression is a single word.
    if (std::string(op) == "((") {
      const std::size_t end = end_of_bracket(r.text, r.at - 2, '(', ')', 0);
      if (end == std::string::npos) r.fail("a bracket is not closed", "close it");
      r.add(Token::Kind::word, r.text.substr(r.at - 2, end - r.at + 2));
      r.at = end;
    } else {
      r.add(Token::Kind::op, op);
    }
    return true;
  }
  return false;
}

}  // namespace

std::size_t end_of_part(const std::string& text, std::size_t begin) {
  return end_of_part_within(text, begin, 0);
}

std::vector<Token> tokens_of(const std::string& text, const std::string& name) {
  if (text.size() > kLargestScript)
    throw InputError(name + ": a script of " + std::to_string(text.size()) + " bytes; allowed: up to 1 MiB");
  Reader r{text, name};
  while (r.at < text.size()) {
    const char c = text[r.at];
    const bool begins_word =
        r.at == 0 || is_blank(text[r.at - 1]) || std::string("\n;&|()").find(text[r.at - 1]) != std::string::npos;
    if (c == '\n')
      read_newline(r);
    else if (is_blank(c))
      ++r.at;
    else if (c == '#' && begins_word)
      r.at = std::min(text.find('\n', r.at), text.size());
    else if (r.starts_with("\\\n"))
      r.at += 2, ++r.line;
    else if (r.starts_with("\\\r\n"))
      r.at += 3, ++r.line;
    else if (!read_operator(r))
      read_word(r);
  }
  if (!r.waiting.empty()) read_bodies(r);
  r.add(Token::Kind::op, "\n");
  r.add(Token::Kind::end, "");
  return r.tokens;
}

std::vector<Token> body_of_function(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::vector<Token> body(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                          tokens.begin() + static_cast<std::ptrdiff_t>(end));
  Token last;
  last.kind = Token::Kind::op;
  last.text = "\n";
  last.line = tokens[begin].line;
  body.push_back(last);
  last.kind = Token::Kind::end;
  body.push_back(last);
  return body;
}

std::optional<bool> way_without_failure(const std::vector<Token>& tokens, std::size_t begin) {
  int depth = 0;
  bool is_first = true;
  for (std::size_t i = begin; i + 1 < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind != Token::Kind::word) continue;
    if (token.text == "if") ++depth;
    if (depth == 0 && token.text == "elif") return std::nullopt;
    if (depth == 0 && token.text == "else") is_first = false;
    if (token.text == "fi" && --depth < 0) return std::nullopt;
    const bool is_exit = depth == 0 && token.text == "exit" && tokens[i + 1].kind == Token::Kind::word;
    if (is_exit && tokens[i + 1].text != "0") return !is_first;
  }
  return std::nullopt;
}

}  // namespace lockstep::sim::launch
