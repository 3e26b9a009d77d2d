#pragma once
// Internals of json.hpp: strict parsing of JSON, and JSON pointers (RFC 6901) as lists of keys.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// Parses; refuses the inputs that JsonDocument::load() lists. Messages of InputError start with `name`.
Json parse_json(const std::string& text, const std::string& name);

/// "/a/b~1c" -> {"a", "b/c"}; false if the text is no pointer. "" and "/" are the root; other empty keys are refused.
bool split_pointer(const std::string& pointer, std::vector<std::string>& keys);
/// Adds a key to a pointer: ("/a", "b/c") -> "/a/b~1c".
std::string child_pointer(const std::string& parent, const std::string& key);
/// True when `pointer` is `top` or lies below it.
bool is_within(const std::string& pointer, const std::string& top);
/// Returns the member or element; null if there is none.
const Json* child(const Json& parent, const std::string& key);

/// "an object", "a number", ..., as in "expected a number, got an object".
std::string kind_of(const Json& value);

}  // namespace lockstep
