#include "engine/base/any_format.hpp"

#include <charconv>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <utility>

#include "engine/base/format_printf.hpp"
#include "engine/base/json_text.hpp"

namespace lockstep {

namespace {

std::string name_of_dimension(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return "time";
    case Dimension::size:
      return "size";
    case Dimension::bandwidth:
      return "bandwidth";
    case Dimension::compute:
      return "compute";
    case Dimension::rate:
      return "rate";
    case Dimension::money:
      return "money";
    case Dimension::price:
      return "price";
    case Dimension::power:
      return "power";
    case Dimension::tariff:
      return "tariff";
  }
  return "";
}

// Returns the shortest text that reads back as exactly `si`; empty if 17 digits in this unit do not.
std::string exact_text(double in_unit, const std::string& unit, Dimension dimension, double si) {
  for (const int digits : {6, 9, 12, 15, 17}) {
    const std::string text = format_printf("%.*g ", digits, in_unit) + unit;
    double read = 0;
    if (parse_quantity_or_explain(text, dimension, read).empty() && read == si) return text;
  }
  return "";
}

}  // namespace

std::string quantity_text(double si, Dimension dimension) {
  std::string best;
  for (const std::string& unit : unit_names(dimension)) {
    double one = 0;
    if (!parse_quantity_or_explain("1 " + unit, dimension, one).empty()) continue;
    const std::string text = exact_text(si / one, unit, dimension, si);
    if (!text.empty() && (best.empty() || text.size() < best.size())) best = text;
  }
  return best.empty() ? format_text::shortest(si) + " " + si_unit(dimension) : best;
}

namespace format_text {

std::string shortest(double value) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "0";
}

std::string range_of(Range range) {
  return shortest(range.low) + " to " + shortest(range.high);
}

std::string range_of(Range range, Dimension dimension) {
  return quantity_text(range.low, dimension) + " to " + quantity_text(range.high, dimension);
}

Json schema_of(Range range) {
  return {{"type", "number"}, {"minimum", range.low}, {"maximum", range.high}};
}

Json schema_of(Dimension dimension) {
  std::string units;
  for (const std::string& unit : unit_spellings(dimension)) units += (units.empty() ? "" : "|") + unit;
  return {{"type", "string"}, {"pattern", "^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)? ?(" + units + ")$"}};
}

Json schema_of_text() {
  return {{"type", "string"}, {"minLength", 1}};
}

Json schema_of_boolean() {
  return {{"type", "boolean"}};
}

Json schema_of_names(const std::vector<std::string>& names) {
  return {{"enum", names}};
}

Json schema_of_whole(std::int64_t low, std::int64_t high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}

Json schema_of_list(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

Json assumed(const Json& value, const std::string& source) {
  return {{"value", value}, {"kind", "assumed"}, {"source", source}};
}

Json schema_of_sourced(const Json& plain) {
  const Json with_origin{{"type", "object"},
                         {"properties",
                          {{"value", plain},
                           {"kind", {{"enum", {"measured", "published", "fitted", "assumed"}}}},
                           {"source", {{"type", "string"}, {"minLength", 1}}}}},
                         {"required", {"value", "kind", "source"}},
                         {"additionalProperties", false}};
  return {{"anyOf", Json::array({plain, with_origin})}};
}

std::string names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : " ") + name;
  return text + "`";
}

}  // namespace format_text

namespace {

// "64 MB, assumed"; "`true`".
std::string default_text(const FieldText& field) {
  if (field.is_required && field.otherwise.is_null()) return "required";
  if (field.otherwise.is_null()) return field.left_out;
  if (field.otherwise.is_object() && field.otherwise.contains("value")) {
    const Json& value = field.otherwise["value"];
    return (value.is_string() ? value.get<std::string>() : value.dump()) + ", assumed";
  }
  const Json& value = field.otherwise;
  return value.is_string() ? "`" + value.get<std::string>() + "`" : "`" + value.dump() + "`";
}

void add_rows(std::string& text, const std::vector<const FieldText*>& fields, const std::string& prefix,
              bool with_inner) {
  for (const FieldText* field : fields) {
    text += "| `" + prefix + field->key + "` | " + field->type + " | " + field->range + " | " + default_text(*field) +
            " | " + field->meaning + " |\n";
    const bool is_list = field->type.rfind("array", 0) == 0;
    if (with_inner && field->inner) add_rows(text, field->inner(), prefix + field->key + (is_list ? "[]/" : "/"), true);
  }
}

}  // namespace

namespace format_text {

std::string table(const std::vector<const FieldText*>& fields, const std::string& prefix, bool with_inner) {
  std::string text = "| Key | Type | Range | Default | Meaning and effect |\n|---|---|---|---|---|\n";
  add_rows(text, fields, prefix, with_inner);
  return text;
}

int whole(const JsonNode& node, double low, double high) {
  const double value = node.sourced_number({low, high});
  if (value != std::floor(value)) {
    const JsonNode number = node.is_object() ? node.at("value") : node;
    number.fail("expected a whole number, got " + number.json().dump(), "allowed: " + range_of(Range{low, high}));
  }
  return static_cast<int>(value);
}

}  // namespace format_text

namespace {

Json schema_of_object(const std::vector<const FieldText*>& fields, const std::string& what) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldText* field : fields) {
    Json property = field->schema;
    if (!field->meaning.empty()) property["description"] = field->meaning;
    if (!field->otherwise.is_null()) property["default"] = field->otherwise;
    properties[field->key] = property;
    if (field->is_required && field->otherwise.is_null()) required.push_back(field->key);
  }
  Json schema{{"type", "object"}, {"title", what}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

// A value that is no object is ignored here and refused when it is read.
void complete_object(JsonDocument& document, const std::string& pointer, const std::vector<const FieldText*>& fields) {
  const Json::json_pointer here(pointer);
  if (!document.json().contains(here) || !document.json().at(here).is_object()) return;
  for (const FieldText* field : fields) {
    const std::string place = child_pointer(pointer, field->key);
    const Json& holder = document.json().at(here);
    const bool is_missing = !holder.contains(field->key);
    const bool has_default = !field->otherwise.is_null();
    if (is_missing && (field->is_needed ? field->is_needed(holder) : has_default))
      document.set(place, (has_default ? field->otherwise : Json::object()).dump(), "default");
    if (field->complete && document.json().at(here).contains(field->key)) field->complete(document, place);
  }
}

}  // namespace

struct AnyFormat::State {
  std::string what;
  const void* fresh;
  std::deque<Field> fields;  // a deque: a Field& stays valid when fields are added
  std::vector<Check> checks;
};

AnyFormat::AnyFormat(std::string what, const void* fresh)
    : state_(std::make_shared<State>(State{std::move(what), fresh, {}, {}})) {}

const std::string& AnyFormat::what() const {
  return state_->what;
}

const void* AnyFormat::fresh() const {
  return state_->fresh;
}

std::vector<std::string> AnyFormat::keys() const {
  std::vector<std::string> keys;
  for (const Field& field : state_->fields) keys.push_back(field.key);
  return keys;
}

std::vector<const FieldText*> AnyFormat::texts() const {
  std::vector<const FieldText*> texts;
  for (const Field& field : state_->fields) texts.push_back(&field);
  return texts;
}

Json AnyFormat::schema() const {
  return schema_of_object(texts(), what());
}

std::string AnyFormat::table(const std::string& prefix, bool with_inner) const {
  return format_text::table(texts(), prefix, with_inner);
}

void AnyFormat::complete(JsonDocument& document, const std::string& pointer) const {
  complete_object(document, pointer, texts());
}

// ---- reading and writing ----

void AnyFormat::read_some_of_any(const JsonNode& node, void* object,
                                 const std::function<bool(const std::string& key)>& is_read) const {
  node.keys(keys());
  for (const Field& field : state_->fields) {
    if (!is_read(field.key)) continue;
    if (field.is_required)
      field.read(node.at(field.key), object);
    else if (const auto found = node.find(field.key))
      field.read(*found, object);
  }
}

void AnyFormat::read_any(const JsonNode& node, void* object) const {
  read_some_of_any(node, object, [](const std::string&) { return true; });
  for (const Check& check : state_->checks) check(node, object);
}

Json AnyFormat::write_any(const void* object) const {
  Json json = Json::object();
  for (const Field& field : state_->fields) {
    if (!field.is_required && field.is_unsaid && field.is_unsaid(object)) continue;
    Json written = field.write(object);
    if (!written.is_null()) json[field.key] = std::move(written);
  }
  return json;
}

const AnyFormat::Field& AnyFormat::field_of(const std::string& key) const {
  for (const Field& field : state_->fields)
    if (field.key == key) return field;
  throw std::logic_error("\"" + what() + "\" has no key \"" + key + "\"");
}

void AnyFormat::read_value_of_any(const std::string& key, const JsonNode& node, void* object) const {
  field_of(key).read(node, object);
}

Json AnyFormat::write_value_of_any(const std::string& key, const void* object) const {
  return field_of(key).write(object);
}

const FieldText& AnyFormat::text_of(const std::string& key) const {
  return field_of(key);
}

// ---- fields ----

AnyFormat::Field& AnyFormat::add(const std::string& key, const std::string& type, const std::string& range,
                                 const Json& schema) {
  Field& field = state_->fields.emplace_back();
  field.key = key;
  field.type = type;
  field.range = range;
  field.schema = schema;
  return field;
}

AnyFormat::Field& AnyFormat::add_names(const std::string& key, const std::vector<std::string>& names) {
  return add(key, "text", format_text::names(names), format_text::schema_of_names(names));
}

AnyFormat::Field& AnyFormat::add_quantity_text(const std::string& key, Dimension dimension, Range range) {
  return add(key, name_of_dimension(dimension) + ", **S**", format_text::range_of(range, dimension),
             format_text::schema_of_sourced(format_text::schema_of(dimension)));
}

AnyFormat::Field& AnyFormat::add_nested(const std::string& key, const AnyFormat& format) {
  Field& field = add(key, "object", "", format.schema());
  field.complete = [format](JsonDocument& document, const std::string& pointer) { format.complete(document, pointer); };
  field.inner = [format] { return format.texts(); };
  return field;
}

void AnyFormat::add_check(const Check& check) {
  state_->checks.push_back(check);
}

void AnyFormat::add_all(const AnyFormat& other, std::ptrdiff_t offset_bytes) {
  const MemberPlace<char> place{offset_bytes};
  for (const Field& one : other.state_->fields) {
    Field& field = state_->fields.emplace_back(one);
    field.read = [place, read = one.read](const JsonNode& node, void* object) { read(node, &place.of(object)); };
    field.write = [place, write = one.write](const void* object) { return write(&place.of(object)); };
    if (one.is_unsaid)
      field.is_unsaid = [place, unsaid = one.is_unsaid](const void* object) { return unsaid(&place.of(object)); };
  }
  for (const Check& check : other.state_->checks)
    add_check([place, check](const JsonNode& node, void* object) { check(node, &place.of(object)); });
}

AnyFormat::Field& AnyFormat::add_text(const std::string& key, MemberPlace<std::string> place) {
  Field& field = add(key, "text", "", format_text::schema_of_text());
  field.read = [place](const JsonNode& node, void* object) { place.of(object) = node.text(); };
  set_plain(field, place);
  return field;
}

AnyFormat::Field& AnyFormat::add_boolean(const std::string& key, MemberPlace<bool> place) {
  Field& field = add(key, "boolean", "", format_text::schema_of_boolean());
  field.read = [place](const JsonNode& node, void* object) { place.of(object) = node.boolean(); };
  set_plain(field, place);
  return field;
}

AnyFormat::Field& AnyFormat::add_either(const std::string& key, MemberPlace<bool> place, const std::string& no,
                                        const std::string& yes) {
  Field& field = add_names(key, {no, yes});
  field.read = [=](const JsonNode& node, void* object) { place.of(object) = node.choice({no, yes}) == yes; };
  field.write = [=](const void* object) { return Json(place.of(object) ? yes : no); };
  field.is_unsaid = as_in_new(place);
  return field;
}

AnyFormat::Field& AnyFormat::add_sourced_whole(const std::string& key, MemberPlace<int> place, int low, int high) {
  Field& field = add(key, "whole, **S**", std::to_string(low) + " to " + std::to_string(high),
                     format_text::schema_of_sourced(format_text::schema_of_whole(low, high)));
  field.read = [=](const JsonNode& node, void* object) { place.of(object) = format_text::whole(node, low, high); };
  set_plain(field, place);
  return field;
}

AnyFormat::Field& AnyFormat::add_number(const std::string& key, MemberPlace<double> place, Range range) {
  Field& field = add(key, "number, **S**", format_text::range_of(range),
                     format_text::schema_of_sourced(format_text::schema_of(range)));
  field.read = [=](const JsonNode& node, void* object) { place.of(object) = node.sourced_number(range); };
  set_plain(field, place);
  return field;
}

AnyFormat::Field& AnyFormat::add_number(const std::string& key, MemberPlace<std::optional<double>> place, Range range) {
  Field& field = add(key, "number, **S**", format_text::range_of(range),
                     format_text::schema_of_sourced(format_text::schema_of(range)));
  field.read = [=](const JsonNode& node, void* object) { place.of(object) = node.sourced_number(range); };
  field.write = [=](const void* object) { return place.of(object) ? Json(*place.of(object)) : Json(); };
  field.is_required = false;
  return field;
}

AnyFormat::Field& AnyFormat::add_object(const std::string& key, std::ptrdiff_t offset_bytes, const AnyFormat& format) {
  const MemberPlace<char> place{offset_bytes};
  Field& field = add_nested(key, format);
  field.read = [=](const JsonNode& node, void* object) { format.read_any(node, &place.of(object)); };
  field.write = [=](const void* object) { return format.write_any(&place.of(object)); };
  field.is_unsaid = [=](const void* object) {
    return format.write_any(&place.of(object)) == format.write_any(format.fresh());
  };
  return field;
}

}  // namespace lockstep
