#include "sim/launch/python_list.hpp"

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kMostElements = 10'000;
constexpr int kDeepestList = 16;

struct NoList {};

class ListReader {
 public:
  explicit ListReader(const std::string& text) : text_(text) {}

  std::vector<int> whole() {
    std::vector<int> list = sum();
    if (peek() != '\0') throw NoList();
    return list;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '"' || text_[at_] == '\'')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::vector<int> sum() {
    std::vector<int> list = product();
    while (take('+')) {
      const std::vector<int> more = product();
      list.insert(list.end(), more.begin(), more.end());
      if (list.size() > kMostElements) throw NoList();
    }
    return list;
  }
  std::vector<int> product() {
    std::vector<int> list = part();
    while (take('*')) {
      const int times = number();
      if (list.size() * static_cast<std::size_t>(times) > kMostElements) throw NoList();
      std::vector<int> repeated;
      for (int i = 0; i < times; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
      list = std::move(repeated);
    }
    return list;
  }
  std::vector<int> part() {
    if (++depth_ > kDeepestList) throw NoList();
    std::vector<int> list;
    if (take('(')) {
      list = sum();
      if (!take(')')) throw NoList();
    } else {
      if (!take('[')) throw NoList();
      list.push_back(number());
      while (take(',')) list.push_back(number());
      if (!take(']') || list.size() > kMostElements) throw NoList();
    }
    --depth_;
    return list;
  }
  int number() {
    peek();
    int value = 0;
    std::size_t digits = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++digits) value = 10 * value + (text_[at_++] - '0');
    constexpr std::size_t kMostDigits = 6;
    if (digits == 0 || digits > kMostDigits) throw NoList();
    return value;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::vector<int>> python_list(const std::string& text) {
  constexpr std::size_t kLongest = 100'000;
  if (text.size() > kLongest) return std::nullopt;
  try {
    return ListReader(text).whole();
  } catch (const NoList&) {
    return std::nullopt;
  }
}

}  // namespace lockstep::sim::launch
