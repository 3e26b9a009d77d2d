#include "sim/api/command_words.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/unknown_argument.hpp"

namespace lockstep::sim::api {
namespace {

[[noreturn]] void refuse(const OptionText& text, const Json& value) {
  throw InputError(text.key() + ": " + value.dump() + " is no " + (text.is_list ? "list, nor one " : "") +
                   name_of(text.type) + "; allowed: " + (text.type == OptionType::flag ? "true or false" : text.help));
}

std::string written_number(const Json& value) {
  const double number = value.get<double>();
  const bool is_whole = std::abs(number) < 1e15 && number == std::floor(number);
  return is_whole ? std::to_string(static_cast<std::int64_t>(number)) : Json(number).dump();
}

std::string written(const OptionText& text, const Json& value) {
  if (value.is_number()) return written_number(value);
  const bool takes_text = text.type == OptionType::text;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && takes_text) return value.dump();
  refuse(text, value);
}

std::string written_list(const OptionText& text, const Json& values) {
  std::string list;
  for (const Json& value : values) list += (list.empty() ? "" : ",") + written(text, value);
  return list;
}

}  // namespace

std::vector<std::string> command_words(const Json& options, const OptionTexts& texts) {
  std::vector<std::string> words;
  for (const auto& [key, value] : options.items()) {
    const OptionText* const text = texts.find(key);
    if (text == nullptr)
      throw InputError(key + ": no option of that name; nearest: " + joined(texts.nearest_keys(key)));
    if (value.is_null()) continue;
    if (text->type == OptionType::flag || (text->has_negation && value.is_boolean())) {
      if (!value.is_boolean()) refuse(*text, value);
      if (value.get<bool>())
        words.push_back(text->option);
      else if (text->has_negation)
        words.push_back("--no-" + text->option.substr(2));
    } else if (value.is_array()) {
      if (!text->is_list) refuse(*text, value);
      if (!value.empty()) words.push_back(text->option + "=" + written_list(*text, value));
    } else {
      words.push_back(text->option + "=" + written(*text, value));
    }
  }
  return words;
}

std::vector<std::string> kernel_words(const Json& options) {
  std::vector<std::string> words{"kernel"};
  const auto kind = options.find("kernel");
  if (kind != options.end() && kind->is_string()) words.push_back(kind->get<std::string>());
  for (const auto& [key, value] : options.items()) {
    if (key == "kernel" || value.is_null()) continue;
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    words.push_back(option + "=" +
                    (value.is_number()   ? written_number(value)
                     : value.is_string() ? value.get<std::string>()
                                         : value.dump()));
  }
  return words;
}

void parse_words(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 expects them in reverse
  try {
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    throw InputError(unknown_argument_text(app));
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
}

void parse_options(CLI::App& app, const Json& options, const OptionTexts& texts) {
  parse_words(app, command_words(options, texts));
}

}  // namespace lockstep::sim::api
