#include "engine/model/transformer/config_reader.hpp"

#include <map>

#include "engine/base/text.hpp"

namespace lockstep::model {
namespace {

constexpr int kLargest = 1'000'000'000;

}  // namespace

bool ConfigReader::has(const std::string& key) const {
  const auto found = node_.find(key);
  return found && !found->is_null();
}

void ConfigReader::note(const std::string& key, const Json& value, const std::string& source) const {
  node_.document().note({node_.pointer() + "/" + key, value, "assumed", source});
}

void ConfigReader::note_default(const std::string& key, const Json& value) const {
  note(key, value, "default of transformers' " + class_name_);
}

void ConfigReader::fail(const std::string& key, const std::string& wrong, const std::string& allowed) const {
  node_.at(key).fail(wrong, "allowed: " + allowed);
}

int ConfigReader::whole(const std::string& key, int otherwise, int low, int high) const {
  if (has(key)) return static_cast<int>(node_.at(key).integer(low, high));
  note_default(key, otherwise);
  return otherwise;
}

bool ConfigReader::boolean(const std::string& key, bool otherwise) const {
  if (has(key)) return node_.at(key).boolean();
  note_default(key, otherwise);
  return otherwise;
}

double ConfigReader::fraction(const std::string& key, double otherwise) const {
  if (has(key)) return node_.at(key).number({0, 1});
  note_default(key, otherwise);
  return otherwise;
}

bool ConfigReader::drops(const std::string& key, double otherwise) const {
  return fraction(key, otherwise) > 0;
}

std::string ConfigReader::text(const std::string& key, const std::string& otherwise) const {
  if (has(key)) return node_.at(key).text();
  note_default(key, otherwise);
  return otherwise;
}

LayerKind ConfigReader::activation_named(const std::string& key, const std::string& name) const {
  static const std::map<std::string, LayerKind> kinds{
      {"relu", LayerKind::relu},       {"gelu", LayerKind::gelu},         {"gelu_new", LayerKind::gelu},
      {"gelu_fast", LayerKind::gelu},  {"silu", LayerKind::silu},         {"gelu_pytorch_tanh", LayerKind::gelu},
      {"quick_gelu", LayerKind::gelu}, {"swish", LayerKind::silu},        {"gelu_python", LayerKind::gelu},
      {"relu2", LayerKind::relu},      {"relu_squared", LayerKind::relu}, {"xielu", LayerKind::gelu},
  };
  const auto found = kinds.find(name);
  if (found != kinds.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, kind] : kinds) names.push_back(known);
  fail(key, "activation " + in_quotes(name) + " is unknown", joined(names));
}

LayerKind ConfigReader::activation(const std::string& key, const std::string& otherwise) const {
  return activation_named(key, text(key, otherwise));
}

int ConfigReader::nullable(const std::string& key, int otherwise, int low) const {
  if (has(key)) return static_cast<int>(node_.at(key).integer(low, kLargest));
  if (node_.has(key) || otherwise == 0) return 0;
  note_default(key, otherwise);
  return otherwise;
}

int ConfigReader::whole_or(const std::string& key, int derived) const {
  return has(key) ? static_cast<int>(node_.at(key).integer(1, kLargest)) : derived;
}

std::string ConfigReader::given_of(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys)
    if (has(key)) return key;
  return keys.front();
}

std::vector<int> ConfigReader::wholes(const std::string& key) const {
  std::vector<int> values;
  if (!has(key)) return values;
  for (const JsonNode& item : node_.at(key).items()) values.push_back(static_cast<int>(item.integer(0, 1'000'000)));
  return values;
}

void ConfigReader::must_be(const std::string& key, const Json& only, const std::string& why) const {
  if (has(key) && node_.at(key).json() != only) fail(key, why, only.dump());
}

}  // namespace lockstep::model
