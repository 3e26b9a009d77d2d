#pragma once
// The project's JSON formats, so that a reader that is given a file of another one names it and the command that reads it.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// "this is a plan; allowed: plan FILE" for a document of a format whose keys are not all among `known`, those of the reader
/// that got it. Tells a format by "schema", else by keys that no other format has. Empty: none of them, or the reader's own.
std::string describe_other_format(const Json& document, const std::string& file, const std::vector<std::string>& known);

/// Throws InputError if the file is a JSON object of one of the formats: for readers of other files. A pipe, which can be read
/// only once, is not looked into.
void refuse_known_format(const std::string& file);

}  // namespace lockstep
