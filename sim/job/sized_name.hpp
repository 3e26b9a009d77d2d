#pragma once
// Splits a model's name that ends with the length of its sequences: "llama3_8b@4096".
#include <algorithm>
#include <string>

#include "engine/base/text.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::job {

struct SizedName {
  std::string model;
  std::string tokens;  ///< digits; empty: the name gives no length
};

inline SizedName split_sized_name(const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || at + 1 == name.size()) return {name, ""};
  const std::string behind = name.substr(at + 1);
  if (!std::all_of(behind.begin(), behind.end(), is_digit)) return {name, ""};
  return {name.substr(0, at), behind};
}

}  // namespace lockstep::sim::job
