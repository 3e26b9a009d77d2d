#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_values.hpp"
#include "sim/launch/words.hpp"

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

std::vector<std::string> parts_of_expression(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

namespace {

// "X = Y + 1", "X += 2", "X++", "--X".
struct Step {
  std::string name, expression;  // of the new value
  bool gives_former = false;     // "X++"
};

std::optional<Step> step_of(const std::string& text) {
  const std::string all = without_blanks(text);
  const std::size_t sign = all.compare(0, 2, "++") == 0 || all.compare(0, 2, "--") == 0 ? 2 : 0;
  std::size_t end = sign;
  while (end < all.size() && is_name_character(all[end])) ++end;
  const std::string name = all.substr(sign, end - sign), rest = without_blanks(all.substr(end));
  if (name.empty() || is_digit(name.front())) return std::nullopt;
  if (sign > 0) return rest.empty() ? std::optional(Step{name, name + all[0] + "1"}) : std::nullopt;
  if (rest == "++" || rest == "--") return Step{name, name + rest[0] + "1", true};
  const std::size_t equals = rest.find('=');
  if (equals > 1 || equals == std::string::npos || rest.compare(equals, 2, "==") == 0) return std::nullopt;
  const std::string op = rest.substr(0, equals), value = "(" + rest.substr(equals + 1) + ")";
  if (!op.empty() && std::string("+-*/%").find(op) == std::string::npos) return std::nullopt;
  return Step{name, op.empty() ? value : name + op + value};
}

// The names that an expression assigns: "i" in "a[i++] < 3", "N" in "N <<= 1".
std::vector<std::string> assigned_names(const std::string& text) {
  std::vector<std::string> names;
  const auto name_before = [&](std::size_t at) {
    while (at > 0 && (is_blank(text[at - 1]) || text[at - 1] == '\n')) --at;
    if (at > 0 && text[at - 1] == ']') at = std::min(at, text.rfind('[', at) + 1) - 1;
    std::size_t begin = at;
    while (begin > 0 && begin <= text.size() && is_name_character(text[begin - 1])) --begin;
    return begin < at && at <= text.size() ? text.substr(begin, at - begin) : std::string();
  };
  const auto name_behind = [&](std::size_t at) {
    while (at < text.size() && is_blank(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    return text.substr(std::min(at, text.size()), end - at);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string name;
    const std::string two = text.substr(i, 2);
    if (two == "++" || two == "--") {
      name = name_before(i).empty() ? name_behind(i + 2) : name_before(i);
      ++i;
    } else if (two == "==" || two == "!=") {
      ++i;
    } else if (text[i] == '=') {
      std::size_t op = i;
      while (op > 0 && std::string("+-*/%&|^<>").find(text[op - 1]) != std::string::npos) --op;
      const bool is_comparison = i - op == 1 && (text[op] == '<' || text[op] == '>');
      if (!is_comparison) name = name_before(op);
    }
    if (!name.empty() && !is_digit(name.front())) names.push_back(name);
  }
  return names;
}

}  // namespace

void Variables::charge(std::size_t more, const Place& place) {
  constexpr std::size_t kMostBytes = 256 << 20;
  bytes += std::min(more, kMostBytes);
  if (bytes > kMostBytes)
    throw InputError(place.text() + ": the values of the script have more than 256 MiB; simplify the script");
}

void Variables::set(const std::string& name, const Word& word) {
  const Value* const former = find(name);
  const bool is_same = former != nullptr && former->size() == 1 && former->front().unknown.empty() &&
                       word.unknown.empty() && former->front().text == word.text;
  if (!is_sure && !is_same) return forget(name, word.place);
  values[name] = {word};
  if (exports_all) exported.insert(name);
}

void Variables::forget(const std::string& name, const Place& place) {
  values[name] = {{"$" + name, "$" + name, place}};
}

std::optional<std::int64_t> evaluate(const std::string& text, Variables& variables, const Place& place) {
  std::optional<std::int64_t> result;
  for (const std::string& written : parts_of_expression(text)) {
    Word part{written, "", place};
    if (written.find_first_of("$`") != std::string::npos) part = expand_to_one(written, variables, place);
    const auto step = part.unknown.empty() ? step_of(part.text) : std::nullopt;
    if (!step) {
      result = part.unknown.empty() ? arithmetic(part.text, variables, place) : std::nullopt;
      if (!result)
        for (const std::string& name : assigned_names(part.text)) variables.forget(name, place);
      continue;
    }
    const auto former = step->gives_former ? arithmetic(step->name, variables, place) : std::nullopt;
    const auto value = arithmetic(step->expression, variables, place);
    for (const std::string& name : assigned_names(step->expression)) variables.forget(name, place);
    if (value)
      variables.set(step->name, {std::to_string(*value), "", place});
    else
      variables.forget(step->name, place);
    result = step->gives_former ? former : value;
  }
  return result;
}

std::optional<std::int64_t> arithmetic(const std::string& text, Variables& variables, const Place&) {
  try {
    return Arithmetic(text, variables, 0).value();
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace lockstep::sim::launch
