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
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/any_format.hpp"

namespace lockstep {

/// T: a struct that is complete and can be made without arguments.
template <class T>
class ObjectFormat : public AnyFormat {
 public:
  /// A field of the format, to say more of; lives as long as it.
  class Field {
   public:
    explicit Field(AnyFormat::Field& field) : field_(&field) {}

    Field& means(const std::string& text) {
      field_->meaning = text;
      return *this;
    }
    /// In place of what the kind of field says of the value.
    Field& written_as(const std::string& type, const std::string& range, const Json& schema) {
      field_->type = type;
      field_->range = range;
      field_->schema = schema;
      return *this;
    }
    /// `value` is filled in where the field is left out.
    Field& otherwise(const Json& value) {
      field_->otherwise = value;
      return *this;
    }
    /// The same, listed as an assumption.
    Field& assumed(const Json& value, const std::string& source) {
      return otherwise(format_text::assumed(value, source));
    }
    Field& optional(const std::string& meaning_of_absence = "") {
      field_->is_required = false;
      field_->left_out = meaning_of_absence;
      return *this;
    }
    /// An object with its defaults, or a default, that is added where `needed` says so of the object that holds it.
    Field& needed_where(const std::function<bool(const Json&)>& needed) {
      field_->is_required = false;
      field_->is_needed = needed;
      return *this;
    }
    /// read(node, object)
    template <class F>
    Field& reads(F read) {
      field_->read = [read](const JsonNode& node, void* object) { read(node, *static_cast<T*>(object)); };
      return *this;
    }
    /// write(object): null is left out.
    template <class F>
    Field& writes(F write) {
      field_->write = [write](const void* object) { return Json(write(*static_cast<const T*>(object))); };
      return *this;
    }
    /// Of an optional field: not written where unsaid(object).
    template <class F>
    Field& unsaid_where(F unsaid) {
      field_->is_unsaid = [unsaid](const void* object) -> bool { return unsaid(*static_cast<const T*>(object)); };
      return *this;
    }
    Field& always_written() {
      field_->is_unsaid = nullptr;
      return *this;
    }
    /// How it is read so far: read(node, object).
    auto reader() const {
      return [read = field_->read](const JsonNode& node, T& object) { read(node, &object); };
    }

   private:
    AnyFormat::Field* field_;
  };

  explicit ObjectFormat(std::string what) : AnyFormat(std::move(what), &fresh()) {}

  Field text(const std::string& key, std::string T::*member) { return Field(add_text(key, place(member))); }
  Field boolean(const std::string& key, bool T::*member) { return Field(add_boolean(key, place(member))); }
  /// A boolean of the program with names for its two values.
  Field either(const std::string& key, bool T::*member, const std::string& no, const std::string& yes) {
    return Field(add_either(key, place(member), no, yes));
  }
  /// `E`: an enum with choices_of(), or an optional one.
  template <class E>
  Field choice(const std::string& key, E T::*member) {
    return Field(add_choice(key, place(member)));
  }
  /// A whole number, plain. `I`: int or a wider integer.
  template <class I>
  Field whole(const std::string& key, I T::*member, std::int64_t low, std::int64_t high) {
    return Field(add_whole(key, place(member), low, high));
  }
  /// The same, which may carry its origin.
  Field sourced_whole(const std::string& key, int T::*member, int low, int high) {
    return Field(add_sourced_whole(key, place(member), low, high));
  }
  Field number(const std::string& key, double T::*member, Range range) {
    return Field(add_number(key, place(member), range));
  }
  Field number(const std::string& key, std::optional<double> T::*member, Range range) {
    return Field(add_number(key, place(member), range));
  }
  /// A quantity with its unit. `N`: double, or a whole number of bytes.
  template <class N>
  Field quantity(const std::string& key, N T::*member, Dimension dimension, Range range) {
    return Field(add_quantity(key, place(member), dimension, range));
  }
  /// An object inside. What it leaves out is filled in by its own format.
  template <class M>
  Field object(const std::string& key, M T::*member, const ObjectFormat<M>& format) {
    return Field(add_object(key, place(member).offset_bytes, format));
  }
  template <class M>
  Field object(const std::string& key, std::optional<M> T::*member, const ObjectFormat<M>& format) {
    return Field(add_optional_object(key, place(member), format));
  }
  /// Keys of an object inside that are members of this one: {"first": {"second": value}}.
  Field group(const std::string& key, const ObjectFormat<T>& format) { return Field(add_object(key, 0, format)); }
  template <class M>
  Field list(const std::string& key, std::vector<M> T::*member, const ObjectFormat<M>& format) {
    return Field(add_list(key, place(member), format));
  }
  /// The fields of a member that has no object of its own in the file.
  template <class M>
  void merge(const ObjectFormat<M>& format, M T::*member) {
    add_all(format, place(member).offset_bytes);
  }
  /// Anything else: what reads and writes it is set by the caller.
  Field custom(const std::string& key, const std::string& type, const std::string& range, const Json& schema) {
    return Field(add(key, type, range, schema));
  }
  /// check(node, object), called behind the fields, for what several of them must keep together.
  template <class F>
  void then(F check) {
    add_check([check](const JsonNode& node, void* object) { check(node, *static_cast<T*>(object)); });
  }

  /// Reads the object's fields into `value`. Throws InputError.
  void read(const JsonNode& node, T& value) const { read_any(node, &value); }
  /// Reads only the fields that `is_read` chooses, without the checks behind them; unknown keys are refused all the
  /// same.
  void read_some(const JsonNode& node, T& value, const std::function<bool(const std::string& key)>& is_read) const {
    read_some_of_any(node, &value, is_read);
  }
  /// Reads the one field of that key, whose value `node` is. Throws InputError.
  void read_value(const std::string& key, const JsonNode& node, T& value) const {
    read_value_of_any(key, node, &value);
  }
  Json write_value(const std::string& key, const T& value) const { return write_value_of_any(key, &value); }
  T read(const JsonNode& node) const {
    T value;
    read(node, value);
    return value;
  }
  /// Writes all fields but optional ones that are as in a new T; read() of it gives the same object again.
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
