#pragma once
// Inside of json.hpp: strict parsing of a JSON text, and JSON pointers (RFC 6901) as lists of keys.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep {

/// Parses with the refusals that JsonDocument::parse() lists; InputError starts with `name`.
Json parse_json(const std::string& text, const std::string& name);

/// "/a/b~1c" -> {"a", "b/c"}; false when the text is no pointer ("" and "/" are the root, other empty keys are
/// refused).
bool split_pointer(const std::string& pointer, std::vector<std::string>& keys);
/// The pointer of a member: ("/a", "b/c") -> "/a/b~1c".
std::string child_pointer(const std::string& parent, const std::string& key);
/// True when `pointer` is `top` or lies below it.
bool is_within(const std::string& pointer, const std::string& top);
/// The member or element; null when there is none.
const Json* child(const Json& parent, const std::string& key);

/// "an object", "a number", ...: for "expected a number, got an object".
std::string kind_of(const Json& value);

}  // namespace lockstep
