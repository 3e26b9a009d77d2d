#include "engine/base/json_text.hpp"

#include <algorithm>
#include <unordered_set>

#include "engine/base/text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kDeepest = 64;

std::string position(const std::string& text, std::size_t characters_read) {
  const std::size_t end = std::min(characters_read > 0 ? characters_read - 1 : 0, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const std::size_t newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// "[json.exception...] parse error at ...: syntax error while parsing value - invalid literal; last read: 'nan'"
/// becomes "invalid literal". The position is reported separately, and the last token may be long.
std::string short_reason(const std::string& what) {
  const std::size_t dash = what.find(" - ");
  const std::string reason = dash == std::string::npos ? what : what.substr(dash + 3);
  return reason.substr(0, reason.find("; last read: "));
}

/// Builds the value, and refuses duplicate keys and deep nesting, which nlohmann's builder accepts.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(const std::string& text, const std::string& name) : text_(text), name_(name) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON texts
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    if (!level.keys.insert(key).second) fail(pointer(), "duplicate key " + in_quotes(key));
    level.key = key;
    return true;
  }

  bool parse_error(std::size_t characters_read, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const bool overflow = dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr;
    fail(position(text_, characters_read),
         overflow ? "number " + in_quotes(token) + " is out of range" : short_reason(error.what()));
  }

 private:
  struct Level {
    Json* container;  // stays valid: its parent does not change while it is open
    std::unordered_set<std::string> keys;
    std::string key;
  };

  [[noreturn]] void fail(const std::string& place, const std::string& wrong) const {
    throw InputError(one_line(name_ + ": " + place + ": " + wrong));
  }

  /// The pointer of the innermost container that is open.
  std::string pointer() const {
    std::string pointer;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
      const Level& level = levels_[i];
      const bool array = level.container->is_array();
      pointer = child_pointer(pointer, array ? std::to_string(level.container->size() - 1) : level.key);
    }
    return pointer.empty() ? "/" : pointer;
  }

  Json* insert(Json&& value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& container = *levels_.back().container;
    if (container.is_array()) {
      container.push_back(std::move(value));
      return &container.back();
    }
    // Inserts without the ordered map's search, which is quadratic for large objects; key() has checked the key.
    Json::object_t::Container& members = container.get_ref<Json::object_t&>();
    members.emplace_back(levels_.back().key, std::move(value));
    return &members.back().second;
  }

  bool add(Json&& value) {
    insert(std::move(value));
    return true;
  }

  bool open(Json&& container) {
    if (levels_.size() >= kDeepest) fail("/", "nested deeper than " + std::to_string(kDeepest) + " levels");
    Json* const place = insert(std::move(container));
    levels_.push_back({place, {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& text_;
  const std::string& name_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json(const std::string& text, const std::string& name) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) {
    throw InputError(one_line(name) + ": line 1, column 1: byte order mark; allowed: UTF-8 without one");
  }
  const std::size_t nul = text.find('\0');  // nlohmann would stop here and ignore the rest
  if (nul != std::string::npos) throw InputError(one_line(name) + ": " + position(text, nul + 1) + ": NUL byte");
  if (text.empty()) {  // the message of nlohmann's library depends on its version
    throw InputError(one_line(name) + ": line 1, column 1: unexpected end of input; expected '[', '{', or a literal");
  }
  StrictBuilder builder(text, name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

bool split_pointer(const std::string& pointer, std::vector<std::string>& keys) {
  keys.clear();
  if (pointer.empty() || pointer == "/") return true;
  if (pointer[0] != '/') return false;
  keys.emplace_back();
  for (std::size_t i = 1; i < pointer.size(); ++i) {
    const char c = pointer[i];
    if (c == '/') {
      if (keys.back().empty()) return false;
      keys.emplace_back();
    } else if (c == '~') {
      const char code = ++i < pointer.size() ? pointer[i] : ' ';
      if (code != '0' && code != '1') return false;
      keys.back() += code == '0' ? '~' : '/';
    } else {
      keys.back() += c;
    }
  }
  return !keys.back().empty();
}

std::string child_pointer(const std::string& parent, const std::string& key) {
  std::string pointer = parent + '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

bool is_within(const std::string& pointer, const std::string& top) {
  return pointer.compare(0, top.size(), top) == 0 && (pointer.size() == top.size() || pointer[top.size()] == '/');
}

const Json* child(const Json& parent, const std::string& key) {
  if (parent.is_object()) {
    const auto member = parent.find(key);
    return member == parent.end() ? nullptr : &*member;
  }
  const bool digits = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
  if (!parent.is_array() || !digits || (key[0] == '0' && key.size() > 1)) return nullptr;
  const std::size_t index = std::stoul(key);
  return index < parent.size() ? &parent[index] : nullptr;
}

std::string kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

}  // namespace lockstep
