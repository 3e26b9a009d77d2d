#pragma once
// The part of ObjectFormat that does not depend on the object's type, so that it is compiled once. Members are
// identified by their offset in the object; only ObjectFormat, which knows the type, computes offsets.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/base/json.hpp"

namespace lockstep {

/// The properties of a field that documentation, schema and error messages show.
struct FieldText {
  std::string key;
  std::string type;     ///< "time, **S**": **S** marks values that may carry their origin
  std::string range;    ///< allowed values, for the documentation
  std::string meaning;  ///< a sentence or more, Markdown
  bool is_required = true;
  Json otherwise;                ///< the default, with its origin if it has one; null: none
  std::string left_out;          ///< the meaning of an absent optional field
  Json schema = Json::object();  ///< JSON Schema 2020-12 of the value
  /// For a field that is an object: fills the defaults of its absent fields, recursively. Empty for a plain value.
  std::function<void(JsonDocument&, const std::string& pointer)> complete{};
  /// For an object or a list of objects: returns the fields of that object.
  std::function<std::vector<const FieldText*>()> inner{};
  /// Whether the default (or an empty object) is added to `holder`, the object that lacks the field. Empty: it is added
  /// if there is a default.
  std::function<bool(const Json& holder)> is_needed{};
};

namespace format_text {
std::string shortest(double value);
/// "1 to 64"
std::string range_of(Range range);
/// Writes the range of a quantity in readable units: "1 kB/s to 100 TB/s".
std::string range_of(Range range, Dimension dimension);
Json schema_of(Range range);
Json schema_of(Dimension dimension);
Json schema_of_text();
Json schema_of_boolean();
Json schema_of_names(const std::vector<std::string>& names);
Json schema_of_whole(std::int64_t low, std::int64_t high);
Json schema_of_list(const Json& items);
/// The schema of a value that is plain or {"value", "kind", "source"}.
Json schema_of_sourced(const Json& plain);
/// {"value": value, "kind": "assumed", "source": source}
Json assumed(const Json& value, const std::string& source);
/// "fp32 fp16", each name in Markdown code.
std::string names(const std::vector<std::string>& names);
/// The Markdown table of a format's fields; `prefix` is put before every key ("ddp/").
std::string table(const std::vector<const FieldText*>& fields, const std::string& prefix, bool with_inner);
int whole(const JsonNode& node, double low, double high);
}  // namespace format_text

/// Writes the quantity in the unit that gives the shortest text that reads back as exactly `si`.
std::string quantity_text(double si, Dimension dimension);

/// The offset of a member of type M in an object.
template <class M>
struct MemberPlace {
  std::ptrdiff_t offset_bytes = 0;

  M& of(void* object) const { return *reinterpret_cast<M*>(static_cast<char*>(object) + offset_bytes); }
  const M& of(const void* object) const {
    return *reinterpret_cast<const M*>(static_cast<const char*>(object) + offset_bytes);
  }
};

/// Copies share one format, because fields that are objects hold the format of that object. Each `void*` object must
/// have the type for which the format was made.
class AnyFormat {
 public:
  struct Field : FieldText {
    std::function<void(const JsonNode&, void* object)> read;
    std::function<Json(const void* object)> write;      ///< returns null if the field is not to be written
    std::function<bool(const void* object)> is_unsaid;  ///< for an optional field: true if it is as in a new object
  };
  using Check = std::function<void(const JsonNode&, void* object)>;

  /// `fresh` points to a new object, which must outlive the format.
  AnyFormat(std::string what, const void* fresh);

  const std::string& what() const;
  std::vector<std::string> keys() const;
  std::vector<const FieldText*> texts() const;
  Json schema() const;
  /// The table in Markdown; with `with_inner`, the fields of inner objects follow their object.
  std::string table(const std::string& prefix = "", bool with_inner = true) const;
  /// Fills the defaults of fields that the object at `pointer` lacks.
  void complete(JsonDocument& document, const std::string& pointer) const;

  void read_any(const JsonNode& node, void* object) const;
  void read_some_of_any(const JsonNode& node, void* object,
                        const std::function<bool(const std::string& key)>& is_read) const;
  Json write_any(const void* object) const;
  /// Reads one field from `node`, its value. Throws InputError; std::logic_error if the format has no such key.
  void read_value_of_any(const std::string& key, const JsonNode& node, void* object) const;
  Json write_value_of_any(const std::string& key, const void* object) const;
  const FieldText& text_of(const std::string& key) const;

 protected:
  Field& add(const std::string& key, const std::string& type, const std::string& range, const Json& schema);
  void add_check(const Check& check);
  /// Adds the fields and checks of `other`, the format of the member at `offset_bytes`.
  void add_all(const AnyFormat& other, std::ptrdiff_t offset_bytes);

  Field& add_text(const std::string& key, MemberPlace<std::string> place);
  Field& add_boolean(const std::string& key, MemberPlace<bool> place);
  Field& add_either(const std::string& key, MemberPlace<bool> place, const std::string& no, const std::string& yes);
  Field& add_sourced_whole(const std::string& key, MemberPlace<int> place, int low, int high);
  Field& add_number(const std::string& key, MemberPlace<double> place, Range range);
  Field& add_number(const std::string& key, MemberPlace<std::optional<double>> place, Range range);
  /// Adds an inner object, the member at `offset_bytes`. With offset 0, the inner keys set members of this object
  /// itself.
  Field& add_object(const std::string& key, std::ptrdiff_t offset_bytes, const AnyFormat& format);

  template <class E>
  Field& add_choice(const std::string& key, MemberPlace<E> place) {
    Field& field = add_names(key, choice_names<E>());
    for (const Choice<E>& one : choices_of(E()))
      for (const std::string& alias : one.aliases) field.schema["enum"].push_back(alias);
    field.read = [place](const JsonNode& node, void* object) { place.of(object) = read_choice<E>(node); };
    field.write = [place](const void* object) { return Json(name_of(place.of(object))); };
    field.is_unsaid = as_in_new(place);
    return field;
  }
  template <class E>
  Field& add_choice(const std::string& key, MemberPlace<std::optional<E>> place) {
    Field& field = add_names(key, choice_names<E>());
    field.read = [place](const JsonNode& node, void* object) { place.of(object) = read_choice<E>(node); };
    field.write = [place](const void* object) { return place.of(object) ? Json(name_of(*place.of(object))) : Json(); };
    field.is_required = false;
    return field;
  }
  template <class I>
  Field& add_whole(const std::string& key, MemberPlace<I> place, std::int64_t low, std::int64_t high) {
    Field& field =
        add(key, "whole", std::to_string(low) + " to " + std::to_string(high), format_text::schema_of_whole(low, high));
    field.read = [=](const JsonNode& node, void* object) {
      place.of(object) = static_cast<I>(node.integer(low, high));
    };
    set_plain(field, place);
    return field;
  }
  template <class N>
  Field& add_quantity(const std::string& key, MemberPlace<N> place, Dimension dimension, Range range) {
    Field& field = add_quantity_text(key, dimension, range);
    field.read = [=](const JsonNode& node, void* object) {
      place.of(object) = static_cast<N>(node.sourced_quantity(dimension, range));
    };
    field.write = [=](const void* object) {
      return Json(quantity_text(static_cast<double>(place.of(object)), dimension));
    };
    field.is_unsaid = as_in_new(place);
    return field;
  }
  template <class M>
  Field& add_optional_object(const std::string& key, MemberPlace<std::optional<M>> place, const AnyFormat& format) {
    Field& field = add_nested(key, format);
    field.read = [=](const JsonNode& node, void* object) { format.read_any(node, &place.of(object).emplace()); };
    field.write = [=](const void* object) { return place.of(object) ? format.write_any(&*place.of(object)) : Json(); };
    field.is_required = false;
    return field;
  }
  template <class M>
  Field& add_list(const std::string& key, MemberPlace<std::vector<M>> place, const AnyFormat& format) {
    Field& field = add(key, "array of objects", "", format_text::schema_of_list(format.schema()));
    field.read = [=](const JsonNode& node, void* object) {
      for (const JsonNode& item : node.items()) format.read_any(item, &place.of(object).emplace_back());
    };
    field.write = [=](const void* object) {
      Json list = Json::array();
      for (const M& one : place.of(object)) list.push_back(format.write_any(&one));
      return list;
    };
    field.is_unsaid = [place](const void* object) { return place.of(object).empty(); };
    field.inner = [format] { return format.texts(); };
    return field;
  }

 private:
  struct State;

  const void* fresh() const;
  const Field& field_of(const std::string& key) const;
  Field& add_names(const std::string& key, const std::vector<std::string>& names);
  Field& add_quantity_text(const std::string& key, Dimension dimension, Range range);
  Field& add_nested(const std::string& key, const AnyFormat& format);
  template <class M>
  std::function<bool(const void*)> as_in_new(MemberPlace<M> place) const {
    return [place, fresh = fresh()](const void* object) { return place.of(object) == place.of(fresh); };
  }
  // For a value that JSON can hold without conversion.
  template <class M>
  void set_plain(Field& field, MemberPlace<M> place) const {
    field.write = [place](const void* object) { return Json(place.of(object)); };
    field.is_unsaid = as_in_new(place);
  }

  std::shared_ptr<State> state_;
};

}  // namespace lockstep
