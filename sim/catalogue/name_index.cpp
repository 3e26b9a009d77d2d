#include "sim/catalogue/name_index.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/edit_distance.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

constexpr std::size_t kLongestName = 100;  // characters that are compared for the nearest names: no name is longer

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

std::optional<std::size_t> NameIndex::add(const std::string& name, std::size_t entry) {
  const std::string plain = plain_name(name);
  const auto [place, is_new] = entries_.emplace(plain, entry);
  if (is_new) names_.emplace_back(plain, entry);
  if (place->second != entry) return place->second;
  return std::nullopt;
}

std::optional<std::size_t> NameIndex::find(const std::string& name) const {
  const auto found = entries_.find(plain_name(name));
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::size_t> NameIndex::nearest(const std::string& name, std::size_t count) const {
  const std::string plain = plain_name(name.substr(0, kLongestName));
  std::vector<std::pair<std::size_t, std::size_t>> by_distance;  // distance, entry
  for (const auto& [known, entry] : names_) {
    const std::size_t distance = edit_distance(plain, known), which = entry;
    const auto same =
        std::find_if(by_distance.begin(), by_distance.end(), [&](const auto& other) { return other.second == which; });
    if (same == by_distance.end())
      by_distance.emplace_back(distance, which);
    else
      same->first = std::min(same->first, distance);
  }
  std::stable_sort(by_distance.begin(), by_distance.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> entries;
  for (std::size_t i = 0; i < by_distance.size() && i < count; ++i) entries.push_back(by_distance[i].second);
  return entries;
}

}  // namespace catalogue
}  // namespace lockstep::sim
