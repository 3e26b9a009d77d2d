#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "engine/base/file_format.hpp"
#include "engine/base/json.hpp"
#include "engine/base/json_text.hpp"
#include "engine/base/text.hpp"

namespace lockstep {
namespace {

// Control characters would act on a terminal or a table. Tabs are allowed.
bool has_control_characters(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7F'; });
}

bool contains(const Range& range, double value) {
  return value >= range.low && value <= range.high;
}  // NaN: false

/// Uses the short form, unless that rounds a whole number (1048576): then all digits.
std::string end_text(double end) {
  const std::string text = short_number(end);
  double read_back = 0;
  std::from_chars(text.data(), text.data() + text.size(), read_back);
  const bool is_whole = std::abs(end) < 1e15 && end == std::floor(end);
  return read_back != end && is_whole ? std::to_string(static_cast<std::int64_t>(end)) : text;
}

std::string allowed_text(const Range& range, const std::string& unit) {
  const std::string end = unit.empty() ? "" : ' ' + unit;
  const double infinity = std::numeric_limits<double>::infinity();
  if (range.high == infinity) {
    return range.low == -infinity ? "allowed: any number" : "allowed: " + short_number(range.low) + end + " or more";
  }
  if (range.low == -infinity) return "allowed: " + short_number(range.high) + end + " or less";
  return "allowed: " + end_text(range.low) + " to " + end_text(range.high) + end;
}

std::string allowed_text(std::int64_t low, std::int64_t high) {
  return "allowed: " + std::to_string(low) + " to " + std::to_string(high);
}

/// Uses the short form, unless that would round into the range: then all digits.
std::string value_text(double value, const Range& range) {
  const std::string text = short_number(value);
  double read_back = 0;
  std::from_chars(text.data(), text.data() + text.size(), read_back);
  return contains(range, read_back) ? Json(value).dump() : text;
}

/// Reads a number without fraction, also one written as 1e6 or 8.0. Returns false if it is too large for the integer.
bool exact_integer(const Json& value, std::int64_t& number) {
  if (value.is_number_unsigned()) {
    const std::uint64_t large = value.get<std::uint64_t>();
    number = static_cast<std::int64_t>(large);
    return large <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  }
  if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
    return true;
  }
  const double real = value.get<double>();
  if (std::fabs(real) > 0x1p53) return false;
  number = static_cast<std::int64_t>(real);
  return true;
}

// Throws if the document has another of the project's formats, with keys that are not among `known`.
void refuse_other_format(const JsonDocument& document, const std::vector<std::string>& known) {
  std::error_code unknown;
  if (!std::filesystem::exists(document.name(), unknown)) return;  // not a file: part of one, or text
  const std::string other = describe_other_format(document.json(), document.name(), known);
  if (!other.empty()) throw InputError(one_line(document.name() + ": " + other));
}

}  // namespace

void JsonNode::fail(const std::string& wrong, const std::string& allowed) const {
  const std::string line = document_->locate(pointer_) + ": " + wrong + (allowed.empty() ? "" : "; " + allowed);
  throw InputError(one_line(line));
}

void JsonNode::keys(const std::vector<std::string>& known) const {
  for (const auto& [key, member] : members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      if (pointer_.empty()) refuse_other_format(*document_, known);
      fail("unknown key " + in_quotes(key), "known: " + joined(known));
    }
  }
}

bool JsonNode::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

JsonNode JsonNode::at(const std::string& key) const {
  const std::optional<JsonNode> member = find(key);
  if (!member) fail("missing key " + in_quotes(key));
  return *member;
}

std::optional<JsonNode> JsonNode::find(const std::string& key) const {
  if (!value_->is_object()) fail("expected an object, got " + kind_of(*value_));
  const Json* const member = child(*value_, key);
  if (!member) return std::nullopt;
  return JsonNode(document_, member, child_pointer(pointer_, key));
}

std::vector<JsonNode> JsonNode::items() const {
  if (!value_->is_array() && pointer_.empty()) refuse_other_format(*document_, {});
  if (!value_->is_array()) fail("expected an array, got " + kind_of(*value_));
  std::vector<JsonNode> nodes;
  for (const Json& element : *value_) {
    nodes.push_back(JsonNode(document_, &element, child_pointer(pointer_, std::to_string(nodes.size()))));
  }
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) fail("expected an object, got " + kind_of(*value_));
  std::vector<std::pair<std::string, JsonNode>> nodes;
  for (const auto& [key, member] : value_->items()) {
    nodes.emplace_back(key, JsonNode(document_, &member, child_pointer(pointer_, key)));
  }
  return nodes;
}

std::string JsonNode::text() const {
  if (!value_->is_string()) fail("expected a string, got " + kind_of(*value_));
  std::string text = value_->get<std::string>();
  if (text.empty()) fail("expected a string that is not empty");
  if (has_control_characters(text)) fail(in_quotes(text) + " has control characters", "allowed: text on one line");
  return text;
}

std::string JsonNode::choice(const std::vector<std::string>& allowed) const {
  const std::string list = "allowed: " + joined(allowed);
  if (!value_->is_string()) fail("expected a string, got " + kind_of(*value_), list);
  std::string text = value_->get<std::string>();
  const bool is_allowed = std::find(allowed.begin(), allowed.end(), text) != allowed.end();
  const bool is_other_version = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& one) {
    return one.substr(0, one.rfind('/')) == text.substr(0, text.rfind('/'));
  });
  if (!is_allowed && pointer_ == "/schema" && !is_other_version) refuse_other_format(*document_, {});
  if (!is_allowed) fail(in_quotes(text) + " is unknown", list);
  return text;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("expected a boolean, got " + kind_of(*value_), "allowed: true, false");
  return value_->get<bool>();
}

double JsonNode::number(Range range) const {
  if (!value_->is_number()) fail("expected a number, got " + kind_of(*value_), allowed_text(range, ""));
  const double value = value_->get<double>();
  if (!contains(range, value)) fail("value " + value_text(value, range) + " is out of range", allowed_text(range, ""));
  return value;
}

std::int64_t JsonNode::integer(std::int64_t low, std::int64_t high) const {
  const std::string allowed = allowed_text(low, high);
  if (!value_->is_number()) fail("expected a whole number, got " + kind_of(*value_), allowed);
  const double real = value_->get<double>();
  if (real != std::floor(real)) fail("expected a whole number, got " + value_->dump(), allowed);
  std::int64_t number = 0;
  if (!exact_integer(*value_, number) || number < low || number > high) {
    fail("value " + value_->dump() + " is out of range", allowed);
  }
  return number;
}

double JsonNode::quantity(Dimension dimension, Range range) const {
  const std::string unit = si_unit(dimension);
  double value = 0;
  if (value_->is_number()) fail(parse_quantity_or_explain("0", dimension, value));  // "missing unit"
  if (!value_->is_string()) {
    fail("expected a quantity, got " + kind_of(*value_), "allowed: a number and a unit, such as \"1 " + unit + '"');
  }
  const std::string wrong = parse_quantity_or_explain(value_->get<std::string>(), dimension, value);
  if (!wrong.empty()) fail(wrong);
  if (!contains(range, value)) {
    fail("value " + value_text(value, range) + ' ' + unit + " is out of range", allowed_text(range, unit));
  }
  return value;
}

/// The node that holds the value itself: this one, or "value" of a {"value", "kind", "source"} object.
JsonNode JsonNode::sourced_value(Assumption& assumption) const {
  assumption = {pointer_, *value_, "assumed", "given in " + document_->file_of(pointer_)};
  if (!is_object()) return *this;
  keys({"value", "kind", "source"});
  const JsonNode value = at("value");
  assumption.value = value.json();
  assumption.kind = at("kind").choice({"measured", "published", "fitted", "assumed"});
  const JsonNode source = at("source");
  assumption.source = source.text();
  const std::string file = document_->file_of(value.pointer());
  if (file != document_->file_of(source.pointer())) {  // --set changed only the value: the old source does not apply
    assumption.kind = "assumed";
    assumption.source = "given in " + file;
  }
  return value;
}

double JsonNode::sourced_number(Range range) const {
  Assumption assumption;
  const double value = sourced_value(assumption).number(range);
  document_->note(assumption);
  return value;
}

double JsonNode::sourced_quantity(Dimension dimension, Range range) const {
  Assumption assumption;
  const double value = sourced_value(assumption).quantity(dimension, range);
  document_->note(assumption);
  return value;
}

bool JsonNode::sourced_boolean() const {
  Assumption assumption;
  const bool value = sourced_value(assumption).boolean();
  document_->note(assumption);
  return value;
}

}  // namespace lockstep
