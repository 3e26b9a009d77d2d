#include "sim/launch/tree.hpp"

#include <toml++/toml.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/python_repr.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr int kDeepestTree = 32;
constexpr std::size_t kMostValues = 20'000, kLargest = 4 << 20, kMostBytes = 64 << 20;

// Collects settings and enforces the limits.
class Flattener {
 public:
  explicit Flattener(std::string name) : name_(std::move(name)) {}

  void add(const std::string& key, Json value, int line) {
    if (settings_.all().size() > kMostValues) refuse("more than 20,000 values");
    bytes_ += key.size() + bytes_of(value);
    if (bytes_ > kMostBytes) refuse("more than 64 MiB of values, with those that its references repeat");
    LaunchSetting setting;
    setting.key = setting.written = one_line(key);
    setting.value = std::move(value);
    setting.place = {name_, line};
    settings_.add(std::move(setting));
  }
  void enter(int depth) {
    if (depth > kDeepestTree) refuse("nested deeper than 32");
    if (++visited_ > 4 * kMostValues) refuse("more than 20,000 values");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(name_ + ": " + what + "; give the part that describes the job");
  }
  [[noreturn]] void refuse_duplicate(const std::string& key, int line, int first_line) const {
    throw InputError(name_ + ":" + std::to_string(line) + ": duplicate key " + in_quotes(key) + ", also in line " +
                     std::to_string(first_line) + "; remove one of them");
  }
  LaunchSettings take() { return std::move(settings_); }

 private:
  static std::size_t bytes_of(const Json& value) {
    if (value.is_string()) return value.get_ref<const std::string&>().size();
    std::size_t bytes = sizeof(Json);
    if (value.is_array())
      for (const Json& item : value) bytes += bytes_of(item);
    return bytes;
  }

  std::string name_;
  LaunchSettings settings_;
  std::size_t visited_ = 0, bytes_ = 0;
};

std::string member_key(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + "." + key;
}

void flatten_json(const Json& node, const std::string& key, int depth, Flattener& out) {
  out.enter(depth);
  if (node.is_object()) {
    if (node.empty() && !key.empty()) return out.add(key, Json(), 0);
    for (const auto& [name, member] : node.items()) flatten_json(member, member_key(key, name), depth + 1, out);
    return;
  }
  const bool has_structure =
      node.is_array() && std::any_of(node.begin(), node.end(), [](const Json& item) { return item.is_structured(); });
  if (!has_structure) return out.add(key, node, 0);
  std::size_t index = 0;
  for (const Json& item : node) flatten_json(item, member_key(key, std::to_string(index++)), depth + 1, out);
}

// Scalars without a tag follow YAML 1.1, as in PyYAML: null, booleans (also yes, no, on, off), numbers, else text.
Json scalar_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  const std::string small = lower_case(text);
  for (const char* yes : {"true", "yes", "on"})
    if (small == yes) return true;
  for (const char* no : {"false", "no", "off"})
    if (small == no) return false;
  double number = 0;
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  if ((is_digit(text[0]) || text[0] == '-' || text[0] == '.' || text[0] == '+') && stream >> number && stream.eof() &&
      std::isfinite(number)) {
    constexpr double kMostExact = 9e15;
    if (number == std::floor(number) && std::abs(number) < kMostExact) return static_cast<std::int64_t>(number);
    return number;
  }
  return text;
}

using YamlMembers = std::vector<std::pair<std::string, YAML::Node>>;

// Lists the members of a mapping. Those of "<<: *other" follow, if the mapping and earlier ones do not have them.
YamlMembers members_of(const YAML::Node& node, int depth, Flattener& out) {
  out.enter(depth);
  YamlMembers members;
  std::set<std::string> names;
  std::map<std::string, int> lines;  // of the mapping's own keys
  std::vector<YAML::Node> others;
  for (const auto& member : node) {
    const std::string name = member.first.IsScalar() ? member.first.Scalar() : "?";
    out.enter(depth);
    if (name != "<<") {
      const int line = member.first.Mark().line + 1;
      const auto [first, is_new] = lines.emplace(name, line);
      if (!is_new && member.first.IsScalar()) out.refuse_duplicate(name, line, first->second);
      members.emplace_back(name, member.second);
      names.insert(name);
    } else if (!member.second.IsSequence())
      others.push_back(member.second);
    else {
      for (const auto& one : member.second) others.push_back(one);
    }
  }
  for (const YAML::Node& other : others) {
    if (!other.IsMap()) out.refuse("\"<<\" needs a mapping");
    for (const auto& member : members_of(other, depth + 1, out)) {
      out.enter(depth);
      if (names.insert(member.first).second) members.push_back(member);
    }
  }
  return members;
}

void flatten_yaml(const YAML::Node& node, const std::string& key, int depth, Flattener& out) {
  out.enter(depth);
  const int line = node.Mark().line + 1;
  if (node.IsMap()) {
    if (node.size() == 0 && !key.empty()) return out.add(key, Json(), line);
    for (const auto& [name, member] : members_of(node, depth, out))
      flatten_yaml(member, member_key(key, name), depth + 1, out);
    return;
  }
  if (node.IsScalar()) return out.add(key, scalar_of(node), line);
  if (!node.IsSequence()) return out.add(key, Json(), line);
  bool has_structure = false;
  for (const auto& item : node) has_structure = has_structure || !item.IsScalar();
  Json list = Json::array();
  std::size_t index = 0;
  for (const auto& item : node) {
    out.enter(depth);
    if (has_structure)
      flatten_yaml(item, member_key(key, std::to_string(index++)), depth + 1, out);
    else
      list.push_back(scalar_of(item));
  }
  if (!has_structure) out.add(key, std::move(list), line);
}

Json toml_scalar(const toml::node& node) {
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_floating_point())
    return std::isfinite(value->get()) ? Json(value->get()) : Json("inf");
  if (const auto* value = node.as_string()) return value->get();
  return "a date";
}

void flatten_toml(const toml::node& node, const std::string& key, int depth, Flattener& out) {
  out.enter(depth);
  const int line = static_cast<int>(node.source().begin.line);
  if (const toml::table* table = node.as_table()) {
    for (const auto& member : *table)
      flatten_toml(member.second, member_key(key, std::string(member.first.str())), depth + 1, out);
    return;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr) return out.add(key, toml_scalar(node), line);
  bool has_structure = false;
  for (const toml::node& item : *array) has_structure = has_structure || item.is_table() || item.is_array();
  Json list = Json::array();
  std::size_t index = 0;
  for (const toml::node& item : *array) {
    if (has_structure)
      flatten_toml(item, member_key(key, std::to_string(index++)), depth + 1, out);
    else
      list.push_back(toml_scalar(item));
  }
  if (!has_structure) out.add(key, std::move(list), line);
}

// Notes where the documents of a YAML file begin that have a value.
class DocumentStarts : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;
  YAML::Mark latest;  // of all documents

  void OnDocumentStart(const YAML::Mark& mark) override {
    latest = mark;
    is_first_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { is_first_ = false; }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { note(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

 private:
  void note(const YAML::Mark& mark) {
    if (is_first_) marks.push_back(mark);
    is_first_ = false;
  }
  bool is_first_ = true;
};

// Refuses a second document. YAML::LoadAll() is not used: some text after a document's end gives it empty documents
// without an end.
void check_documents(const std::string& text, const std::string& name) {
  constexpr int kMostDocuments = 100;  // empty ones included
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  int documents = 0;
  while (documents < kMostDocuments && parser.HandleNextDocument(starts)) {
    ++documents;
    if (starts.marks.size() > 1)
      throw InputError(name + ":" + std::to_string(starts.marks[1].line + 1) +
                       ": a second document; give a file with the one that describes the job");
  }
  if (documents == kMostDocuments)
    throw InputError(name + ":" + std::to_string(starts.latest.line + 1) +
                     ": no YAML: text after the end of the document; correct the file");
}

void read_yaml(const std::string& text, const std::string& name, Flattener& out) {
  try {
    check_documents(text, name);
    flatten_yaml(YAML::Load(text), "", 0, out);
  } catch (const YAML::Exception& error) {
    throw InputError(name + ":" + std::to_string(std::max(0, error.mark.line) + 1) +
                     ": no YAML: " + one_line(error.msg) + "; correct the file");
  }
}

void read_toml(const std::string& text, const std::string& name, Flattener& out) {
  try {
    flatten_toml(toml::parse(text), "", 0, out);
  } catch (const toml::parse_error& error) {
    throw InputError(name + ":" + std::to_string(error.source().begin.line) +
                     ": no TOML: " + one_line(std::string(error.description())) + "; correct the file");
  }
}

void read_python(const std::string& text, const std::string& name, Flattener& out) {
  const std::optional<Json> printed = tree_of_python_repr(text);
  if (!printed) throw InputError(name + ": no object that Python printed; correct the text");
  flatten_json(*printed, "", 0, out);
}

}  // namespace

LaunchSettings read_tree_as_written(const std::string& text, const std::string& name, TreeSyntax syntax) {
  Flattener out(name);
  if (text.size() > kLargest) out.refuse("more than 4 MiB");
  if (syntax == TreeSyntax::json)
    flatten_json(JsonDocument::parse(text, name).json(), "", 0, out);
  else if (syntax == TreeSyntax::toml)
    read_toml(text, name, out);
  else if (syntax == TreeSyntax::python)
    read_python(text, name, out);
  else
    read_yaml(text, name, out);
  return out.take();
}

LaunchSettings read_tree(const std::string& text, const std::string& name, TreeSyntax syntax,
                         const LaunchSettings& overrides) {
  LaunchSettings settings = read_tree_as_written(text, name, syntax);
  settings.append(overrides);
  settings.resolve_references();
  return settings;
}

}  // namespace lockstep::sim::launch
