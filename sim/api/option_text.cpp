#include "sim/api/option_text.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::api {

std::string OptionText::key() const {
  std::string key = option.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

void OptionTexts::add(const CLI::Option* option, OptionType type, std::vector<std::string> choices, bool is_list) {
  const std::string name = option->get_lnames().front();
  all_.push_back({"--" + name,
                  type,
                  is_list,
                  {},
                  std::move(choices),
                  option->get_description(),
                  option->check_lname("no-" + name)});
}

void OptionTexts::add(const CLI::Option* option, OptionType type, Range limits, bool is_list) {
  all_.push_back({"--" + option->get_lnames().front(), type, is_list, limits, {}, option->get_description()});
}

void OptionTexts::add_number_or_flag(const CLI::Option* option, Range limits) {
  add(option, OptionType::whole_number, limits);
  all_.back().has_negation = true;
}

const OptionText* OptionTexts::find(const std::string& key) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const OptionText& text) { return text.key() == key; });
  return found != all_.end() ? &*found : nullptr;
}

std::vector<std::string> OptionTexts::nearest_keys(const std::string& key) const {
  std::vector<std::string> keys;
  for (const OptionText& text : all_) keys.push_back(text.key());
  return nearest_names(key, keys, 3);
}

Json OptionTexts::json() const {
  Json list = Json::array();
  for (const OptionText& text : all_) {
    Json one{{"key", text.key()},    {"option", text.option},         {"type", name_of(text.type)},
             {"list", text.is_list}, {"negation", text.has_negation}, {"split", text.is_split}};
    if (text.limits) one["minimum"] = text.limits->low;
    if (text.limits) one["maximum"] = text.limits->high;
    if (!text.choices.empty()) one["choices"] = text.choices;
    one["help"] = text.help;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace lockstep::sim::api
