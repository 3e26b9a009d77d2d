#pragma once
// What a JSON object of the project's files may hold, said once: from one description come the reading with its checks,
// the writing, the defaults, the table in the format's documentation and the JSON Schema.
//
//   ObjectFormat<LinkSpec> format("link");
//   format.quantity("bandwidth", &LinkSpec::bandwidth_bytes_per_s, Dimension::bandwidth, {1e3, 1e14}).means("...");
//
// Fields are required unless otherwise() gives a default, which is filled into the document before it is read, or
// optional() says that they may be left out. An optional field is written where it differs from a new T's. Reading goes
// by the order of the fields, and every error is that of JsonNode.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/base/json.hpp"

namespace lockstep {

/// The parts of a field that do not depend on the object's type.
struct FieldText {
  std::string key;
  std::string type;     ///< "time, **S**": **S** marks values that may carry their origin
  std::string range;    ///< what is allowed, for the documentation
  std::string meaning;  ///< a sentence or more, Markdown
  bool is_required = true;
  Json otherwise;                ///< the default, with its origin where it has one; null: none
  std::string left_out;          ///< what it means that an optional field is left out
  Json schema = Json::object();  ///< of the value, JSON Schema 2020-12
  /// Of an object: adds what it leaves out, recursively, at a pointer. Empty: a plain value.
  std::function<void(JsonDocument&, const std::string& pointer)> complete{};
  /// Of an object, or of the objects of a list: its fields.
  std::function<std::vector<const FieldText*>()> inner{};
  /// Of what is added, a default or an object without one, going by the object that holds it.
  std::function<bool(const Json& holder)> is_needed{};

  FieldText();
  FieldText(const FieldText& other);
  FieldText& operator=(const FieldText& other);
  ~FieldText();
};

namespace format_text {
std::string shortest(double value);
/// "1 to 64"
std::string range_of(Range range);
/// The same of quantities, in readable units: "1 kB/s to 100 TB/s".
std::string range_of(Range range, Dimension dimension);
Json schema_of(Range range);
Json schema_of(Dimension dimension);
Json schema_of_text();
Json schema_of_boolean();
Json schema_of_names(const std::vector<std::string>& names);
Json schema_of_whole(std::int64_t low, std::int64_t high);
Json schema_of_list(const Json& items);
/// Plain, or {"value", "kind", "source"}.
Json sourced(const Json& plain);
/// {"value": value, "kind": "assumed", "source": source}
Json assumed(const Json& value, const std::string& source);
/// "fp32 fp16", in code.
std::string names(const std::vector<std::string>& names);
/// The table of a format's fields; `prefix` stands before every key ("ddp/").
std::string table(const std::vector<const FieldText*>& fields, const std::string& prefix, bool with_inner);
Json object_schema(const std::vector<const FieldText*>& fields, const std::string& what);
void complete(JsonDocument& document, const std::string& pointer, const std::vector<const FieldText*>& fields);
int whole(const JsonNode& node, double low, double high);
}  // namespace format_text

/// A quantity in the unit that gives the shortest text which reads back as exactly the same number.
std::string quantity_text(double si, Dimension dimension);

template <class T>
class ObjectFormat {
 public:
  class Field : public FieldText {
   public:
    Field& means(const std::string& text) {
      meaning = text;
      return *this;
    }
    /// `value` is filled in where the field is left out.
    Field& otherwise(const Json& value) {
      FieldText::otherwise = value;
      return *this;
    }
    /// The same, listed as an assumption.
    Field& assumed(const Json& value, const std::string& source) {
      return otherwise(format_text::assumed(value, source));
    }
    Field& optional(const std::string& meaning_of_absence = "") {
      is_required = false;
      left_out = meaning_of_absence;
      return *this;
    }
    /// An object with its defaults, or a default, that is added where `needed` says so of the object that holds it.
    Field& needed_where(const std::function<bool(const Json&)>& needed) {
      is_required = false;
      is_needed = needed;
      return *this;
    }
    std::function<void(const JsonNode&, T&)> read;
    std::function<Json(const T&)> write;      ///< null is left out
    std::function<bool(const T&)> is_unsaid;  ///< of an optional field: as in a new T
  };

  explicit ObjectFormat(std::string what) : what_(std::move(what)) {}

  Field& text(const std::string& key, std::string T::*member) {
    Field& field = plain(key, "text", "", format_text::schema_of_text(), member);
    field.read = [member](const JsonNode& node, T& object) { object.*member = node.text(); };
    return field;
  }
  Field& boolean(const std::string& key, bool T::*member) {
    Field& field = plain(key, "boolean", "", format_text::schema_of_boolean(), member);
    field.read = [member](const JsonNode& node, T& object) { object.*member = node.boolean(); };
    return field;
  }
  /// A boolean of the program with names for its two values.
  Field& either(const std::string& key, bool T::*member, const std::string& no, const std::string& yes) {
    Field& field = plain(key, "text", format_text::names({no, yes}), format_text::schema_of_names({no, yes}), member);
    field.read = [=](const JsonNode& node, T& object) { object.*member = node.choice({no, yes}) == yes; };
    field.write = [=](const T& object) { return Json(object.*member ? yes : no); };
    return field;
  }
  template <class E>
  Field& choice(const std::string& key, E T::*member) {
    Field& field = plain(key, "text", format_text::names(choice_names<E>()),
                         format_text::schema_of_names(choice_names<E>()), member);
    for (const Choice<E>& one : choices_of(E()))
      for (const std::string& alias : one.aliases) field.schema["enum"].push_back(alias);
    field.read = [member](const JsonNode& node, T& object) { object.*member = read_choice<E>(node); };
    field.write = [member](const T& object) { return Json(name_of(object.*member)); };
    return field;
  }
  template <class E>
  Field& choice(const std::string& key, std::optional<E> T::*member) {
    Field& field =
        add(key, "text", format_text::names(choice_names<E>()), format_text::schema_of_names(choice_names<E>()));
    field.read = [member](const JsonNode& node, T& object) { object.*member = read_choice<E>(node); };
    field.write = [member](const T& object) { return object.*member ? Json(name_of(*(object.*member))) : Json(); };
    field.is_required = false;
    return field;
  }
  /// A whole number, plain. `I`: int or a wider integer.
  template <class I>
  Field& whole(const std::string& key, I T::*member, std::int64_t low, std::int64_t high) {
    Field& field = plain(key, "whole", std::to_string(low) + " to " + std::to_string(high),
                         format_text::schema_of_whole(low, high), member);
    field.read = [=](const JsonNode& node, T& object) { object.*member = static_cast<I>(node.integer(low, high)); };
    return field;
  }
  /// The same, which may carry its origin.
  Field& sourced_whole(const std::string& key, int T::*member, int low, int high) {
    Field& field = plain(key, "whole, **S**", std::to_string(low) + " to " + std::to_string(high),
                         format_text::sourced(format_text::schema_of_whole(low, high)), member);
    field.read = [=](const JsonNode& node, T& object) { object.*member = format_text::whole(node, low, high); };
    return field;
  }
  Field& number(const std::string& key, double T::*member, Range range) {
    Field& field = plain(key, "number, **S**", format_text::range_of(range),
                         format_text::sourced(format_text::schema_of(range)), member);
    field.read = [=](const JsonNode& node, T& object) { object.*member = node.sourced_number(range); };
    return field;
  }
  Field& number(const std::string& key, std::optional<double> T::*member, Range range) {
    Field& field =
        add(key, "number, **S**", format_text::range_of(range), format_text::sourced(format_text::schema_of(range)));
    field.read = [=](const JsonNode& node, T& object) { object.*member = node.sourced_number(range); };
    field.write = [=](const T& object) { return object.*member ? Json(*(object.*member)) : Json(); };
    field.is_required = false;
    return field;
  }
  /// A quantity with its unit. `N`: double, or a whole number of bytes.
  template <class N>
  Field& quantity(const std::string& key, N T::*member, Dimension dimension, Range range) {
    Field& field = plain(key, dimension_name(dimension) + ", **S**", format_text::range_of(range, dimension),
                         format_text::sourced(format_text::schema_of(dimension)), member);
    field.read = [=](const JsonNode& node, T& object) {
      object.*member = static_cast<N>(node.sourced_quantity(dimension, range));
    };
    field.write = [=](const T& object) { return Json(quantity_text(static_cast<double>(object.*member), dimension)); };
    return field;
  }
  /// An object inside. What it leaves out is filled in by its own format.
  template <class M>
  Field& object(const std::string& key, M T::*member, const ObjectFormat<M>& format) {
    Field& field = nested(key, format);
    field.read = [=](const JsonNode& node, T& object) { format.read(node, object.*member); };
    field.write = [=](const T& object) { return format.write(object.*member); };
    field.is_unsaid = [=](const T& object) { return format.write(object.*member) == format.write(M()); };
    return field;
  }
  template <class M>
  Field& object(const std::string& key, std::optional<M> T::*member, const ObjectFormat<M>& format) {
    Field& field = nested(key, format);
    field.read = [=](const JsonNode& node, T& object) { format.read(node, (object.*member).emplace()); };
    field.write = [=](const T& object) { return object.*member ? format.write(*(object.*member)) : Json(); };
    field.is_required = false;
    return field;
  }
  /// Keys of an object inside that are members of this one: {"first": {"second": value}}.
  Field& group(const std::string& key, const ObjectFormat<T>& format) {
    Field& field = nested(key, format);
    field.read = [=](const JsonNode& node, T& object) { format.read(node, object); };
    field.write = [=](const T& object) { return format.write(object); };
    field.is_unsaid = [=](const T& object) { return format.write(object) == format.write(T()); };
    return field;
  }
  template <class M>
  Field& list(const std::string& key, std::vector<M> T::*member, const ObjectFormat<M>& format) {
    Field& field = add(key, "array of objects", "", format_text::schema_of_list(format.schema()));
    field.read = [=](const JsonNode& node, T& object) {
      for (const JsonNode& item : node.items()) format.read(item, (object.*member).emplace_back());
    };
    field.write = [=](const T& object) { return format.write_all(object.*member); };
    field.is_unsaid = [=](const T& object) { return (object.*member).empty(); };
    field.inner = [format] { return format.texts(); };
    return field;
  }
  /// The fields of a member that has no object of its own in the file.
  template <class M>
  void merge(const ObjectFormat<M>& format, M T::*member) {
    for (const auto& other : format.state_->fields) {
      Field& field = state_->fields.emplace_back();
      static_cast<FieldText&>(field) = other;
      field.read = [=, read = other.read](const JsonNode& node, T& object) { read(node, object.*member); };
      field.write = [=, write = other.write](const T& object) { return write(object.*member); };
      if (other.is_unsaid)
        field.is_unsaid = [=, is_unsaid = other.is_unsaid](const T& object) { return is_unsaid(object.*member); };
    }
    for (const auto& check : format.state_->checks)
      then([=](const JsonNode& node, T& object) { check(node, object.*member); });
  }
  /// Anything else: `read` and `write` are set by the caller.
  Field& custom(const std::string& key, const std::string& type, const std::string& range, const Json& schema) {
    return add(key, type, range, schema);
  }
  /// Called behind the fields, for what several of them must keep together.
  void then(const std::function<void(const JsonNode&, T&)>& check) { state_->checks.push_back(check); }

  /// Reads the object's fields into `value`. Throws InputError.
  void read(const JsonNode& node, T& value) const {
    read_some(node, value, [](const std::string&) { return true; });
    for (const auto& check : state_->checks) check(node, value);
  }
  /// Reads only the fields that `is_read` chooses, without the checks behind them; unknown keys are refused all the
  /// same.
  void read_some(const JsonNode& node, T& value, const std::function<bool(const std::string& key)>& is_read) const {
    node.keys(keys());
    for (const Field& field : state_->fields) {
      if (!is_read(field.key)) continue;
      if (field.is_required) field.read(node.at(field.key), value);
      if (field.is_required) continue;
      if (const auto found = node.find(field.key)) field.read(*found, value);
    }
  }
  T read(const JsonNode& node) const {
    T value;
    read(node, value);
    return value;
  }
  /// Writes all fields but optional ones that are as in a new T; read() of it gives the same object again.
  Json write(const T& value) const {
    Json json = Json::object();
    for (const Field& field : state_->fields) {
      if (!field.is_required && field.is_unsaid && field.is_unsaid(value)) continue;
      Json written = field.write(value);
      if (!written.is_null()) json[field.key] = std::move(written);
    }
    return json;
  }
  Json write_all(const std::vector<T>& values) const {
    Json list = Json::array();
    for (const T& value : values) list.push_back(write(value));
    return list;
  }
  /// Adds to the object at `pointer` what it leaves out and has a default.
  void complete(JsonDocument& document, const std::string& pointer) const {
    format_text::complete(document, pointer, texts());
  }
  Json schema() const { return format_text::object_schema(texts(), what_); }
  /// Markdown; `with_inner`: the fields of objects inside follow theirs.
  std::string table(const std::string& prefix = "", bool with_inner = true) const {
    return format_text::table(texts(), prefix, with_inner);
  }
  const std::string& what() const { return what_; }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const Field& field : state_->fields) keys.push_back(field.key);
    return keys;
  }
  std::vector<const FieldText*> texts() const {
    std::vector<const FieldText*> texts;
    for (const Field& field : state_->fields) texts.push_back(&field);
    return texts;
  }

 private:
  template <class>
  friend class ObjectFormat;

  static std::string dimension_name(Dimension dimension);

  Field& add(const std::string& key, const std::string& type, const std::string& range, const Json& schema) {
    Field& field = state_->fields.emplace_back();
    field.key = key;
    field.type = type;
    field.range = range;
    field.schema = schema;
    return field;
  }
  // A value that JSON has as it is.
  template <class M>
  Field& plain(const std::string& key, const std::string& type, const std::string& range, const Json& schema,
               M T::*member) {
    Field& field = add(key, type, range, schema);
    field.write = [member](const T& object) {
      if constexpr (std::is_enum_v<M>)
        return Json();  // replaced by choice()
      else
        return Json(object.*member);
    };
    field.is_unsaid = [member](const T& object) { return object.*member == T().*member; };
    return field;
  }
  template <class M>
  Field& nested(const std::string& key, const ObjectFormat<M>& format) {
    Field& field = add(key, "object", "", format.schema());
    field.complete = [format](JsonDocument& document, const std::string& pointer) {
      format.complete(document, pointer);
    };
    field.inner = [format] { return format.texts(); };
    return field;
  }

  // Copies are the same format: an object's fields hold the formats of the objects inside.
  struct State {
    std::deque<Field> fields;
    std::vector<std::function<void(const JsonNode&, T&)>> checks;
  };

  std::string what_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string name_of_dimension(Dimension dimension);

template <class T>
std::string ObjectFormat<T>::dimension_name(Dimension dimension) {
  return name_of_dimension(dimension);
}

}  // namespace lockstep
