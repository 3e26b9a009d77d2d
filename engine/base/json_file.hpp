#pragma once
// JSON files that a program writes.
#include <string>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"

namespace lockstep {

/// Whole or not at all, a line break at the end. Bytes of names that are not UTF-8 become U+FFFD, so that they do not
/// cost the result. Throws as write_file_atomically() does.
inline void write_json_atomically(const std::string& path, const Json& document, int indent) {
  write_file_atomically(path, document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace lockstep
