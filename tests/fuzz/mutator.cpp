#include "tests/fuzz/mutator.hpp"

#include <algorithm>
#include <cctype>
#include <random>

namespace lockstep::fuzz {
namespace {

const std::vector<std::string> kNumbers{
    "0",          "-0",         "-1",          "1",
    "2",          "0.5",        "65535",       "65536",
    "131072",     "1e6",        "1e9",         "2147483647",
    "2147483648", "4294967296", "-2147483649", "9007199254740993",
    "1e18",       "1e-160",     "5e-324",      "1e-12",
    "1e160",      "1.79e308",   "9e999",       "-1e300",
    "1e15",       "1e12",       "3.7",         "1048577",
    "nan",        "inf",        "0x10",        "007",
    "1.2.3",      "1e",         "--5",         "99999999999999999999999999999999999999"};
const std::vector<std::string> kTexts{"",           " ",        "\\u001b[2J", "\x1b[2J\x07", "a\\nb",    "\\u0000",
                                      "\\ud800",    "\xff\xfe", "=1+1",       "<img src=x>", "..",       "/",
                                      "auto",       "none",     "resnet50",   "ring",        "1e-300 s", "1e300 B",
                                      "9e999 GB/s", "0 GB/s",   "-1 us",      "100 GbE",     "%s%n",     "N/A"};
const std::vector<std::string> kValues{"null", "true",  "false",         "[]", "{}", "[[]]", "\"\"", "-1",
                                       "0",    "[1,2]", "{\"value\": 1}"};
constexpr std::size_t kLong = 50000, kMostBytes = std::size_t{1} << 17;

enum class Kind { blank, number, text, word, sign };
struct Token {
  Kind kind;
  std::size_t begin, end;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::size_t end_of_text(const std::string& content, std::size_t begin) {
  for (std::size_t i = begin + 1; i < content.size() && content[i] != '\n'; ++i) {
    if (content[i] == '\\')
      ++i;
    else if (content[i] == '"')
      return i + 1;
  }
  return begin + 1;
}

Token token_at(const std::string& content, std::size_t begin) {
  const char first = content[begin];
  std::size_t end = begin + 1;
  const auto run_of = [&](const auto& belongs) {
    while (end < content.size() && belongs(content[end])) ++end;
  };
  if (first == '"') return {Kind::text, begin, end_of_text(content, begin)};
  if (is_blank(first)) {
    run_of(is_blank);
    return {Kind::blank, begin, end};
  }
  if (is_digit(first)) {
    run_of([](char c) { return is_digit(c) || c == '.'; });
    return {Kind::number, begin, end};
  }
  if (is_letter(first)) {
    run_of(is_letter);
    return {Kind::word, begin, end};
  }
  return {Kind::sign, begin, end};
}

std::vector<Token> tokens_of(const std::string& content) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < content.size(); at = tokens.back().end) tokens.push_back(token_at(content, at));
  return tokens;
}

class Mutation {
 public:
  Mutation(const std::vector<std::string>& corpus, std::uint64_t number) : corpus_(corpus), random_(number) {}

  std::string run() {
    content_ = pick(corpus_);
    is_gentle_ = below(3) > 0;
    for (std::size_t left = 1 + below(is_gentle_ ? 2 : 4); left > 0; --left) change();
    if (content_.size() > kMostBytes) content_.resize(kMostBytes);
    return content_;
  }

 private:
  // Not one of <random>'s distributions, because these differ between libraries.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  void change() {
    if (content_.empty()) return;
    const std::vector<Token> tokens = tokens_of(content_);
    switch (is_gentle_ ? below(7) : below(12)) {
      case 0:
      case 1:
      case 2:
        return change_one(tokens, Kind::number, [&](const std::string&) { return pick(kNumbers); });
      case 3:
      case 4:
        return change_one(tokens, Kind::text, [&](const std::string& old) { return text_for(old); });
      case 5:
        if (is_gentle_) return change_one(tokens, Kind::number, [&](const std::string& old) { return near(old); });
        return change_one(tokens, Kind::word, [&](const std::string& old) { return word_for(old); });
      case 6:
        return replace_value(tokens);
      case 7:
        return move_tokens(tokens);
      case 8:
        return change_line();
      case 9:
        content_.resize(below(content_.size()));
        return;
      case 10:
        return change_byte();
      default:
        return take_from_another();
    }
  }

  void replace(const Token& token, const std::string& by) {
    content_.replace(token.begin, token.end - token.begin, by);
  }

  template <typename Make>
  void change_one(const std::vector<Token>& tokens, Kind kind, const Make& make) {
    std::vector<Token> fitting;
    for (const Token& token : tokens)
      if (token.kind == kind) fitting.push_back(token);
    if (fitting.empty()) return change_byte();
    const Token chosen = pick(fitting);
    replace(chosen, make(content_.substr(chosen.begin, chosen.end - chosen.begin)));
  }

  std::string near(const std::string& number) {
    static const std::vector<std::string> ends{"0", "e1", "e-1", "e3", "e-3", "e9", "e-9", "1"};
    return below(8) == 0 ? "-" + number : number + pick(ends);
  }

  // Replaces a quoted string by another text, or changes a number in it.
  std::string text_for(const std::string& old) {
    const std::size_t digit = old.find_first_of("0123456789");
    if (digit != std::string::npos && below(2) == 0) {
      const std::size_t end = std::min(old.find_first_not_of("0123456789.", digit), old.size());
      return old.substr(0, digit) + pick(kNumbers) + old.substr(end);
    }
    return '"' + (below(20) == 0 ? std::string(kLong, 'A') : pick(kTexts)) + '"';
  }

  std::string word_for(const std::string& old) {
    if (below(20) == 0) return std::string(kLong, '9');
    return below(3) == 0 ? old + old : pick(kTexts);
  }

  // Replaces a number, a text, or everything between two brackets.
  void replace_value(const std::vector<Token>& tokens) {
    const std::size_t at = below(tokens.size());
    Token value = tokens[at];
    const char first = content_[value.begin];
    int depth = first == '{' || first == '[' ? 1 : 0;
    for (std::size_t i = at + 1; i < tokens.size() && depth > 0; ++i) {
      const char c = content_[tokens[i].begin];
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      value.end = tokens[i].end;
    }
    replace(value, pick(kValues));
  }

  // Removes a few tokens, repeats them, or moves them.
  void move_tokens(const std::vector<Token>& tokens) {
    const std::size_t from = below(tokens.size()), to = std::min(tokens.size() - 1, from + below(8));
    const std::size_t begin = tokens[from].begin, size = tokens[to].end - begin;
    const std::string part = content_.substr(begin, size);
    const std::size_t how = below(4), place = pick(tokens).begin;
    if (how == 0) content_.erase(begin, size);
    if (how == 1) content_.insert(begin, part);
    if (how == 2) content_.insert(place, part);
    for (std::size_t i = 0; how == 3 && i < 100; ++i) content_.insert(begin, part);
  }

  void change_line() {
    const std::size_t begin = content_.rfind('\n', below(content_.size())) + 1;  // npos + 1 = 0
    const std::size_t end = std::min(content_.find('\n', begin), content_.size() - 1) + 1;
    const std::string line = content_.substr(begin, end - begin);
    if (below(2) == 0)
      content_.erase(begin, line.size());
    else
      content_.insert(begin, line);
  }

  void change_byte() {
    const std::size_t at = below(content_.size());
    if (below(2) == 0)
      content_[at] = static_cast<char>(below(256));
    else
      content_.insert(at, 1, static_cast<char>(below(256)));
  }

  void take_from_another() {
    const std::string& other = pick(corpus_);
    if (other.empty()) return;
    const std::size_t begin = below(other.size()), size = below(std::min<std::size_t>(other.size() - begin, 200) + 1);
    content_.insert(below(content_.size()), other, begin, size);
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
  std::string content_;
  bool is_gentle_ = false;  ///< only changes values, so that more inputs are valid
};

}  // namespace

std::string mutated(const std::vector<std::string>& corpus, std::uint64_t number) {
  return Mutation(corpus, number).run();
}

}  // namespace lockstep::fuzz
