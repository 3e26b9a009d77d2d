#pragma once
// Describes a JSON object of the project's files once. Reading with checks, writing, defaults, the table in the
// format's documentation and the JSON Schema all follow from the description.
//
//   ObjectFormat<LinkSpec> format("link");
//   format.quantity("bandwidth", &LinkSpec::bandwidth_bytes_per_s, Dimension::bandwidth, {1e3, 1e14}).means("...");
//
// Fields are required unless otherwise() or optional() is called. otherwise() sets a default, which is added to the
// document before it is read. An optional() field may be absent and is written only if it differs from a new T's.
// Fields are read in the order of their definition, with the errors of JsonNode.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/any_format.hpp"

namespace lockstep {

/// T: a complete struct with a default constructor.
template <class T>
class ObjectFormat : public AnyFormat {
 public:
  /// Changes the properties of a field. Valid as long as the format exists.
  class Field {
   public:
    explicit Field(AnyFormat::Field& field) : field_(&field) {}

    Field& means(const std::string& text) {
      field_->meaning = text;
      return *this;
    }
    /// Replaces the type, range and schema that follow from the kind of field.
    Field& written_as(const std::string& type, const std::string& range, const Json& schema) {
      field_->type = type;
      field_->range = range;
      field_->schema = schema;
      return *this;
    }
    /// Sets the default for an absent field.
    Field& otherwise(const Json& value) {
      field_->otherwise = value;
      return *this;
    }
    /// Sets a default that is listed as an assumption.
    Field& assumed(const Json& value, const std::string& source) {
      return otherwise(format_text::assumed(value, source));
    }
    Field& optional(const std::string& meaning_of_absence = "") {
      field_->is_required = false;
      field_->left_out = meaning_of_absence;
      return *this;
    }
    /// Adds the default, or an object with its defaults, only if `needed` is true for the object that holds the field.
    Field& needed_where(const std::function<bool(const Json&)>& needed) {
      field_->is_required = false;
      field_->is_needed = needed;
      return *this;
    }
    /// Reads the field by read(node, object) instead.
    template <class F>
    Field& reads(F read) {
      field_->read = [read](const JsonNode& node, void* object) { read(node, *static_cast<T*>(object)); };
      return *this;
    }
    /// Writes the field by write(object) instead; a null is not written.
    template <class F>
    Field& writes(F write) {
      field_->write = [write](const void* object) { return Json(write(*static_cast<const T*>(object))); };
      return *this;
    }
    /// For an optional field: not written if unsaid(object).
    template <class F>
    Field& unsaid_where(F unsaid) {
      field_->is_unsaid = [unsaid](const void* object) -> bool { return unsaid(*static_cast<const T*>(object)); };
      return *this;
    }
    Field& always_written() {
      field_->is_unsaid = nullptr;
      return *this;
    }
    /// Returns the field's current reader, read(node, object), for a new reader to wrap.
    auto reader() const {
      return [read = field_->read](const JsonNode& node, T& object) { read(node, &object); };
    }

   private:
    AnyFormat::Field* field_;
  };

  explicit ObjectFormat(std::string what) : AnyFormat(std::move(what), &fresh()) {}

  Field text(const std::string& key, std::string T::*member) { return Field(add_text(key, place(member))); }
  Field boolean(const std::string& key, bool T::*member) { return Field(add_boolean(key, place(member))); }
  /// A boolean that the file spells as one of two names, `no` or `yes`.
  Field either(const std::string& key, bool T::*member, const std::string& no, const std::string& yes) {
    return Field(add_either(key, place(member), no, yes));
  }
  /// `E` is an enum with choices_of(), or an optional of one.
  template <class E>
  Field choice(const std::string& key, E T::*member) {
    return Field(add_choice(key, place(member)));
  }
  /// A whole number that does not carry its origin. `I`: int or a wider integer.
  template <class I>
  Field whole(const std::string& key, I T::*member, std::int64_t low, std::int64_t high) {
    return Field(add_whole(key, place(member), low, high));
  }
  /// A whole number that may carry its origin.
  Field sourced_whole(const std::string& key, int T::*member, int low, int high) {
    return Field(add_sourced_whole(key, place(member), low, high));
  }
  Field number(const std::string& key, double T::*member, Range range) {
    return Field(add_number(key, place(member), range));
  }
  Field number(const std::string& key, std::optional<double> T::*member, Range range) {
    return Field(add_number(key, place(member), range));
  }
  /// A quantity with a unit. `N`: double, or an integer for whole bytes.
  template <class N>
  Field quantity(const std::string& key, N T::*member, Dimension dimension, Range range) {
    return Field(add_quantity(key, place(member), dimension, range));
  }
  /// An inner object; its own format fills its defaults.
  template <class M>
  Field object(const std::string& key, M T::*member, const ObjectFormat<M>& format) {
    return Field(add_object(key, place(member).offset_bytes, format));
  }
  template <class M>
  Field object(const std::string& key, std::optional<M> T::*member, const ObjectFormat<M>& format) {
    return Field(add_optional_object(key, place(member), format));
  }
  /// An object in the file whose keys are members of T itself: {"first": {"second": value}}.
  Field group(const std::string& key, const ObjectFormat<T>& format) { return Field(add_object(key, 0, format)); }
  template <class M>
  Field list(const std::string& key, std::vector<M> T::*member, const ObjectFormat<M>& format) {
    return Field(add_list(key, place(member), format));
  }
  /// Adds the fields of a member that has no object of its own in the file.
  template <class M>
  void merge(const ObjectFormat<M>& format, M T::*member) {
    add_all(format, place(member).offset_bytes);
  }
  /// A field of any other kind; the caller sets its reading and writing.
  Field custom(const std::string& key, const std::string& type, const std::string& range, const Json& schema) {
    return Field(add(key, type, range, schema));
  }
  /// Adds check(node, object), called after all fields are read, for conditions across several fields.
  template <class F>
  void then(F check) {
    add_check([check](const JsonNode& node, void* object) { check(node, *static_cast<T*>(object)); });
  }

  /// Reads the object's fields into `value`. Throws InputError.
  void read(const JsonNode& node, T& value) const { read_any(node, &value); }
  /// Reads only the fields that `is_read` chooses, and skips the checks that follow. Unknown keys are still refused.
  void read_some(const JsonNode& node, T& value, const std::function<bool(const std::string& key)>& is_read) const {
    read_some_of_any(node, &value, is_read);
  }
  /// Reads the field `key` from `node`, its value. Throws InputError.
  void read_value(const std::string& key, const JsonNode& node, T& value) const {
    read_value_of_any(key, node, &value);
  }
  Json write_value(const std::string& key, const T& value) const { return write_value_of_any(key, &value); }
  T read(const JsonNode& node) const {
    T value;
    read(node, value);
    return value;
  }
  /// Writes all fields except optional ones that equal those of a new T. read() of the result gives an equal object.
  Json write(const T& value) const { return write_any(&value); }
  Json write_all(const std::vector<T>& values) const {
    Json list = Json::array();
    for (const T& value : values) list.push_back(write(value));
    return list;
  }

 private:
  static const T& fresh() {
    static const T one{};
    return one;
  }
  template <class M>
  static MemberPlace<M> place(M T::*member) {
    const T& one = fresh();
    return {reinterpret_cast<const char*>(&(one.*member)) - reinterpret_cast<const char*>(&one)};
  }
};

}  // namespace lockstep
