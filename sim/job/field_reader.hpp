#pragma once
// Reads the facts that an object of a JSON file gives: a visitor of tables of fields (job_fields.hpp).
#include <set>
#include <string>
#include <type_traits>

#include "engine/base/choice.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/job/job_fields.hpp"

namespace lockstep::sim::job {

/// Returns the member of that key; none if it is missing, null or "".
std::optional<JsonNode> given_member(const JsonNode& object, const std::string& key);

/// Records the key of every field that a table visits.
class FieldKeys {
 public:
  template <class Field>
  void operator()(const FieldName& name, const Field&, const Field&, Range = {}) {
    names.push_back(name.key);
  }
  std::vector<std::string> names;
};

class FieldReader {
 public:
  explicit FieldReader(const JsonNode& object) : object_(object) {}

  template <class Field, class... Limits>
  void operator()(const FieldName& name, Field& field, Field&, Limits... limits) {
    const std::optional<JsonNode> node = given_member(object_, name.key);
    if (!node) return;
    read(*node, field, limits...);
    given.insert(name.key);
  }
  std::set<std::string> given;  ///< keys that are present in the object

 private:
  static void read(const JsonNode& node, std::string& field) { field = node.text(); }
  static void read(const JsonNode& node, NamedFact& field) { field.stated = node.text(); }
  static void read(const JsonNode& node, NetworkStated& field);
  static void read(const JsonNode& node,
                   std::optional<Algorithm>& field);  ///< refuses unknown names; see Job::exchange
  static void read(const JsonNode& node, std::map<std::string, std::string>& field) {
    for (const auto& [key, why] : node.members()) field[key] = why.text();
  }
  static void read(const JsonNode& node, bool& field) { field = node.boolean(); }
  static void read(const JsonNode& node, std::optional<bool>& field) { field = node.boolean(); }
  static void read(const JsonNode& node, double& field, Range limits) { field = node.number(limits); }
  template <class I>
  static std::enable_if_t<std::is_integral_v<I> && !std::is_same_v<I, bool>> read(const JsonNode& node, I& field,
                                                                                  Range limits) {
    if (limits.low == kBatchBeforeRounding.low)
      field = static_cast<I>(read_batch(node));
    else
      field =
          static_cast<I>(node.integer(static_cast<std::int64_t>(limits.low), static_cast<std::int64_t>(limits.high)));
  }
  static void read(const JsonNode& node, std::optional<int>& field, Range limits) {
    int value = 0;
    read(node, value, limits);
    field = value;
  }
  template <class E>
  static std::enable_if_t<std::is_enum_v<E>> read(const JsonNode& node, E& field) {
    const auto value = node.is_string() ? find_choice_in_words<E>(node.json().get<std::string>()) : std::nullopt;
    field = value ? *value : read_choice<E>(node);  // read_choice() refuses it
  }
  template <class E>
  static std::enable_if_t<std::is_enum_v<E>> read(const JsonNode& node, std::optional<E>& field) {
    E value{};
    read(node, value);
    field = value;
  }

  JsonNode object_;
};

}  // namespace lockstep::sim::job
