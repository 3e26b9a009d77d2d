#include "sim/launch/shell_tests.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

class Test {
 public:
  Test(const std::vector<std::string>& words, Variables& variables, const Place& place)
      : words_(words), variables_(variables), place_(place) {}

  std::optional<bool> value() {
    const std::optional<bool> value = either();
    return at_ == words_.size() ? value : std::nullopt;
  }

 private:
  bool take(const std::string& word) {
    if (at_ >= words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  std::optional<bool> either() {
    std::optional<bool> value = both();
    while (take("||") || take("-o")) {
      const std::optional<bool> other = both();
      if (value == true || other == true)
        value = true;
      else if (!value || !other)
        value = std::nullopt;
    }
    return value;
  }
  std::optional<bool> both() {
    std::optional<bool> value = negation();
    while (take("&&") || take("-a")) {
      const std::optional<bool> other = negation();
      if (value == false || other == false)
        value = false;
      else if (!value || !other)
        value = std::nullopt;
    }
    return value;
  }
  std::optional<bool> negation() {
    bool is_negated = false;
    while (take("!")) is_negated = !is_negated;
    const std::optional<bool> value = comparison();
    return value ? std::optional<bool>(*value != is_negated) : std::nullopt;
  }
  std::optional<std::string> operand() {
    if (at_ >= words_.size()) return std::nullopt;
    const Word word = expand_in_test(words_[at_++], variables_, place_);
    return word.unknown.empty() ? std::optional<std::string>(word.text) : std::nullopt;
  }
  std::optional<bool> comparison() {
    if (at_ >= words_.size()) return false;
    const std::string& first = words_[at_];
    if (first == "-z" || first == "-n") {
      ++at_;
      const std::optional<std::string> text = operand();
      return text ? std::optional<bool>(text->empty() == (first == "-z")) : std::nullopt;
    }
    if (first == "-v" && at_ + 1 < words_.size()) {
      const std::string& name = words_[++at_];
      ++at_;
      if (variables_.find(name) == nullptr) variables_.taken_as_unset.insert(name);
      return variables_.find(name) != nullptr;
    }
    // Tests of files (-f, -d, ...) depend on the machine, unless the file is there.
    if (first.size() == 2 && first.front() == '-' && !is_digit(first[1])) {
      ++at_;
      const std::optional<std::string> path = operand();
      const bool is_there = path && std::string("efrs").find(first[1]) != std::string::npos && variables_.has_file &&
                            variables_.has_file(*path);
      return is_there ? std::optional<bool>(true) : std::nullopt;
    }
    const std::optional<std::string> left = operand();
    if (at_ >= words_.size() || is_joint(words_[at_])) return left ? std::optional<bool>(!left->empty()) : std::nullopt;
    const std::string op = words_[at_++];
    const std::optional<std::string> right = operand();
    if (!left || !right) return std::nullopt;
    return compare(*left, op, *right);
  }
  static bool is_joint(const std::string& word) { return word == "&&" || word == "||" || word == "-a" || word == "-o"; }
  std::optional<bool> compare(const std::string& left, const std::string& op, const std::string& right) {
    if (op == "=" || op == "==") return matches_pattern(left, right);
    if (op == "!=") return !matches_pattern(left, right);
    const auto a = arithmetic(left.empty() ? "0" : left, variables_, place_), b = arithmetic(right, variables_, place_);
    if (!a || !b) return std::nullopt;
    if (op == "-eq") return *a == *b;
    if (op == "-ne") return *a != *b;
    if (op == "-gt") return *a > *b;
    if (op == "-ge") return *a >= *b;
    if (op == "-lt") return *a < *b;
    if (op == "-le") return *a <= *b;
    return std::nullopt;
  }

  const std::vector<std::string>& words_;
  Variables& variables_;
  const Place& place_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<bool> value_of_test(const std::vector<std::string>& words, Variables& variables, const Place& place) {
  return Test(words, variables, place).value();
}

bool matches_pattern(const std::string& text, const std::string& pattern) {
  std::size_t t = 0, p = 0, star = std::string::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
      ++t;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace lockstep::sim::launch
