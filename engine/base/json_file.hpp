#pragma once
// JSON files that a program writes.
#include <cstdio>
#include <string>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/printing.hpp"

namespace lockstep {

/// Writes a whole file or none; to standard output if the path is "-". Ends with a line break. Replaces bytes that are
/// not UTF-8 by U+FFFD, so that a bad name does not cost the result. Throws as write_file_atomically() does.
inline void write_json_atomically(const std::string& path, const Json& document, int indent) {
  const std::string text = document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == kStandardOutput)
    std::fputs(text.c_str(), stdout);
  else
    write_file_atomically(path, text);
}

/// Prints a result for people, unless the JSON goes to standard output.
inline void print_result(const std::string& json_path, const std::string& text) {
  if (json_path != kStandardOutput) print(text);
}

}  // namespace lockstep
