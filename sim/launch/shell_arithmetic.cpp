#include <cstdint>
#include <limits>

#include "engine/base/text.hpp"
#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestExpression = 64;

struct Unknown {};

// Parses by precedence, from "?:" down to numbers and names. Throws Unknown if something has no value.
class Arithmetic {
 public:
  Arithmetic(const std::string& text, const Variables& variables, int depth)
      : text_(text), variables_(variables), depth_(depth) {}

  std::int64_t value() {
    const std::int64_t value = choice();
    skip_blanks();
    if (at_ != text_.size()) throw Unknown();
    return value;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(const std::string& op) {
    skip_blanks();
    if (text_.compare(at_, op.size(), op) != 0) return false;
    const char next = at_ + op.size() < text_.size() ? text_[at_ + op.size()] : '\0';
    if ((op == "<" || op == ">" || op == "!" || op == "=") && next == '=') return false;
    if ((op == "*" || op == "&" || op == "|") && next == op[0]) return false;
    at_ += op.size();
    return true;
  }
  std::int64_t choice() {
    if (++depth_ > kDeepestExpression) throw Unknown();
    std::int64_t value = either();
    if (take("?")) {
      const std::int64_t yes = choice();
      if (!take(":")) throw Unknown();
      const std::int64_t no = choice();
      value = value != 0 ? yes : no;
    }
    --depth_;
    return value;
  }
  std::int64_t either() {
    std::int64_t value = both();
    while (take("||")) value = static_cast<std::int64_t>((both() != 0) | (value != 0));
    return value;
  }
  std::int64_t both() {
    std::int64_t value = comparison();
    while (take("&&")) value = static_cast<std::int64_t>((comparison() != 0) & (value != 0));
    return value;
  }
  std::int64_t comparison() {
    const std::int64_t left = sum();
    if (take("==")) return static_cast<std::int64_t>(left == sum());
    if (take("!=")) return static_cast<std::int64_t>(left != sum());
    if (take("<=")) return static_cast<std::int64_t>(left <= sum());
    if (take(">=")) return static_cast<std::int64_t>(left >= sum());
    if (take("<")) return static_cast<std::int64_t>(left < sum());
    if (take(">")) return static_cast<std::int64_t>(left > sum());
    return left;
  }
  static std::int64_t checked(double exact, std::int64_t (*compute)(std::int64_t, std::int64_t), std::int64_t a,
                              std::int64_t b) {
    constexpr double kMost = 4e18;
    if (exact > kMost || exact < -kMost) throw Unknown();
    return compute(a, b);
  }
  std::int64_t sum() {
    std::int64_t value = product();
    while (true) {
      const bool is_plus = take("+");
      if (!is_plus && !take("-")) return value;
      const std::int64_t other = is_plus ? product() : -product();
      value = checked(
          double(value) + double(other), [](std::int64_t a, std::int64_t b) { return a + b; }, value, other);
    }
  }
  // "**" binds tighter than "*", and groups from the right.
  std::int64_t factor() {
    if (++depth_ > kDeepestExpression) throw Unknown();
    std::int64_t value = unary();
    if (take("**")) value = power(value, factor());
    --depth_;
    return value;
  }
  std::int64_t product() {
    std::int64_t value = factor();
    while (true) {
      if (take("*")) {
        const std::int64_t other = factor();
        value = checked(
            double(value) * double(other), [](std::int64_t a, std::int64_t b) { return a * b; }, value, other);
      } else if (take("/")) {
        value = value / divisor();
      } else if (take("%")) {
        value = value % divisor();
      } else {
        return value;
      }
    }
  }
  static std::int64_t power(std::int64_t base, std::int64_t exponent) {
    constexpr std::int64_t kMostExponent = 62;
    if (exponent < 0 || exponent > kMostExponent) throw Unknown();
    std::int64_t value = 1;
    for (std::int64_t i = 0; i < exponent; ++i)
      value = checked(
          double(value) * double(base), [](std::int64_t a, std::int64_t b) { return a * b; }, value, base);
    return value;
  }
  std::int64_t divisor() {
    const std::int64_t value = factor();
    if (value == 0 || value == -1) throw Unknown();
    return value;
  }
  std::int64_t unary() {
    if (++depth_ > kDeepestExpression) throw Unknown();
    std::int64_t value = 0;
    if (take("-"))
      value = -unary();
    else if (take("!"))
      value = static_cast<std::int64_t>(unary() == 0);
    else if (take("("))
      value = in_brackets();
    else
      value = operand();
    --depth_;
    return value;
  }
  std::int64_t in_brackets() {
    const std::int64_t value = choice();
    if (!take(")")) throw Unknown();
    return value;
  }
  std::int64_t operand() {
    skip_blanks();
    if (text_.compare(at_, 1, "$") == 0) ++at_;
    const bool has_brace = text_.compare(at_, 1, "{") == 0;
    if (has_brace) ++at_;
    std::string word;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_' ||
                                  (text_[at_] >= 'a' && text_[at_] <= 'z') || (text_[at_] >= 'A' && text_[at_] <= 'Z')))
      word += text_[at_++];
    if (has_brace && !take("}")) throw Unknown();
    if (word.empty() || word.size() > 256) throw Unknown();
    return is_digit(word.front()) ? number(word) : value_of(word);
  }
  static std::int64_t number(const std::string& word) {
    constexpr std::size_t kMostDigits = 18;
    if (word.size() > kMostDigits) throw Unknown();
    std::int64_t value = 0;
    for (const char c : word) {
      if (!is_digit(c)) throw Unknown();
      value = 10 * value + (c - '0');
    }
    return value;
  }
  std::int64_t value_of(const std::string& name) {
    const Value* value = variables_.find(name);
    if (value == nullptr || value->size() != 1 || !value->front().unknown.empty() || depth_ > kDeepestExpression)
      throw Unknown();
    return Arithmetic(value->front().text, variables_, depth_ + 1).value();
  }

  const std::string& text_;
  const Variables& variables_;
  std::size_t at_ = 0;
  int depth_;
};

}  // namespace

std::optional<std::int64_t> arithmetic(const std::string& text, Variables& variables, const Place&) {
  try {
    return Arithmetic(text, variables, 0).value();
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace lockstep::sim::launch
