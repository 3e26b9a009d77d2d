#pragma once
// Reads a scenario that is predicted under many settings.
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// A value to set in a scenario.
struct Setting {
  std::string pointer;  ///< "/nodes" stands for "/gpus", in whole nodes of the cluster
  std::string text;     ///< JSON; other text is taken as a string
  std::string origin;   ///< origin of the setting, for errors
  std::string folder;   ///< folder of the files that it names

  bool operator==(const Setting& o) const {
    return pointer == o.pointer && text == o.text && origin == o.origin && folder == o.folder;
  }
};

/// A scenario's file, to which settings can be applied. It and the files it names are read once.
class ScenarioTemplate {
 public:
  /// `variant`: one of the scenario's variants; empty if it lists none. Throws InputError.
  static ScenarioTemplate load(const std::string& path, const std::string& variant = "");
  /// Reads `text` as the content of the file `name`.
  static ScenarioTemplate parse(const std::string& text, const std::string& name, const std::string& variant = "");

  /// Returns the scenario with the settings applied in order, read and checked as load_scenario() does.
  LoadedScenario with(const std::vector<Setting>& settings) const;
  /// Returns the document as written, with defaults filled in.
  const Json& json() const { return document_.json(); }

 private:
  friend class ScenarioSeries;
  ScenarioTemplate(JsonDocument document, const std::string& variant);
  JsonDocument document_;
  std::string variant_;
};

/// A setting at this pointer changes no default and no other part of a file. ScenarioSeries reads such points fastest.
inline constexpr const char* kBatchPointer = "/batch_per_gpu";

/// Makes scenarios of one template one after the other, as for the points of a plan. It reuses results of settings and
/// of parts of the file that are the same as for the previous scenario. The template must outlive it.
class ScenarioSeries {
 public:
  explicit ScenarioSeries(const ScenarioTemplate& base) : base_(base) {}
  /// Returns the scenario of ScenarioTemplate::with(). It is valid until the next call. Throws InputError.
  const Scenario& with(const std::vector<Setting>& settings);

 private:
  // A document to which the first settings are applied, up to and including `setting`.
  struct Level {
    Setting setting;
    JsonDocument document;
  };
  struct Latest {
    std::vector<Setting> settings;
    JsonDocument document;  // from which the scenario was read
    Scenario scenario;
  };
  const JsonDocument& under_all_but_last(const std::vector<const Setting*>& settings);
  JsonDocument document_with(const std::vector<Setting>& settings);

  const ScenarioTemplate& base_;
  std::vector<Level> levels_;
  std::optional<Latest> latest_;  // none after an error
};

}  // namespace lockstep::sim::scenario
