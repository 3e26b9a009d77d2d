#pragma once
// Writes structs that list their fields (json_fields.hpp) as one line of JSON, without making a document first: many
// times as fast. fields_from_json() reads it.
#include <charconv>
#include <cmath>
#include <string>

#include "engine/base/json_fields.hpp"

namespace lockstep {

template <class T>
void append_json_text(const T& value, std::string& text) {
  using namespace json_fields;
  if constexpr (HasFields<T>::value) {
    text += '{';
    T::visit_fields(value, [&](const char* name, const auto& field) {
      const auto append = [&](const auto& given) {
        if (text.back() != '{') text += ',';
        text.append("\"").append(name).append("\":");
        append_json_text(given, text);
      };
      if constexpr (!IsOptional<std::decay_t<decltype(field)>>::value)
        append(field);
      else if (field)
        append(*field);
    });
    text += '}';
  } else if constexpr (IsVector<T>::value) {
    text += '[';
    for (const auto& element : value) {
      if (text.back() != '[') text += ',';
      append_json_text(element, text);
    }
    text += ']';
  } else if constexpr (std::is_enum_v<T>) {
    append_json_text(name_of(value), text);
  } else if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    char digits[32];  // of a double, at most 24
    if (std::isfinite(static_cast<double>(value)))
      text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    else
      text += "null";
  } else {
    text += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace lockstep
