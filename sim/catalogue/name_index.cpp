#include "sim/catalogue/name_index.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "engine/base/edit_distance.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

constexpr std::size_t kLettersOfSlip = 3;  // one wrong character in each three counts as a typing error
constexpr std::size_t kLongestName = 100;  // characters compared for the nearest names; no name is longer

bool is_separator(char c) {
  return std::string(" \t-_/.()").find(c) != std::string::npos;
}

}  // namespace

std::string plain_name(const std::string& name) {
  std::string plain;
  bool is_apart = false;
  for (const char c : lower_case(name)) {
    if (is_separator(c)) {
      is_apart = true;
      continue;
    }
    if (is_apart && !plain.empty() && is_digit(c) && is_digit(plain.back())) plain += '_';
    plain += c;
    is_apart = false;
  }
  return plain;
}

std::string name_family(const std::string& name) {
  static const std::set<std::string> makers{"nvidia", "tesla", "geforce", "quadro", "dgx", "hgx"};
  const std::string small = lower_case(name.substr(0, kLongestName));
  std::string family;
  for (std::size_t at = 0; at < small.size();) {
    std::size_t end = at;
    while (end < small.size() && std::isalpha(static_cast<unsigned char>(small[end])) != 0) ++end;
    if (end > at) family = small.substr(at, end - at);
    const bool goes_on = end == at ? is_separator(small[at]) : makers.count(family) > 0;
    if (!goes_on) break;
    at = std::max(end, at + 1);
  }
  return family;
}

std::optional<std::size_t> NameIndex::add(const std::string& name, std::size_t entry) {
  const std::string plain = plain_name(name);
  const auto [place, is_new] = entries_.emplace(plain, entry);
  if (is_new) names_.push_back({plain, name_family(name), entry});
  if (place->second != entry) return place->second;
  return std::nullopt;
}

std::optional<std::size_t> NameIndex::find(const std::string& name) const {
  const auto found = entries_.find(plain_name(name));
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::size_t> NameIndex::nearest(const std::string& name, std::size_t count) const {
  struct Likeness {
    bool is_other_family;
    std::size_t distance, entry;
    bool operator<(const Likeness& o) const {
      return std::tie(is_other_family, distance) < std::tie(o.is_other_family, o.distance);
    }
  };
  const std::string plain = plain_name(name.substr(0, kLongestName)), family = name_family(name);
  std::vector<Likeness> all;
  for (const Name& known : names_) {
    const Likeness is{family.empty() || known.family != family, edit_distance(plain, known.plain), known.entry};
    if (is.is_other_family && is.distance > std::max<std::size_t>(1, plain.size() / kLettersOfSlip)) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Likeness& o) { return o.entry == known.entry; });
    if (same == all.end())
      all.push_back(is);
    else
      *same = std::min(*same, is);
  }
  std::stable_sort(all.begin(), all.end());
  std::vector<std::size_t> entries;
  for (std::size_t i = 0; i < all.size() && i < count; ++i) entries.push_back(all[i].entry);
  return entries;
}

}  // namespace catalogue
}  // namespace lockstep::sim
