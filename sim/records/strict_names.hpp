#pragma once
// Names of explicit keys: an id or an alias of the catalogue, matched whole; case, blanks and hyphens aside.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sim/records/names.hpp"

namespace lockstep::sim {

template <class Entry>
auto aliases_of(const Entry& entry) -> decltype(entry.aliases) {
  return entry.aliases;
}

inline const std::vector<std::string>& aliases_of(const StackEntry& entry) {
  return entry.keywords;
}

/// nullptr: no entry has that name.
template <class Entry>
const Entry* entry_named(const std::vector<Entry>& entries, const std::string& name) {
  if (name.empty()) return nullptr;
  for (const Entry& entry : entries)
    if (entry.id == name) return &entry;
  const std::string wanted = squeezed(name);
  for (const Entry& entry : entries) {
    if (squeezed(entry.id) == wanted) return &entry;
    for (const std::string& alias : aliases_of(entry))
      if (squeezed(alias) == wanted) return &entry;
  }
  return nullptr;
}

/// Letters to insert, delete or replace (Levenshtein 1966).
inline std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The three ids nearest to a name that is none.
template <class Entry>
std::vector<std::string> nearest_names(const std::vector<Entry>& entries, const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> ids;
  for (const Entry& entry : entries) ids.emplace_back(edits_between(squeezed(name), squeezed(entry.id)), entry.id);
  std::stable_sort(ids.begin(), ids.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ids.size() && i < 3; ++i) names.push_back(ids[i].second);
  return names;
}

}  // namespace lockstep::sim
