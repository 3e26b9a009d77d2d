#include "sim/launch/shell_tests.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/text.hpp"
#include "sim/launch/shell_tokens.hpp"

namespace lockstep::sim::launch {
namespace {

class Test {
 public:
  Test(const std::vector<std::string>& words, Variables& variables, const Place& place, bool is_double)
      : words_(words), variables_(variables), place_(place), is_double_(is_double) {}

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
  // SLURM sets its variables, even if their values are not known.
  std::optional<bool> is_next_empty() {
    if (at_ >= words_.size()) return std::nullopt;
    const Word word = expand_in_test(words_[at_++], variables_, place_);
    const bool is_set = word.text == word.unknown && word.unknown.compare(0, 7, "$SLURM_") == 0 &&
                        variables_.find(word.unknown.substr(1)) != nullptr;
    if (!word.unknown.empty() && !is_set) return std::nullopt;
    return word.text.empty();
  }
  std::optional<std::string> pattern() {
    if (at_ >= words_.size()) return std::nullopt;
    const Word word = expand_pattern(words_[at_++], variables_, place_, true);
    return word.unknown.empty() && is_known_pattern(word.text) ? std::optional<std::string>(word.text) : std::nullopt;
  }
  std::optional<bool> comparison() {
    if (at_ >= words_.size()) return false;
    const std::string& first = words_[at_];
    const bool is_alone = at_ + 1 == words_.size() && !is_double_;  // "[ -n ]"
    if (is_alone && first.front() == '-') {
      ++at_;
      return true;
    }
    if (first == "-z" || first == "-n") {
      ++at_;
      const std::optional<bool> is_empty = is_next_empty();
      return is_empty ? std::optional<bool>(*is_empty == (first == "-z")) : std::nullopt;
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
    if (at_ == words_.size() && !is_double_) return false;  // "[ = 8 ]" is an error
    const bool is_pattern = is_double_ && (op == "=" || op == "==" || op == "!=");
    const std::optional<std::string> right = is_pattern ? pattern() : operand();
    if (!left || !right) return std::nullopt;
    return compare(*left, op, *right);
  }
  static bool is_joint(const std::string& word) { return word == "&&" || word == "||" || word == "-a" || word == "-o"; }
  std::optional<bool> compare(const std::string& left, const std::string& op, const std::string& right) {
    const bool is_equal = is_double_ ? matches_pattern(left, right) : left == right;
    if (op == "=" || op == "==") return is_equal;
    if (op == "!=") return !is_equal;
    const bool is_number = op == "-eq" || op == "-ne" || op == "-gt" || op == "-ge" || op == "-lt" || op == "-le";
    if (!is_double_ && is_number && (left.empty() || right.empty())) return false;  // an error
    const auto a = arithmetic(left.empty() ? "0" : left, variables_, place_),
               b = arithmetic(right.empty() ? "0" : right, variables_, place_);
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
  bool is_double_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<bool> value_of_test(const std::vector<std::string>& words, Variables& variables, const Place& place,
                                  bool is_double) {
  return Test(words, variables, place, is_double).value();
}

namespace {

// Returns the index behind the set "[a-c]" at `at`; 0: it is not closed, and "[" stands for itself.
std::size_t end_of_set(const std::string& pattern, std::size_t at) {
  std::size_t i = at + 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  while (i < pattern.size() && pattern[i] != ']') i += pattern[i] == '\\' ? 2 : 1;
  return i < pattern.size() ? i + 1 : 0;
}

bool is_in_set(char c, const std::string& set) {  // without the brackets
  std::size_t i = !set.empty() && (set[0] == '!' || set[0] == '^') ? 1 : 0;
  const bool is_negated = i == 1;
  bool is_in = false;
  while (i < set.size()) {
    if (set[i] == '\\' && i + 1 < set.size()) ++i;
    const char first = set[i++];
    char last = first;
    if (i + 1 < set.size() && set[i] == '-') {
      last = set[i + 1];
      i += 2;
    }
    is_in = is_in || (first <= c && c <= last);
  }
  return is_in != is_negated;
}

// Returns the index behind the part of the pattern at `at`, if the part matches the character; else 0.
std::size_t end_of_match(const std::string& pattern, std::size_t at, char c) {
  if (at >= pattern.size() || pattern[at] == '*') return 0;
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[')
    if (const std::size_t end = end_of_set(pattern, at); end > 0)
      return is_in_set(c, pattern.substr(at + 1, end - at - 2)) ? end : 0;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return pattern[at] == c ? at + 1 : 0;
}

}  // namespace

Word expand_pattern(const std::string& raw, Variables& variables, const Place& place, bool is_test) {
  Word pattern{"", "", place};
  std::string plain;
  const auto add = [&](const std::string& part, bool is_literal) {
    if (part.empty()) return;
    const Word word = is_test ? expand_in_test(part, variables, place) : expand_to_one(part, variables, place);
    for (const char c : word.text) {
      if (is_literal && std::string("*?[]\\(").find(c) != std::string::npos) pattern.text += '\\';
      pattern.text += c;
    }
    pattern.add_unknown(word.unknown);
  };
  for (std::size_t i = 0; i < raw.size();) {
    const std::size_t end = std::min(end_of_part(raw, i), raw.size());
    const bool is_quoted = raw[i] == '"' || raw[i] == '\'' || raw[i] == '\\';
    if (!is_quoted) plain += raw.substr(i, end - i);
    if (is_quoted) {
      const bool is_escaped = !plain.empty() && plain.back() == '$';  // "$'...'"
      if (is_escaped) plain.pop_back();
      add(std::exchange(plain, ""), false);
      add((is_escaped ? "$" : "") + raw.substr(i, end - i), true);
    }
    i = end;
  }
  add(plain, false);
  return pattern;
}

bool is_known_pattern(const std::string& pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == '[' && std::string(":.=").find(pattern[i + 1]) != std::string::npos)
      return false;
    else if (pattern[i + 1] == '(' && std::string("?*+@!").find(pattern[i]) != std::string::npos)
      return false;
  }
  return true;
}

bool matches_pattern(const std::string& text, const std::string& pattern) {
  std::size_t t = 0, p = 0, star = std::string::npos, from = 0;
  while (t < text.size()) {
    if (const std::size_t end = end_of_match(pattern, p, text[t]); end > 0) {
      ++t;
      p = end;
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
