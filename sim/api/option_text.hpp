#pragma once
// Describes an option's type, range, choices and help, for Python's arguments and the page's controls.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/base/json.hpp"
#include "sim/modules.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::api {

enum class OptionType { text, whole_number, number, flag };

inline const Choices<OptionType>& choices_of(OptionType) {
  static const Choices<OptionType> all{{OptionType::text, "string"},
                                       {OptionType::whole_number, "integer"},
                                       {OptionType::number, "number"},
                                       {OptionType::flag, "boolean"}};
  return all;
}

struct OptionText {
  std::string option;  ///< such as "--global-batch"
  OptionType type = OptionType::text;
  bool is_list = false;              ///< takes several values
  std::optional<Range> limits;       ///< allowed numbers
  std::vector<std::string> choices;  ///< allowed values in any case; empty: any text
  std::string help;
  bool has_negation = false;  ///< --no-NAME exists; an option with a value then also takes true and false
  bool is_split = false;      ///< says how the model is divided; a search for the whole split leaves it out

  /// Returns the name in Python and on the page: "global_batch".
  std::string key() const;
};

class OptionTexts {
 public:
  void add(const CLI::Option* option, OptionType type, std::vector<std::string> choices = {}, bool is_list = false);
  void add(const CLI::Option* option, OptionType type, Range limits, bool is_list = false);
  /// Adds an option that takes a whole number or no value. Without a value it is a flag, and --no-NAME exists.
  void add_number_or_flag(const CLI::Option* option, Range limits);
  /// Marks the option that was added last as OptionText::is_split.
  void mark_as_split() { all_.back().is_split = true; }

  const std::vector<OptionText>& all() const { return all_; }
  /// Returns nullptr if there is no such key.
  const OptionText* find(const std::string& key) const;
  /// Returns the keys that are most similar to an unknown one, nearest first.
  std::vector<std::string> nearest_keys(const std::string& key) const;
  /// Returns an array of {"key", "option", "type", "list", "negation", "split", "minimum", "maximum", "choices",
  /// "help"}. Types have the names of JSON Schema. Keys that do not apply are missing.
  Json json() const;

 private:
  std::vector<OptionText> all_;
};

}  // namespace lockstep::sim::api
