#include "engine/base/object_format.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "engine/base/json_text.hpp"

namespace lockstep {

// Here, so that not every object's format has them in it.
FieldText::FieldText() = default;
FieldText::FieldText(const FieldText& other) = default;
FieldText& FieldText::operator=(const FieldText& other) = default;
FieldText::~FieldText() = default;

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

namespace {

// The text of fewest digits that reads back as `si`; empty where rounding in the unit keeps it from that.
std::string exact_text(double in_unit, const std::string& unit, Dimension dimension, double si) {
  for (const int digits : {6, 9, 12, 15, 17}) {
    char number[64];
    std::snprintf(number, sizeof number, "%.*g", digits, in_unit);
    const std::string text = std::string(number) + " " + unit;
    double read = 0;
    if (parse_quantity(text, dimension, read).empty() && read == si) return text;
  }
  return "";
}

}  // namespace

std::string quantity_text(double si, Dimension dimension) {
  std::string best;
  for (const std::string& unit : unit_names(dimension)) {
    double one = 0;
    if (!parse_quantity("1 " + unit, dimension, one).empty()) continue;
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

Json sourced(const Json& plain) {
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

}  // namespace

namespace {

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

std::string table(const std::vector<const FieldText*>& fields, const std::string& prefix, bool with_inner) {
  std::string text = "| Key | Type | Range | Default | Meaning and effect |\n|---|---|---|---|---|\n";
  add_rows(text, fields, prefix, with_inner);
  return text;
}

Json object_schema(const std::vector<const FieldText*>& fields, const std::string& what) {
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

// What is no object is left for the reader to refuse.
void complete(JsonDocument& document, const std::string& pointer, const std::vector<const FieldText*>& fields) {
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

int whole(const JsonNode& node, double low, double high) {
  const double value = node.sourced_number({low, high});
  if (value != std::floor(value)) {
    const JsonNode number = node.is_object() ? node.at("value") : node;
    number.fail("expected a whole number, got " + number.json().dump(),
                "allowed: " + shortest(low) + " to " + shortest(high));
  }
  return static_cast<int>(value);
}

}  // namespace format_text
}  // namespace lockstep
