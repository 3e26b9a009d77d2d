#pragma once
// Reads keys of a HuggingFace configuration, with the defaults of the transformers class that would read it.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {

class ConfigReader {
 public:
  /// `class_name` is the name in transformers, "LlamaConfig".
  ConfigReader(const JsonNode& node, std::string class_name) : node_(node), class_name_(std::move(class_name)) {}

  /// An absent key or null means the class's default, which is recorded as an assumption.
  int whole(const std::string& key, int otherwise, int low = 1, int high = 1'000'000'000) const;
  bool boolean(const std::string& key, bool otherwise) const;
  /// Reads a probability and returns whether it is above 0.
  bool drops(const std::string& key, double otherwise) const;
  double fraction(const std::string& key, double otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  /// Reads an activation by its name in transformers.
  LayerKind activation(const std::string& key, const std::string& otherwise) const;
  LayerKind activation_named(const std::string& key, const std::string& name) const;
  /// Returns 0 for null. For an absent key, returns the class's default, and records it unless it is 0.
  int nullable(const std::string& key, int otherwise, int low = 0) const;
  /// Returns `derived` for null or an absent key. It follows from other keys, so it is not recorded.
  int whole_or(const std::string& key, int derived) const;
  /// Returns the first of the keys that is present, or the first key if none is. Configurations of one class use two
  /// names for some numbers.
  std::string given_of(const std::vector<std::string>& keys) const;
  std::vector<int> wholes(const std::string& key) const;
  bool has(const std::string& key) const;
  JsonNode at(const std::string& key) const { return node_.at(key); }

  /// Refuses a key unless its value is `only` or it is absent; other values change the arithmetic in a way that is not
  /// modelled.
  void must_be(const std::string& key, const Json& only, const std::string& why) const;
  void note(const std::string& key, const Json& value, const std::string& source) const;
  [[noreturn]] void fail(const std::string& key, const std::string& wrong, const std::string& allowed) const;

 private:
  void note_default(const std::string& key, const Json& value) const;

  JsonNode node_;
  std::string class_name_;
};

}  // namespace lockstep::model
