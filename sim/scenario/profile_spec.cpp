#include "sim/scenario/profile_spec.hpp"

#include "engine/base/text.hpp"

namespace lockstep::sim {
namespace {

bool has(const Json& key, const char* member, const Json& value) {
  const auto found = key.find(member);
  return found != key.end() && *found == value;
}

bool is_iteration(const calib::Fit& fit, const std::string& model, const std::string& precision) {
  return fit.probe == "iteration" && has(fit.key, "model", model) && has(fit.key, "precision", precision) &&
         has(fit.key, "learners", 1);
}

int devices_of(const calib::Fit& fit) {
  return fit.key.value("devices", 1);
}

void note(const JsonNode& node, const calib::Profile& profile, const calib::Fit& fit, const std::string& what) {
  const calib::LineFit& line = fit.line;
  node.document().note({node.pointer(), profile.name, fit.kind == "measured" ? "measured" : "published",
                        what + " on " + profile.device.name + ", " + fit.variable + " " + short_number(line.from_x) +
                            " to " + short_number(line.to_x) + ", worst residual " +
                            short_number(100 * line.worst_residual) + " %"});
}

}  // namespace

const calib::LineFit& ProfileSpec::iteration(int devices) const {
  const calib::Fit* best = nullptr;
  for (const calib::Fit& fit : profile->fits) {
    if (!is_iteration(fit, model, precision)) continue;
    const int mine = devices_of(fit), others = best ? devices_of(*best) : 0;
    const bool is_closer = mine >= devices ? others < devices || mine < others : others < devices && mine > others;
    if (!best || is_closer) best = &fit;
  }
  return best->line;
}

const calib::LineFit* ProfileSpec::all_reduce(int ranks) const {
  for (const calib::Fit& fit : profile->fits)
    if (fit.probe == "collective" && has(fit.key, "operation", "all-reduce") && has(fit.key, "ranks", ranks) &&
        fit.key.find("in_place") == fit.key.end())
      return &fit.line;
  return nullptr;
}

ProfileSpec read_profile(const JsonNode& node, const std::string& model, const std::string& precision) {
  ProfileSpec spec;
  spec.profile = std::make_shared<const calib::Profile>(calib::profile_from_json(node));
  spec.model = model;
  spec.precision = precision == "mixed" ? "fp16" : precision;
  bool is_measured = false;
  std::vector<std::string> others;
  for (const calib::Fit& fit : spec.profile->fits) {
    if (fit.probe != "iteration") continue;
    if (is_iteration(fit, spec.model, spec.precision)) {
      is_measured = true;
      note(
          node, *spec.profile, fit,
          "iterations of " + model + ", " + spec.precision + ", " + std::to_string(devices_of(fit)) + " devices busy,");
    } else {
      others.push_back(fit.key.value("model", "?") + " at " + fit.key.value("precision", "?"));
    }
  }
  if (!is_measured)
    node.fail("has no iterations of \"" + model + "\" at " + spec.precision + " by one learner",
              others.empty() ? "" : "allowed: " + joined(others));
  return spec;
}

}  // namespace lockstep::sim
