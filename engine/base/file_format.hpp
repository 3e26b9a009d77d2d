#pragma once
// The project's JSON formats, so that a reader that is given a file of another one names it and the command that reads it.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// Returns "this is a plan; allowed: plan FILE" if the document has another of the project's formats. The format is recognised by
/// "schema", else by its keys. Returns "" if no format matches, or if `known`, the reader's keys, contains the keys by which
/// that format is recognised.
std::string describe_other_format(const Json& document, const std::string& file, const std::vector<std::string>& known);

/// Throws InputError if the file is a JSON object of one of the formats: for readers of other files. A pipe, which can be read
/// only once, is not looked into.
void refuse_known_format(const std::string& file);

}  // namespace lockstep
