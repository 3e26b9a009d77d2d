#include "sim/launch/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/shell_tests.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

std::optional<double> number_in(const std::string& text) {
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value);
  return is_number ? std::optional<double>(value) : std::nullopt;
}

std::optional<bool> boolean_in(const std::string& text) {
  const std::string small = lower_case(text);
  if (small == "true" || small == "yes" || small == "1" || small == "on") return true;
  if (small == "false" || small == "no" || small == "0" || small == "off") return false;
  return std::nullopt;
}

// Resolves a relative reference: ".name" is in the section of `key`, "..name" in the section above.
std::string key_beside(const std::string& key, const std::string& reference) {
  const std::size_t levels = std::min(reference.find_first_not_of('.'), reference.size());
  std::string folder = key;
  for (std::size_t i = 0; i < levels; ++i)
    folder.resize(folder.rfind('.') == std::string::npos ? 0 : folder.rfind('.'));
  return folder + (folder.empty() ? "" : ".") + reference.substr(levels);
}

bool is_variable_name(const std::string& text) {
  const auto is_of_name = [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_of_name);
}

// Evaluates NeMo's "multiply:4, 1024", "divide_ceil:96,8", and products such as "eval:4 * 1024".
std::optional<double> value_of_function(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string name = text.substr(0, colon), arguments = text.substr(colon + 1);
  const std::size_t mark = arguments.find(name == "eval" ? '*' : ',');
  if (mark == std::string::npos) return std::nullopt;
  const auto number = [](std::string part) {
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    return number_in(part);
  };
  const std::optional<double> a = number(arguments.substr(0, mark)), b = number(arguments.substr(mark + 1));
  if (!a || !b) return std::nullopt;
  if (name == "multiply" || name == "eval") return *a * *b;
  if (*b != 0 && name == "divide_ceil") return std::ceil(*a / *b);
  if (*b != 0 && name == "divide_floor") return std::floor(*a / *b);
  return std::nullopt;
}

bool is_launcher_option(const std::string& key) {
  return is_among(key.substr(0, key.find('.')), {"sbatch", "srun", "flux", "jsrun", "mpirun", "torchrun", "deepspeed",
                                                 "accelerate", "composer", "sky"});
}

// Whether the pattern of UnreadKeys describes the key.
bool describes_key(const std::string& pattern, const std::string& key) {
  const std::string launcher = "launcher.";
  if (pattern.compare(0, launcher.size(), launcher) != 0) return matches_pattern(key, pattern);
  return is_launcher_option(key) && matches_pattern(key.substr(key.find('.') + 1), pattern.substr(launcher.size()));
}

Json number_json(double number) {
  constexpr double kMostExact = 9e15;
  if (number == std::floor(number) && std::abs(number) < kMostExact) return static_cast<std::int64_t>(number);
  return number;
}

bool is_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (!value.is_string()) return false;
  const std::string small = lower_case(value.get<std::string>());
  return small.empty() || small == "none" || small == "null" || small == "~";
}

}  // namespace

std::string plain_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : " ") + plain_text(item);
  return text;
}

std::string beginning_of(const std::string& text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (end > 0 && end < text.size() && continues(text[end])) --end;
  return one_line(text.substr(0, end));
}

std::string LaunchSetting::text() const {
  const std::string shown = beginning_of(plain_text(value), 80);
  const bool is_alone = shown.empty() || plain_text(value) == written;  // a word without an option
  return place.text() + ": " + beginning_of(written, 80) + (is_alone ? "" : " " + shown);
}

bool LaunchSetting::is_bare_option() const {
  return value.is_null() && (written.compare(0, 1, "-") == 0 || written.compare(0, 9, "#SBATCH -") == 0);
}

void fail_at(const LaunchSetting& setting, const std::string& wrong, const std::string& allowed) {
  throw InputError(setting.text() + ": " + wrong + "; " + allowed);
}

void LaunchSettings::add(LaunchSetting setting) {
  all_.push_back(std::move(setting));
}

void LaunchSettings::append(const LaunchSettings& other) {
  all_.insert(all_.end(), other.all_.begin(), other.all_.end());
  unevaluated_.insert(unevaluated_.end(), other.unevaluated_.begin(), other.unevaluated_.end());
  taken_as_unset_.insert(other.taken_as_unset_.begin(), other.taken_as_unset_.end());
}

const LaunchSetting* LaunchSettings::find(const std::string& key) const {
  for (auto setting = all_.rbegin(); setting != all_.rend(); ++setting)
    if (setting->key == key) return &*setting;
  return nullptr;
}

bool LaunchSettings::has_argument(const std::string& word) const {
  return std::any_of(all_.begin(), all_.end(), [&](const LaunchSetting& setting) {
    return setting.key == "argument" && setting.value == Json(word);
  });
}

const LaunchSetting* LaunchSettings::take(const std::string& key, const std::string& option) {
  LaunchSetting* last = nullptr;
  for (auto setting = all_.rbegin(); setting != all_.rend(); ++setting) {
    if (setting->key != key) continue;
    if (last == nullptr) {
      last = &*setting;
    } else {
      setting->use = Use::overridden;
      setting->why = "given again at " + last->place.text();
    }
  }
  if (last == nullptr) return nullptr;
  if (last->use == Use::unread && !last->unknown.empty())
    require_option(*last, option, one_line(last->unknown) + " cannot be evaluated");
  last->use = Use::read;
  return last->unknown.empty() ? last : nullptr;
}

std::optional<std::string> LaunchSettings::file_name(const std::string& key) const {
  const LaunchSetting* const setting = find(key);
  if (setting == nullptr || is_nothing(setting->value) || !setting->value.is_string()) return std::nullopt;
  return plain_text(setting->value);
}

const LaunchSetting& LaunchSettings::at(const std::string& key) {
  (void)take(key);
  const LaunchSetting* const setting = find(key);
  if (setting == nullptr) throw std::out_of_range("no setting " + key);
  return *setting;
}

void LaunchSettings::require_option(const LaunchSetting& setting, const std::string& option, const std::string& why) {
  unevaluated_.push_back({setting, option, why});
}

bool LaunchSettings::needs_option(const std::string& option) const {
  return std::any_of(unevaluated_.begin(), unevaluated_.end(),
                     [&](const Unevaluated& value) { return value.option == option; });
}

std::optional<double> LaunchSettings::number(const std::string& key, const std::string& option) {
  const LaunchSetting* setting = take(key, option);
  if (setting == nullptr || is_nothing(setting->value)) return std::nullopt;
  if (setting->value.is_number()) return setting->value.get<double>();
  const std::string text = plain_text(setting->value);
  const std::optional<double> number = number_in(text);
  if (!number && text.find('$') != std::string::npos) {
    require_option(*setting, option, text + " cannot be evaluated");
    return std::nullopt;
  }
  if (!number) fail_at(*setting, in_quotes(text) + " is no number", "give a number");
  return number;
}

std::optional<std::int64_t> LaunchSettings::whole(const std::string& key, const std::string& option) {
  constexpr double kMost = 1e15;
  const std::optional<double> value = number(key, option);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || std::abs(*value) > kMost)
    fail_at(*find(key), short_number(*value) + " is no whole number", "give a whole number");
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> LaunchSettings::text(const std::string& key, const std::string& option) {
  const LaunchSetting* setting = take(key, option);
  if (setting == nullptr || is_nothing(setting->value)) return std::nullopt;
  return plain_text(setting->value);
}

std::vector<std::string> LaunchSettings::words(const std::string& key, const std::string& option) {
  const std::optional<std::string> value = text(key, option);
  std::vector<std::string> words;
  std::string word;
  for (const char c : value.value_or("") + " ") {
    if (c != ' ' && c != ',' && c != '[' && c != ']' && c != '"' && c != '\'') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  return words;
}

std::optional<bool> LaunchSettings::boolean(const std::string& key, const std::string& option) {
  const LaunchSetting* setting = take(key, option);
  if (setting == nullptr) return std::nullopt;
  if (setting->value.is_null()) return setting->is_bare_option() ? std::optional<bool>(true) : std::nullopt;
  if (setting->value.is_boolean()) return setting->value.get<bool>();
  if (is_nothing(setting->value)) return false;
  const std::optional<bool> value = boolean_in(plain_text(setting->value));
  if (!value) fail_at(*setting, "is neither true nor false", "give true or false");
  return value;
}

std::string LaunchSettings::switch_value(const std::string& key, const std::string& option) {
  const LaunchSetting* const setting = take(key, option);
  if (setting == nullptr) return "";
  if (setting->is_bare_option()) return "true";
  return is_nothing(setting->value) ? "" : lower_case(plain_text(setting->value));
}

bool LaunchSettings::is_on(const std::string& key, const std::string& option) {
  return boolean(key, option).value_or(false);
}

void LaunchSettings::rename(const std::string& key, const std::string& to, std::size_t first) {
  for (std::size_t i = first; i < all_.size(); ++i)
    if (all_[i].key == key) all_[i].key = to;
}

void LaunchSettings::replace(const std::string& key, Json value) {
  replace_key(key, key, std::move(value));
}

void LaunchSettings::set_unknown(const std::string& key, const std::string& unknown) {
  for (LaunchSetting& setting : all_)
    if (setting.key == key) setting.unknown = unknown;
}

void LaunchSettings::replace_key(const std::string& key, const std::string& to, Json value) {
  for (LaunchSetting& setting : all_)
    if (setting.key == key) {
      setting.key = to;
      setting.value = value;
    }
}

void LaunchSettings::replace_prefix(const std::string& prefix, const std::string& to) {
  for (LaunchSetting& setting : all_)
    if (setting.key.compare(0, prefix.size(), prefix) == 0) setting.key = to + setting.key.substr(prefix.size());
}

void LaunchSettings::replace_hyphens() {
  for (LaunchSetting& setting : all_) std::replace(setting.key.begin(), setting.key.end(), '-', '_');
}

void LaunchSettings::set_aside(const std::string& key, const std::string& why) {
  for (LaunchSetting& setting : all_) {
    if (setting.key != key) continue;
    setting.key = "overridden " + key;
    setting.use = Use::overridden;
    setting.why = why;
  }
}

void LaunchSettings::set_aside_auto() {
  for (LaunchSetting& setting : all_) {
    if (setting.value != Json("auto") || setting.use != Use::unread || setting.key == "bf16" || setting.key == "fp16")
      continue;
    setting.key = "auto " + setting.key;
    setting.use = Use::no_effect;
    setting.why = "auto: the Trainer's value holds";
  }
}

void LaunchSettings::resolve_references(const std::map<std::string, Word>& environment) {
  constexpr int kRounds = 8;  // limit for references to references
  constexpr std::size_t kMostBytes = 64 << 20;
  std::size_t bytes = 0;
  for (int round = 0; round < kRounds; ++round)
    for (LaunchSetting& setting : all_) {
      if (!setting.value.is_string()) continue;
      const std::string text = setting.value.get<std::string>();
      if (text == "???") setting.unknown = text;  // OmegaConf: the command must give this value
      const std::size_t begin = text.rfind("${"), end = text.find('}', begin);
      if (begin == std::string::npos || end == std::string::npos || end < begin + 3) continue;
      const std::optional<Json> value =
          value_of_reference(setting, text.substr(begin + 2, end - begin - 2), environment);
      const bool is_whole = begin == 0 && end + 1 == text.size();
      setting.unknown = value ? "" : text.substr(begin, end - begin + 1);
      if (value && value->is_string()) bytes += text.size() + value->get_ref<const std::string&>().size();
      if (bytes > kMostBytes)
        throw InputError(setting.text() + ": references repeat more than 64 MiB; give the part that describes the job");
      if (value)
        setting.value = is_whole ? *value : Json(text.substr(0, begin) + plain_text(*value) + text.substr(end + 1));
    }
}

std::optional<Json> LaunchSettings::value_of_reference(const LaunchSetting& setting, const std::string& inside,
                                                       const std::map<std::string, Word>& environment) {
  const LaunchSetting* other = find(inside.front() == '.' ? key_beside(setting.key, inside) : inside);
  const bool is_value = other != nullptr && other != &setting &&
                        !(other->value.is_string() && other->value.get<std::string>().find("${") != std::string::npos);
  if (is_value) return other->value;
  if (const std::optional<double> number = value_of_function(inside)) return number_json(*number);
  // OmegaConf: "${oc.env:NAME,8}"; Primus: "${NAME:8}".
  const bool is_variable = inside.compare(0, 7, "oc.env:") == 0;
  const std::string text = is_variable ? inside.substr(7) : inside;
  const std::size_t mark = text.find(is_variable ? ',' : ':');
  const std::string name = text.substr(0, mark);
  if (!is_variable && (mark == std::string::npos || !is_variable_name(name))) return std::nullopt;
  if (const auto set = environment.find(name); set != environment.end())
    return set->second.unknown.empty() ? std::optional<Json>(set->second.text) : std::nullopt;
  if (mark == std::string::npos) return std::nullopt;
  taken_as_unset_.insert(name);
  return text.substr(mark + 1);
}

void LaunchSettings::mark(const std::string& key, Use use, const std::string& why) {
  for (LaunchSetting& setting : all_)
    if (matches_pattern(setting.key, key) && setting.use != Use::overridden) {
      setting.use = use;
      setting.why = why;
    }
}

void LaunchSettings::mark_written(const std::string& written, Use use, const std::string& why) {
  for (LaunchSetting& setting : all_)
    if (setting.written == written && setting.use != Use::overridden) {
      setting.use = use;
      setting.why = why;
    }
}

void LaunchSettings::mark_rest(const std::vector<UnreadKeys>& tables) {
  for (LaunchSetting& setting : all_) {
    if (setting.use != Use::unread) continue;
    setting.use = Use::unknown;
    if (setting.key == "argument" && !setting.unknown.empty()) {
      setting.why = "cannot be evaluated";
      continue;
    }
    for (const UnreadKeys& table : tables) {
      std::istringstream keys(table.keys);
      for (std::string key; keys >> key && setting.use == Use::unknown;)
        if (describes_key(key, setting.key)) {
          setting.use = table.use;
          setting.why = table.why;
        }
    }
  }
}

}  // namespace lockstep::sim::launch
