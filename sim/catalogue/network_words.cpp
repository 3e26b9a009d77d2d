#include "sim/catalogue/network_words.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

constexpr std::size_t kLongestText = 200;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A number ("400", "12.5"), a word that may have digits in it ("hdr100"), or a slash.
struct Token {
  enum class Kind { number, word, slash } kind;
  std::string text;   ///< as written
  std::string small;  ///< in lower case
  double value = 0;
};

double value_of(const std::string& digits) {
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);  // 200 digits are within a double
  return value;
}

class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  /// Reads "8x" at the beginning.
  std::optional<double> count() {
    std::size_t at = blanks(0);
    const std::size_t begin = at;
    while (at < text_.size() && is_digit(text_[at])) ++at;
    const std::size_t end = at;
    at = blanks(at);
    if (end == begin || at >= text_.size() || (text_[at] != 'x' && text_[at] != 'X')) return std::nullopt;
    at_ = at + 1;
    return value_of(text_.substr(begin, end - begin));
  }

  /// Reads the remaining tokens; sets `wrong` if a character occurs that no network's name has.
  std::vector<Token> tokens(std::string& wrong) {
    std::vector<Token> tokens;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_digit(c)) {
        tokens.push_back(number());
      } else if (is_letter(c)) {
        tokens.push_back(word());
      } else if (c == '/') {
        tokens.push_back({Token::Kind::slash, "/", "/"});
        ++at_;
      } else if (is_separator()) {
        ++at_;
      } else {
        const bool is_plain = c > ' ' && c <= '~';
        wrong =
            is_plain ? "no network has " + in_quotes(std::string(1, c)) + " in it" : "a character has no place in it";
        ++at_;
      }
    }
    return tokens;
  }

 private:
  std::size_t blanks(std::size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at;
  }

  // A minus is a hyphen only if something precedes it.
  bool is_separator() const {
    const char c = text_[at_];
    const bool is_behind = at_ > 0 && (is_digit(text_[at_ - 1]) || is_letter(text_[at_ - 1]));
    return c == ' ' || c == '\t' || c == '(' || c == ')' || (is_behind && (c == '-' || c == '_' || c == '.'));
  }

  Token number() {
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    const std::string digits = text_.substr(at_, end - at_);
    at_ = end;
    return {Token::Kind::number, digits, digits, value_of(digits)};
  }

  Token word() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string letters = text_.substr(at_, end - at_);
    at_ = end;
    return {Token::Kind::word, letters, lower_case(letters)};
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

struct Unit {
  double bits_per_s = 0;
  bool is_ethernet = false;
  bool is_bytes = false;
  std::size_t tokens = 0;  ///< number of tokens that the unit takes
};

// True if "/s" follows a unit.
bool has_per_second(const std::vector<Token>& tokens, std::size_t at) {
  static const std::set<std::string> seconds{"s", "sec", "second"};
  return at + 1 < tokens.size() && tokens[at].kind == Token::Kind::slash && seconds.count(tokens[at + 1].small) > 0;
}

// "GB/s" is bytes, "Gb/s" and "gb/s" are bits. In "400 GB/S" the case is no information; networks are sold in bits.
bool says_bytes(const Token& unit, const std::string& per_second) {
  if (unit.small.find("byte") != std::string::npos) return true;
  const bool ends_large = unit.text == "GBPS" || unit.text == "MBPS" || unit.text == "TBPS" || per_second == "S" ||
                          per_second == "SEC" || per_second == "SECOND";
  return unit.text.size() > 1 && unit.text[1] == 'B' && unit.small.substr(1, 3) != "bit" && !ends_large;
}

// The unit that begins at `at`.
std::optional<Unit> unit_at(const std::vector<Token>& tokens, std::size_t at) {
  if (at >= tokens.size() || tokens[at].kind != Token::Kind::word) return std::nullopt;
  const std::string& word = tokens[at].small;
  if (word == "gbe" || word == "gige" || word == "ge") return Unit{1e9, true, false, 1};
  if (word == "tbe") return Unit{1e12, true, false, 1};
  if (word == "g" || word == "gigabit") return Unit{1e9, false, false, 1};
  static const std::set<std::string> behind{"b", "bit", "bits", "bps", "bitps", "byte", "bytes"};
  const double prefix = word[0] == 'm' ? 1e6 : word[0] == 'g' ? 1e9 : word[0] == 't' ? 1e12 : 0;
  if (prefix == 0 || behind.count(word.substr(1)) == 0) return std::nullopt;
  Unit unit{prefix, false, false, 1};
  const bool is_rate = word.size() > 3 && word.substr(word.size() - 2) == "ps";
  const bool per_second = !is_rate && has_per_second(tokens, at + 1);
  if (per_second) unit.tokens = 3;
  unit.is_bytes = says_bytes(tokens[at], per_second ? tokens[at + 2].text : "");
  return unit;
}

// Removes "per GPU", "per 4 GPUs" or "per node" from the end.
void cut_per(std::vector<Token>& tokens, NetworkWords& words) {
  if (tokens.size() < 2) return;
  const std::string of = tokens.back().small;
  const Token& before = tokens[tokens.size() - 2];
  const bool has_number = before.kind == Token::Kind::number && of == "gpus";
  const std::size_t words_of_it = has_number ? 3 : 2;
  if (tokens.size() < words_of_it || tokens[tokens.size() - words_of_it].small != "per") return;
  if (!has_number && of != "gpu" && of != "node") return;
  if (of != "node") words.per_gpus = has_number ? before.value : 1;
  tokens.resize(tokens.size() - words_of_it);
}

}  // namespace

NetworkWords cut_network(const std::string& text) {
  NetworkWords words;
  if (text.size() > kLongestText) {
    words.wrong = "longer than " + std::to_string(kLongestText) + " characters";
    return words;
  }
  Scanner scanner(text);
  words.count = scanner.count();
  std::vector<Token> tokens = scanner.tokens(words.wrong);
  cut_per(tokens, words);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const std::optional<Unit> unit = token.kind == Token::Kind::number ? unit_at(tokens, i + 1) : std::nullopt;
    if (!unit) {
      if (token.kind == Token::Kind::number) words.bare_number = token.value;
      words.kind += (words.kind.empty() ? "" : " ") + token.text;
      continue;
    }
    if (words.rate || words.bytes_per_s) words.wrong = "it has two rates";
    if (unit->is_bytes)
      words.bytes_per_s = token.value * unit->bits_per_s;
    else
      words.rate = WrittenRate{token.value * unit->bits_per_s, unit->is_ethernet};
    i += unit->tokens;
  }
  return words;
}

}  // namespace catalogue
}  // namespace lockstep::sim
