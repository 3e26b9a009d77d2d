#include "sim/launch/shell_values.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_tokens.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kLongestValue = 1 << 18, kMostExpansions = 200'000;
constexpr int kDeepestExpansion = 32;

std::string joined_text(const Value& value) {
  std::string text;
  for (const Word& word : value) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

std::string first_unknown(const Value& value) {
  for (const Word& word : value)
    if (!word.unknown.empty()) return word.unknown;
  return "";
}

Word one_word(std::vector<Word> words, const Place& place) {
  if (words.empty()) return {"", "", place};
  Word all = std::move(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) {
    all.text += " " + words[i].text;
    all.add_unknown(words[i].unknown);
  }
  return all;
}

// Expands a raw word to the words that it becomes.
class Expander {
 public:
  Expander(Variables& variables, Place place, bool splits, bool is_test, int depth)
      : variables_(variables), place_(std::move(place)), splits_(splits), is_test_(is_test), depth_(depth) {
    if (depth > kDeepestExpansion || ++variables.expansions > kMostExpansions)
      throw InputError(place_.text() + ": too many expansions; simplify the script");
  }

  void add_raw(const std::string& raw) {
    for (std::size_t i = 0; i < raw.size();) {
      const std::size_t end = std::min(end_of_part(raw, i), raw.size());
      add_part(raw.substr(i, end - i), false);
      i = end;
    }
  }
  // Adds text from double quotes or a here-document.
  void add_quoted(const std::string& text) {
    has_word_ = true;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = text[i] == '\'' || text[i] == '"' ? i + 1 : std::min(end_of_part(text, i), text.size());
      add_part(text.substr(i, end - i), true);
      i = end;
    }
  }
  std::vector<Word> finish() {
    end_word();
    return std::move(words_);
  }

 private:
  void add_part(const std::string& part, bool is_quoted) {
    const char c = part.front();
    if (part.size() == 1 || (c != '\\' && c != '\'' && c != '"' && c != '$' && c != '`')) {
      // In "$NAME", end_of_part() returned the "$" alone, because there is no bracket.
      if (c == '$') {
        end_name(is_quoted);
        in_name_ = "$";
        return;
      }
      if (!in_name_.empty() && (is_name_character(c) || (in_name_.size() == 1 && is_special(c)))) {
        in_name_ += c;
        name_is_quoted_ = is_quoted;
        if (in_name_.size() == 2 && (is_special(c) || is_digit(c))) end_name(is_quoted);
        return;
      }
      end_name(is_quoted);
      add_text(part);
      return;
    }
    if (c == '\'' && in_name_ == "$" && !is_quoted) return add_escaped(part);
    end_name(is_quoted);
    if (c == '\\') {
      if (is_quoted && std::string("$`\"\\\n").find(part[1]) == std::string::npos) add_text("\\");
      if (part[1] != '\n') add_text(part.substr(1));
    } else if (c == '\'') {
      has_word_ = true;
      add_text(part.substr(1, part.size() - 2));
    } else if (c == '"') {
      add_quoted(part.substr(1, part.size() - 2));
      end_name(true);
    } else {
      add_substitution(part, is_quoted);
    }
  }

  // Adds "$'\n'".
  void add_escaped(const std::string& part) {
    in_name_.clear();
    has_word_ = true;
    std::string text;
    for (std::size_t i = 1; i + 1 < part.size(); ++i) {
      const bool is_escape = part[i] == '\\' && i + 2 < part.size();
      const std::size_t which = is_escape ? std::string("nt\\'").find(part[i + 1]) : std::string::npos;
      text += which == std::string::npos ? part[i] : "\n\t\\'"[which];
      if (which != std::string::npos) ++i;
    }
    add_text(text);
  }

  static bool is_special(char c) { return std::string("@*#?-!$").find(c) != std::string::npos; }

  void end_name(bool is_quoted) {
    if (in_name_.empty()) return;
    const std::string name = in_name_.substr(1);
    in_name_.clear();
    if (name.empty())
      add_text("$");
    else
      add_variable(name, "$" + name, is_quoted);
  }

  void add_substitution(const std::string& part, bool is_quoted) {
    if (part.compare(0, 3, "$((") == 0) {
      const auto number = evaluate(part.substr(3, part.size() - 5), variables_, place_);
      number ? add_text(std::to_string(*number)) : add_unknown(part);
    } else if (part.compare(0, 2, "${") == 0) {
      add_braces(part, is_quoted);
    } else {
      add_command(part, is_quoted);
    }
  }

  // Evaluates "$(expr A op B)", and the output of functions, echo, printf, cat and filters. Other commands are not run.
  void add_command(const std::string& part, bool is_quoted) {
    const std::string inside = part.front() == '`' ? part.substr(1, part.size() - 2) : part.substr(2, part.size() - 3);
    if (const auto number = value_of_expr(inside)) return add_text(std::to_string(*number));
    const auto output = variables_.run_command ? variables_.run_command(inside, place_) : std::nullopt;
    if (!output) return add_unknown(part);
    if (!output->unknown.empty() && (output->unknown == output->text || !has_all_unknown(*output)))
      return add_unknown(part);
    if (!splits_ || is_quoted) {
      has_word_ = has_word_ || is_quoted;
      return add_word(*output);
    }
    add_split(*output);
  }

  std::optional<std::int64_t> value_of_expr(const std::string& inside) {
    if (inside.compare(0, 5, "expr ") != 0) return std::nullopt;
    std::vector<Token> tokens;
    try {
      tokens = tokens_of(inside, place_.file);
    } catch (const InputError&) {
      return std::nullopt;
    }
    Value words;
    for (const Token& token : tokens) {
      if (token.kind == Token::Kind::op && token.text != "\n") return std::nullopt;
      if (token.kind != Token::Kind::word) continue;
      Expander inner(variables_, place_, true, is_test_, depth_ + 1);
      inner.add_raw(token.text);
      for (Word& word : inner.finish()) words.push_back(std::move(word));
    }
    if (words.empty() || !first_unknown(words).empty()) return std::nullopt;
    words.erase(words.begin());
    return arithmetic(joined_text(words), variables_, place_);
  }

  // Expands "${NAME}", "${NAME:-8}", "${#ARRAY[@]}", "${ARRAY[@]}", "${ARRAY[2]}", "${NAME%.sh}", "${!NAME}".
  void add_braces(const std::string& part, bool is_quoted) {
    std::string inside = part.substr(2, part.size() - 3);
    const bool is_count = inside.size() > 1 && inside.front() == '#';
    const bool is_indirect = inside.size() > 1 && inside.front() == '!';
    if (is_count || is_indirect) inside.erase(0, 1);
    std::size_t end = inside.compare(0, 1, "@") == 0 || inside.compare(0, 1, "*") == 0 ? 1 : 0;
    while (end < inside.size() && is_name_character(inside[end])) ++end;
    std::string name = inside.substr(0, end), rest = inside.substr(end);
    if (is_indirect) {
      const Value* const target = variables_.find(name);
      const bool is_known = target != nullptr && target->size() == 1 && first_unknown(*target).empty();
      if (!is_known || rest.compare(0, 1, "[") == 0) return add_unknown(part);
      name = target->front().text;
    }
    const bool is_joined = is_quoted && (rest.compare(0, 3, "[*]") == 0 || name == "*");
    const bool is_array = rest.compare(0, 3, "[@]") == 0 || rest.compare(0, 3, "[*]") == 0;
    if (is_array) rest.erase(0, 3);
    if (is_array && variables_.tables.count(name) > 0) return add_unknown(part);  // its order is not known
    const Value* value = variables_.find(name == "*" ? "@" : name);
    Value element;
    if (!rest.empty() && rest.front() == '[') {
      const std::size_t close = rest.find(']');
      const auto found =
          close == std::string::npos ? std::nullopt : element_of(name, rest.substr(1, close - 1), variables_, place_);
      rest.erase(0, close == std::string::npos ? rest.size() : close + 1);
      if (!found && rest.empty()) return add_unknown(part);
      if (found) element = {*found};
      value = found ? &element : nullptr;
      if (rest.empty() && is_count && !found->unknown.empty()) return add_unknown(part);
      if (rest.empty()) return is_count ? add_text(std::to_string(element.front().text.size())) : add_word(*found);
    }
    if (is_count) {
      if (value == nullptr || !rest.empty() || !first_unknown(*value).empty()) return add_unknown(part);
      return add_text(std::to_string(is_array ? value->size() : joined_text(*value).size()));
    }
    if (rest.empty() && is_joined && value != nullptr) return add_joined(*value);
    if (rest.empty()) return name.empty() ? add_unknown(part) : add_variable(name, part, is_quoted, is_array);
    const bool is_alternative = rest.find_first_of("-=+?") == (rest.front() == ':' ? 1 : 0);
    if (is_alternative) return add_alternative(part, name, value, rest, is_quoted);
    if (value == nullptr || !first_unknown(*value).empty()) return add_unknown(part);
    if (is_array || name == "@" || name == "*") return add_slice(part, *value, rest, is_quoted);
    const std::optional<std::string> text = apply_operator(joined_text(*value), rest, variables_, place_);
    text ? add_known(*text) : add_unknown(part);
  }

  // Adds "${ARRAY[@]:1:2}" and "${@:2}". "$0" is not known, so that "${@:0}" is not either.
  void add_slice(const std::string& part, const Value& value, const std::string& rest, bool is_quoted) {
    const bool are_arguments = part.compare(0, 3, "${@") == 0 || part.compare(0, 3, "${*") == 0;
    auto range =
        rest.front() == ':' ? range_of(rest, value.size() + (are_arguments ? 1 : 0), variables_, place_) : std::nullopt;
    if (!range || (are_arguments && range->first == 0)) return add_unknown(part);
    const std::size_t first = range->first - (are_arguments ? 1 : 0);
    const std::size_t last = std::min(value.size(), first + range->second);
    const Value slice(value.begin() + static_cast<std::ptrdiff_t>(std::min(first, last)),
                      value.begin() + static_cast<std::ptrdiff_t>(last));
    if (is_quoted && (part.find("[*]") != std::string::npos || part[2] == '*')) return add_joined(slice);
    is_quoted ? add_array(slice) : add_value(slice, false);
  }

  void add_known(const std::string& text) {
    if (splits_) return add_split({text, "", place_});
    add_text(text);
  }

  // Evaluates defaults and alternatives; other operators make the value unknown.
  void add_alternative(const std::string& part, const std::string& name, const Value* value, std::string rest,
                       bool is_quoted) {
    const bool empty_counts = rest.front() == ':';
    if (empty_counts) rest.erase(0, 1);
    const char op = rest.empty() ? '\0' : rest.front();
    if (std::string("-=+?").find(op) == std::string::npos || op == '\0') return add_unknown(part);
    const bool is_unknown = value != nullptr && !first_unknown(*value).empty();
    const bool is_set = value != nullptr && (!empty_counts || is_unknown || !joined_text(*value).empty());
    if (value == nullptr) variables_.taken_as_unset.insert(name);
    if (op == '?') return is_set ? add_value(*value, is_quoted) : add_unknown(part);
    if (op == '+' ? !is_set : is_set) {
      if (op != '+') add_value(*value, is_quoted);
      return;
    }
    Expander inner(variables_, place_, splits_ && !is_quoted, is_test_, depth_ + 1);
    is_quoted ? inner.add_quoted(rest.substr(1)) : inner.add_raw(rest.substr(1));
    const Value words = inner.finish();
    if (op == '=') variables_.set(name, one_word(words, place_));
    add_value(words, is_quoted);
  }

  void add_variable(const std::string& name, const std::string& written, bool is_quoted, bool is_array = false) {
    const bool is_all = name == "@" || name == "*";
    const Value* value = variables_.find(is_all ? "@" : name);
    if (is_all && value == nullptr) {  // the script's arguments are not known; its reader says so
      has_word_ = has_word_ && !word_.text.empty();
      return;
    }
    if (is_all && is_quoted && name == "*") return add_joined(*value);
    if (is_all) return is_quoted ? add_array(*value) : add_value(*value, false);
    if (value == nullptr && is_test_ && (name == "#" || name == "?")) return add_text("0");
    if (value == nullptr) {
      if (!is_test_) return add_unknown(written);
      variables_.taken_as_unset.insert(name);
      return;
    }
    if (is_array && is_quoted) return add_array(*value);
    if (!is_array && value->size() > 1) return add_value({value->front()}, is_quoted);
    add_value(*value, is_quoted);
  }

  // Adds "${ARRAY[@]}", one word per element.
  void add_array(const Value& value) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) end_word();
      has_word_ = true;
      add_word(value[i]);
    }
    if (value.empty() && word_.text.empty()) has_word_ = false;
  }

  // Adds "${ARRAY[*]}", one word with the first separator between the elements.
  void add_joined(const Value& value) {
    const Value* const given = variables_.find("IFS");
    const std::string between = given != nullptr && given->size() == 1 ? given->front().text.substr(0, 1) : " ";
    has_word_ = true;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) add_text(between);
      add_word(value[i]);
    }
  }

  void add_value(const Value& value, bool is_quoted) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) splits_ && !is_quoted ? end_word() : add_text(" ");
      const Word& word = value[i];
      if (!splits_ || is_quoted) {
        add_word(word);
        continue;
      }
      add_split(word);
    }
  }

  // Whether the text contains its unknown parts: "$NONE", but not "the output of a program".
  bool has_all_unknown(const Word& word) {
    const std::vector<std::string> unknown = lines_in(word.unknown);
    variables_.charge(unknown.size() * word.text.size(), place_);
    return std::all_of(unknown.begin(), unknown.end(),
                       [&](const std::string& part) { return word.text.find(part) != std::string::npos; });
  }

  // Splits an unquoted value at its blanks, except blanks in unknown parts.
  void add_split(const Word& word) {
    if (!has_all_unknown(word)) return add_word(word);
    const std::vector<std::string> unknown = lines_in(word.unknown);
    const auto part_at = [&](std::size_t i) {
      const auto found = std::find_if(unknown.begin(), unknown.end(), [&](const std::string& part) {
        return word.text.compare(i, part.size(), part) == 0;
      });
      return found == unknown.end() ? std::string() : *found;
    };
    std::string known;
    const auto end_known = [&] {
      if (!known.empty()) add_word({known, "", word.place});
      known.clear();
    };
    for (std::size_t i = 0; i < word.text.size();) {
      if (const std::string part = part_at(i); !part.empty()) {
        end_known();
        add_word({part, part, word.place});
        i += part.size();
      } else if (is_separator(word.text[i++])) {
        end_known();
        end_word();
      } else {
        known += word.text[i - 1];
      }
    }
    end_known();
  }

  bool is_separator(char c) const {
    const Value* const given = variables_.find("IFS");
    if (given == nullptr || given->size() != 1) return is_blank(c) || c == '\n';
    return given->front().text.find(c) != std::string::npos;
  }

  void add_word(const Word& word) {
    if (word_.text.empty()) value_place_ = word.place;
    add_text(word.text);
    if (!word.unknown.empty()) variables_.charge(word_.unknown.size() + word.unknown.size(), place_);
    word_.add_unknown(word.unknown);
  }

  void add_unknown(const std::string& written) {
    add_text(written);
    has_word_ = true;
    variables_.charge(word_.unknown.size() + written.size(), place_);
    word_.add_unknown(written);
  }

  void add_text(const std::string& text) {
    variables_.charge(text.size(), place_);
    if (!text.empty()) has_word_ = true;
    word_.text += text;
    if (word_.text.size() > kLongestValue)
      throw InputError(place_.text() + ": a value of more than 256 KiB; simplify the script");
  }

  void end_word() {
    end_name(name_is_quoted_);
    if (!has_word_) return;
    word_.place = value_place_.line > 0 ? value_place_ : place_;
    words_.push_back(std::move(word_));
    word_ = {};
    value_place_ = {};
    has_word_ = false;
  }

  Variables& variables_;
  Place place_;
  bool splits_, is_test_;
  int depth_;
  std::vector<Word> words_;
  Word word_;
  Place value_place_;  // place of the variable's value with which the word begins
  bool has_word_ = false, name_is_quoted_ = false;
  std::string in_name_;
};

}  // namespace

void Word::add_unknown(const std::string& parts) {
  if (parts.empty()) return;
  const std::vector<std::string> listed = lines_in(unknown);
  std::set<std::string> known(listed.begin(), listed.end());
  for (const std::string& part : lines_in(parts))
    if (known.insert(part).second) unknown += (unknown.empty() ? "" : "\n") + part;
}

const Value* Variables::find(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::vector<Word> expand(const std::string& raw, Variables& variables, const Place& place) {
  std::vector<Word> words;
  for (const std::string& one : words_of_braces(raw, variables, place)) {
    Expander expander(variables, place, true, false, 0);
    expander.add_raw(one);
    for (Word& word : expander.finish()) words.push_back(std::move(word));
  }
  return words;
}

Word expand_to_one(const std::string& raw, Variables& variables, const Place& place) {
  Expander expander(variables, place, false, false, 0);
  expander.add_raw(raw);
  return one_word(expander.finish(), place);
}

Word expand_in_test(const std::string& raw, Variables& variables, const Place& place) {
  Expander expander(variables, place, false, true, 0);
  expander.add_raw(raw);
  return one_word(expander.finish(), place);
}

Word expand_body(const std::string& body, Variables& variables, const Place& place) {
  Expander expander(variables, place, false, false, 0);
  expander.add_quoted(body);
  return one_word(expander.finish(), place);
}

}  // namespace lockstep::sim::launch
