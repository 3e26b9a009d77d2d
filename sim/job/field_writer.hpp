#pragma once
// Writes the facts that differ from their defaults, by their keys: a visitor of tables of fields (job_fields.hpp).
#include <type_traits>

#include "engine/base/choice.hpp"
#include "sim/job/job_fields.hpp"

namespace lockstep::sim::job {

class FieldWriter {
 public:
  template <class Field>
  void operator()(const FieldName& name, const Field& field, const Field& otherwise, Range = {}) {
    write(name.key, field, otherwise);
  }
  Json json = Json::object();

 private:
  void write(const char* key, const NamedFact& field, const NamedFact&) {
    if (!field.id.empty() || !field.stated.empty()) json[key] = field.id.empty() ? field.stated : field.id;
  }
  void write(const char* key, const NetworkStated& field, const NetworkStated&);
  template <class E>
  std::enable_if_t<std::is_enum_v<E>> write(const char* key, E field, E otherwise) {
    if (field != otherwise) json[key] = name_of(field);
  }
  template <class Value>
  void write(const char* key, const std::optional<Value>& field, const std::optional<Value>&) {
    if (!field) return;
    if constexpr (std::is_enum_v<Value>)
      json[key] = name_of(*field);
    else
      json[key] = *field;
  }
  template <class Value>
  std::enable_if_t<!std::is_enum_v<Value>> write(const char* key, const Value& field, const Value& otherwise) {
    if (field == otherwise) return;
    if constexpr (std::is_same_v<Value, double>)
      json[key] = plain_number(field);
    else
      json[key] = field;
  }
  // Writes 4096, not 4096.0.
  static Json plain_number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
  }
};

}  // namespace lockstep::sim::job
