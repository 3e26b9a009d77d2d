#pragma once
// Writes structs that list their fields (json_fields.hpp) to bytes, and reads them in a process of the same program.
// Numbers have the machine's own form; texts, lists and JSON begin with their length (4 bytes).
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/base/json_fields.hpp"

namespace lockstep {

template <class T>
void append_bytes(const T& value, std::string& bytes) {
  using namespace json_fields;
  const auto append_length = [&](std::size_t length) { append_bytes(static_cast<std::uint32_t>(length), bytes); };
  if constexpr (HasFields<T>::value) {
    T::visit_fields(value, [&](const char*, const auto& field) { append_bytes(field, bytes); });
  } else if constexpr (std::is_same_v<T, std::string>) {
    append_length(value.size());
    bytes += value;
  } else if constexpr (std::is_same_v<T, Json>) {
    append_bytes(value.is_null() ? std::string() : value.dump(), bytes);
  } else if constexpr (IsVector<T>::value) {
    append_length(value.size());
    for (const auto& element : value) append_bytes(element, bytes);
  } else if constexpr (IsOptional<T>::value) {
    append_bytes(value.has_value(), bytes);
    if (value) append_bytes(*value, bytes);
  } else if constexpr (std::is_floating_point_v<T>) {
    const T number = std::isfinite(value) ? value : std::numeric_limits<T>::quiet_NaN();  // as json_fields.hpp
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

/// Reads fields one after the other.
class FieldBytes {
 public:
  explicit FieldBytes(std::string_view bytes) : bytes_(bytes) {}

  /// Throws std::runtime_error if the bytes end before the value does.
  template <class T>
  void read(T& value) {
    using namespace json_fields;
    if constexpr (HasFields<T>::value) {
      T::visit_fields(value, [&](const char*, auto& field) { read(field); });
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = std::string(take(length()));
    } else if constexpr (std::is_same_v<T, Json>) {
      const std::string_view text = take(length());
      value = text.empty() ? Json() : Json::parse(text);
    } else if constexpr (IsVector<T>::value) {
      value.clear();
      for (std::uint32_t left = length(); left > 0; --left) read(value.emplace_back());
    } else if constexpr (IsOptional<T>::value) {
      bool has_value = false;
      read(has_value);
      value.reset();
      if (has_value) read(value.emplace());
    } else {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    }
  }

 private:
  std::uint32_t length() {
    std::uint32_t length = 0;
    read(length);
    return length;
  }
  std::string_view take(std::size_t length) {
    if (length > bytes_.size()) throw std::runtime_error("bytes of a struct end early");
    const std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return taken;
  }

  std::string_view bytes_;
};

}  // namespace lockstep
