// Parses a configuration printed by a Python dataclass: "JobConfig(model=Model(name='llama3', layers=None), steps=10)".
#include "sim/launch/python_repr.hpp"

#include <algorithm>

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestRepr = 32;

bool is_of_python_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

class ReprReader {
 public:
  explicit ReprReader(const std::string& text) : text_(text) {}

  std::optional<Json> read() {
    Json value;
    if (!read_value(value, 0)) return std::nullopt;
    skip_blanks();
    return at_ == text_.size() ? std::optional<Json>(value) : std::nullopt;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string take_name() {
    skip_blanks();
    const std::size_t begin = at_;
    while (is_of_python_name(peek()) || (peek() == '-' && at_ == begin) || (peek() == '-' && text_[at_ - 1] == 'e'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool read_value(Json& value, int depth) {
    if (depth > kDeepestRepr) return false;
    skip_blanks();
    if (peek() == '\'' || peek() == '"') return read_text(value);
    if (take('[')) return read_list(value, ']', depth);
    if (take('(')) return read_list(value, ')', depth);
    if (take('{')) return read_members(value, '}', ':', depth);
    if (take('<')) return read_object(value);
    const std::string name = take_name();
    if (name.empty()) return false;
    if (take('(')) return read_members(value, ')', '=', depth);
    value = name == "None"    ? Json()
            : name == "True"  ? Json(true)
            : name == "False" ? Json(false)
                              : number_or_text(name);
    return true;
  }

  static Json number_or_text(const std::string& name) {
    const Json number = Json::parse(name, nullptr, false);
    return number.is_number() ? number : Json(name);
  }

  bool read_text(Json& value) {
    const char quote = text_[at_++];
    std::string text;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      text += text_[at_];
    }
    value = text;
    return take(quote);
  }

  // Reads an object such as "<Enum.NAME: 'value'>".
  bool read_object(Json& value) {
    const std::size_t end = text_.find('>', at_);
    if (end == std::string::npos) return false;
    value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool read_list(Json& value, char close, int depth) {
    value = Json::array();
    while (!take(close)) {
      Json item;
      if (!read_value(item, depth + 1)) return false;
      value.push_back(item);
      if (!take(',') && peek() != close) return false;
    }
    return true;
  }

  bool read_members(Json& value, char close, char mark, int depth) {
    value = Json::object();
    while (!take(close)) {
      Json key, member;
      skip_blanks();
      if (peek() == '\'' || peek() == '"') {
        if (!read_text(key)) return false;
      } else {
        key = take_name();
      }
      if (key.get<std::string>().empty() || !take(mark) || !read_value(member, depth + 1)) return false;
      value[key.get<std::string>()] = member;
      if (!take(',') && peek() != close) return false;
    }
    return true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_python_repr(const std::string& text) {
  std::size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string::npos || text[at] < 'A' || text[at] > 'Z') return false;
  while (at < text.size() && is_of_python_name(text[at])) ++at;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return at < text.size() && text[at] == '(' && text[last] == ')' && text.find('=', at) != std::string::npos;
}

std::optional<Json> tree_of_python_repr(const std::string& text) {
  return ReprReader(text).read();
}

}  // namespace lockstep::sim::launch
