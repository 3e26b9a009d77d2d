#pragma once
// Recognises the project's JSON formats. If a reader is given a file of another format, its error names that format and
// the command that reads it.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// Returns "this is a plan; allowed: plan FILE" if the document has another of the project's formats. The format is recognised by
/// "schema", else by its keys. Returns "" if no format matches, or if `known`, the reader's keys, contains the keys by which
/// that format is recognised.
std::string describe_other_format(const Json& document, const std::string& file, const std::vector<std::string>& known);

/// Throws InputError if the file is a JSON object of one of the project's formats. For readers of foreign formats. A
/// pipe is not inspected, because it can be read only once.
void refuse_known_format(const std::string& file);

}  // namespace lockstep
