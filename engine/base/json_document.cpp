#include <algorithm>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/command_name.hpp"
#include "engine/base/json.hpp"
#include "engine/base/json_text.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

/// Parses a value given on the command line as JSON, else takes it as a string: gpus=8 and bandwidth=40 Gbit/s both
/// work. If it starts like an object, array or string, a syntax error is reported.
Json setting_value(const std::string& pointer, const std::string& text, const std::string& origin) {
  try {
    return parse_json(text, origin + ": " + pointer);
  } catch (const InputError&) {
    if (!text.empty() && std::string("{[\"").find(text[0]) != std::string::npos) throw;
    return text;
  }
}

[[noreturn]] void no_such_place(const std::string& origin, const std::string& pointer, const std::string& why) {
  throw InputError(one_line(origin + ": " + pointer + ": no such place; " + why));
}

std::string join_pointer(const std::vector<std::string>& keys) {
  std::string pointer;
  for (const std::string& key : keys) pointer = child_pointer(pointer, key);
  return pointer;
}

/// The value that the keys lead to; null when there is none.
Json* find_value(Json& root, const std::vector<std::string>& keys) {
  const Json* value = &root;
  for (const std::string& key : keys) {
    value = child(*value, key);
    if (!value) return nullptr;
  }
  return const_cast<Json*>(value);  // `root` is not const
}

/// The container of the last key of `pointer`. All keys before it must exist.
Json& parent_of(Json& root, const std::string& origin, const std::string& pointer,
                const std::vector<std::string>& keys) {
  const Json* value = &root;
  std::string place;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    value = child(*value, keys[i]);
    place = child_pointer(place, keys[i]);
    if (!value) no_such_place(origin, pointer, in_quotes(place) + " does not exist");
  }
  if (!value->is_object() && !value->is_array())
    no_such_place(origin, pointer, in_quotes(place) + " is " + kind_of(*value));
  return const_cast<Json&>(*value);  // `root` is not const
}

}  // namespace

JsonDocument JsonDocument::parse(const std::string& text, const std::string& name) {
  JsonDocument document;
  document.name_ = name;
  document.root_ = parse_json(text, name);
  return document;
}

void add_assumptions(std::vector<Assumption>& all, const std::vector<Assumption>& more) {
  for (const Assumption& a : more) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const Assumption& b) {
      return a.pointer == b.pointer && a.value == b.value && a.kind == b.kind && a.source == b.source;
    });
    if (!is_known) all.push_back(a);
  }
}

JsonDocument JsonDocument::load(const std::string& path) {
  std::string text;
  std::string why;
  if (!try_read_file(path, kLargestFile, text, why)) throw InputError(one_line(path + ": cannot read: " + why));
  if (text.rfind("#!", 0) == 0)
    throw InputError(
        one_line(path + ": this is a script; allowed: " + command_of_program("simulate") + " job --from " + path));
  JsonDocument document = parse(text, path);
  document.texts_[path] = std::make_shared<const std::string>(std::move(text));
  return document;
}

std::map<std::string, std::string> JsonDocument::inputs() const {
  std::map<std::string, std::string> inputs;
  for (const auto& [path, text] : texts_) inputs[path] = sha256_hex(*text);
  return inputs;
}

JsonNode JsonDocument::root() const {
  return JsonNode(this, &root_, "");
}

void JsonDocument::include(const std::string& pointer) {
  std::vector<std::string> keys;
  Json* const value = split_pointer(pointer, keys) ? find_value(root_, keys) : nullptr;
  if (!value || !value->is_string()) return;
  const std::filesystem::path named = value->get<std::string>();
  if (named.extension() != ".json") return;
  const Origin* const origin = origin_of(pointer);
  const std::filesystem::path folder =
      origin ? std::filesystem::path(origin->folder) : std::filesystem::path(name_).parent_path();
  const std::string path = (folder / named).lexically_normal().string();
  std::string text;
  std::string why;
  if (!try_read_file(path, kLargestFile, text, why)) {
    throw InputError(one_line(locate(pointer) + ": cannot read " + in_quotes(path) + ": " + why));
  }
  *value = parse_json(text, path);
  texts_[path] = std::make_shared<const std::string>(std::move(text));
  replaced({join_pointer(keys), path, std::filesystem::path(path).parent_path().string(), false});
}

void JsonDocument::set(const std::string& pointer, const std::string& text, const std::string& origin,
                       const std::string& folder) {
  std::vector<std::string> keys;
  if (!split_pointer(pointer, keys) || keys.empty()) {
    throw InputError(origin + ": " + in_quotes(pointer) + " is not a place in the scenario; allowed: /member/member");
  }
  Json& parent = parent_of(root_, origin, pointer, keys);
  const Json* const old = child(parent, keys.back());
  if (!old && parent.is_array())
    no_such_place(origin, pointer, "the array has " + std::to_string(parent.size()) + " elements");
  Json value = setting_value(pointer, text, origin);
  if (parent.is_object()) {
    parent[keys.back()] = std::move(value);
  } else {
    parent[std::stoul(keys.back())] = std::move(value);
  }
  replaced({join_pointer(keys), origin, folder, true});
}

/// Records that a subtree has a new origin, and drops the origins and assumptions recorded for the old one.
void JsonDocument::replaced(const Origin& origin) {
  const std::string& pointer = origin.pointer;
  const auto below = [&pointer](const auto& entry) { return is_within(entry.pointer, pointer); };
  origins_.erase(std::remove_if(origins_.begin(), origins_.end(), below), origins_.end());
  const auto concerned = [&](const Assumption& entry) { return below(entry) || is_within(pointer, entry.pointer); };
  assumptions_.erase(std::remove_if(assumptions_.begin(), assumptions_.end(), concerned), assumptions_.end());
  origins_.push_back(origin);
}

void JsonDocument::note(const Assumption& assumption) const {
  for (const Assumption& known : assumptions_) {
    if (known.pointer == assumption.pointer) return;
  }
  assumptions_.push_back(assumption);
}

/// The origin of the smallest subtree around `pointer`; null: the document's own file. The last match is the smallest,
/// because replaced() drops the origins inside a new subtree.
const JsonDocument::Origin* JsonDocument::origin_of(const std::string& pointer) const {
  const auto around = [&pointer](const Origin& origin) { return is_within(pointer, origin.pointer); };
  const auto found = std::find_if(origins_.rbegin(), origins_.rend(), around);
  return found == origins_.rend() ? nullptr : &*found;
}

std::string JsonDocument::file_of(const std::string& pointer) const {
  const Origin* const origin = origin_of(pointer);
  return origin ? origin->file : name_;
}

std::string JsonDocument::locate(const std::string& pointer) const {
  const Origin* const origin = origin_of(pointer);
  const bool inside = origin && !origin->is_setting;  // for a setting, the pointer of the whole document is shown
  const std::string place = inside ? pointer.substr(origin->pointer.size()) : pointer;
  return file_of(pointer) + ": " + (place.empty() ? "/" : place);
}

}  // namespace lockstep
