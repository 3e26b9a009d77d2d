#pragma once
// A scenario that is predicted under many settings.
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// A value to set in a scenario.
struct Setting {
  std::string pointer;  ///< "/nodes" stands for "/gpus", in whole nodes of the cluster
  std::string text;     ///< JSON, else taken as a string
  std::string origin;   ///< who sets it, for errors
  std::string folder;   ///< where files that it names are looked for

  bool operator==(const Setting& o) const {
    return pointer == o.pointer && text == o.text && origin == o.origin && folder == o.folder;
  }
};

/// A scenario's file, to which settings can be applied. It and its files are read once.
class ScenarioTemplate {
 public:
  /// `variant` names one of the scenario's variants; empty where it lists none. Throws InputError.
  static ScenarioTemplate load(const std::string& path, const std::string& variant = "");
  /// Parses a text that lies in the file `name`.
  static ScenarioTemplate parse(const std::string& text, const std::string& name, const std::string& variant = "");

  /// The one scenario with the settings applied in their order, read and checked as load_scenario() does.
  LoadedScenario with(const std::vector<Setting>& settings) const;
  /// Returns the document as written, with defaults filled in.
  const Json& json() const { return document_.json(); }

 private:
  friend class ScenarioSeries;
  ScenarioTemplate(JsonDocument document, const std::string& variant);
  JsonDocument document_;
  std::string variant_;
};

/// Makes scenarios of one template one after the other, as for the points of a plan. It reuses the settings and the
/// parts of the file that are the same as in the scenario before. The template must outlive it.
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
  const JsonDocument& under_all_but_last(const std::vector<const Setting*>& settings);

  const ScenarioTemplate& base_;
  std::vector<Level> levels_;
  Json read_;  // what latest_ was read from
  std::optional<Scenario> latest_;
};

}  // namespace lockstep::sim::scenario
