#pragma once
// JSON files that a program writes.
#include <cstdio>
#include <string>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/printing.hpp"

namespace lockstep {

/// Whole or not at all, or on standard output where the path is "-"; a line break at the end. Bytes of names that are not
/// UTF-8 become U+FFFD, so that they do not cost the result. Throws as write_file_atomically() does.
inline void write_json_atomically(const std::string& path, const Json& document, int indent) {
  const std::string text = document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == kStandardOutput)
    std::fputs(text.c_str(), stdout);
  else
    write_file_atomically(path, text);
}

/// A result for people, on standard output unless that has the JSON.
inline void print_result(const std::string& json_path, const std::string& text) {
  if (json_path != kStandardOutput) print(text);
}

}  // namespace lockstep
