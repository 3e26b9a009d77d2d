#pragma once
// Schemas of values that may be a file's name.
#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

inline Json file_schema() {
  return {{"type", "string"}, {"pattern", "\\.json$"}};
}

/// A path ending in .json, or an object of a schema of its own.
inline Json file_or_object_schema() {
  return {{"anyOf", Json::array({file_schema(), {{"type", "object"}}})}};
}

/// Makes the schema of a path ending in .json, or of an object with the schema `object`.
inline Json file_or_object_schema(const Json& object) {
  return {{"anyOf", Json::array({file_schema(), object})}};
}

/// Adds "$schema": the JSON Schema with which an editor may check the file. It has no effect here.
template <class T>
void add_schema_link(ObjectFormat<T>& format) {
  auto field = format.custom("$schema", "text", "", {{"type", "string"}});
  field.optional("none").means("the JSON Schema that an editor checks the file by; no effect");
  field.reads([](const JsonNode& node, T&) { node.text(); });
  field.writes([](const T&) { return Json(); });
}

}  // namespace lockstep::sim::scenario
