#pragma once
#include <string>
#include <vector>

namespace lockstep::sim {

/// The catalogue's entry with an id; nullptr where none has it.
template <class Entry>
const Entry* by_id(const std::vector<Entry>& entries, const std::string& id) {
  for (const Entry& entry : entries)
    if (entry.id == id) return &entry;
  return nullptr;
}

}  // namespace lockstep::sim
