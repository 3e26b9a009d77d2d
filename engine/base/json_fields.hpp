#pragma once
// Writes structs that list their fields once to JSON, and reads them:
//
//   struct Interval {
//     double low = 1, high = 1;
//     LOCKSTEP_FIELDS(low, high);
//   };
//
// The macro defines visit_fields(self, visit), which calls visit("low", self.low) and so on. A struct whose keys differ
// from its members' names defines visit_fields itself. A field may be such a struct, an enumeration with names
// (choice.hpp), or a vector or optional of these. An empty optional is not written. A number that is not finite is
// written as null and read as NaN.
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/base/json.hpp"

#define LOCKSTEP_VISIT_FIELD(field) visit(#field, self.field);
#define LOCKSTEP_FIELDS(...)                                                     \
  template <class Self, class Visit>                                             \
  static void visit_fields(Self& self, const Visit& visit) {                     \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(LOCKSTEP_VISIT_FIELD, __VA_ARGS__)) \
  }                                                                              \
  static_assert(true, "takes the semicolon behind the macro")

namespace lockstep {
namespace json_fields {

struct AnyVisit {
  template <class T>
  void operator()(const char*, T&&) const {}
};

template <class T, class = void>
struct HasFields : std::false_type {};
template <class T>
struct HasFields<T, std::void_t<decltype(T::visit_fields(std::declval<T&>(), AnyVisit()))>> : std::true_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

}  // namespace json_fields

template <class T>
Json fields_to_json(const T& value) {
  using namespace json_fields;
  if constexpr (HasFields<T>::value) {
    Json json = Json::object();
    T::visit_fields(value, [&](const char* name, const auto& field) {
      if constexpr (IsOptional<std::decay_t<decltype(field)>>::value) {
        if (field) json[name] = fields_to_json(*field);
      } else {
        json[name] = fields_to_json(field);
      }
    });
    return json;
  } else if constexpr (IsVector<T>::value) {
    Json json = Json::array();
    for (const auto& element : value) json.push_back(fields_to_json(element));
    return json;
  } else if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else {
    return value;
  }
}

/// Throws Json's exceptions and InputError if `json` was not written by fields_to_json().
template <class T>
T fields_from_json(const Json& json) {
  using namespace json_fields;
  if constexpr (HasFields<T>::value) {
    T value;
    T::visit_fields(value, [&](const char* name, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (IsOptional<Field>::value) {
        if (json.contains(name)) field = fields_from_json<typename Field::value_type>(json.at(name));
      } else {
        field = fields_from_json<Field>(json.at(name));
      }
    });
    return value;
  } else if constexpr (IsVector<T>::value) {
    T value;
    for (const Json& element : json) value.push_back(fields_from_json<typename T::value_type>(element));
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return choice_named<T>(json.get<std::string>(), "choice");
  } else if constexpr (std::is_floating_point_v<T>) {
    return json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else {
    return json.get<T>();
  }
}

}  // namespace lockstep
