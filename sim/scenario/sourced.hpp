#pragma once
// Reads values that may carry their origin.
#include <algorithm>
#include <string>

#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// An object in a copy of its document. Values read from it are checked, but not listed as inputs.
class UnnotedCopy {
 public:
  explicit UnnotedCopy(const JsonNode& node) : document_(node.document()), pointer_(node.pointer()) {}
  JsonNode node() const {
    JsonNode found = document_.root();
    for (std::size_t from = 1; from < pointer_.size();) {
      const std::size_t until = std::min(pointer_.find('/', from), pointer_.size());
      found = found.at(pointer_.substr(from, until - from));
      from = until + 1;
    }
    return found;
  }

 private:
  const JsonDocument document_;
  const std::string pointer_;
};

}  // namespace lockstep::sim::scenario
