#include "sim/scenario/profile_spec.hpp"

#include "engine/base/text.hpp"

namespace lockstep::sim {
namespace {

bool has(const Json& key, const char* member, const Json& value) {
  const auto found = key.find(member);
  return found != key.end() && *found == value;
}

bool is_iteration(const calib::Fit& fit, const ProfileSpec& spec) {
  return fit.probe == "iteration" && has(fit.key, "model", spec.model) && has(fit.key, "precision", spec.precision) &&
         has(fit.key, "learners", 1) && fit.key.value("input", "") == spec.input;
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

const calib::Fit& ProfileSpec::iteration_fit(int devices) const {
  const calib::Fit* best = nullptr;
  for (const calib::Fit& fit : profile->fits) {
    if (!is_iteration(fit, *this)) continue;
    const int mine = devices_of(fit), others = best ? devices_of(*best) : 0;
    const bool is_closer = mine >= devices ? others < devices || mine < others : others < devices && mine > others;
    if (!best || is_closer) best = &fit;
  }
  return *best;
}

const calib::LineFit* ProfileSpec::all_reduce(int ranks) const {
  for (const calib::Fit& fit : profile->fits)
    if (fit.probe == "collective" && has(fit.key, "operation", exchange) && has(fit.key, "ranks", ranks) &&
        fit.key.find("in_place") == fit.key.end())
      return &fit.line;
  return nullptr;
}

LayerSeconds ProfileSpec::layer(const std::string& name, double batch) const {
  LayerSeconds seconds;
  const auto found = layers.find(name);
  if (found == layers.end()) return seconds;
  for (const auto& [pass, fit] : found->second) {
    if (pass == "forward") seconds.forward_s += fit->at(batch);
    if (pass.rfind("backward", 0) == 0) seconds.backward_s += fit->at(batch);
  }
  return seconds;
}

const calib::LineFit* ProfileSpec::update(const std::string& kernel) const {
  for (const calib::Fit& fit : profile->fits)
    if (fit.probe == "update" && has(fit.key, "kernel", kernel)) return &fit.line;
  return nullptr;
}

std::optional<MeasuredOverlap> ProfileSpec::overlap(int devices) const {
  if (!profile) return std::nullopt;
  return measured_overlap(*profile, model, precision, devices);
}

ProfileSpec read_profile(const JsonNode& node, const std::string& model, const std::string& precision,
                         const std::string& input) {
  ProfileSpec spec;
  spec.profile = std::make_shared<const calib::Profile>(calib::profile_from_json(node));
  spec.model = model;
  spec.precision = precision == "mixed" ? "fp16" : precision;
  spec.input = input;
  bool is_measured = false;
  std::vector<std::string> others;
  for (const calib::Fit& fit : spec.profile->fits) {
    if (fit.probe == "layer" && has(fit.key, "model", spec.model) && has(fit.key, "precision", spec.precision))
      spec.layers[fit.key.value("layer", "")][fit.key.value("pass", "")] = &fit.line;
    if (fit.probe != "iteration") continue;
    if (is_iteration(fit, spec)) {
      is_measured = true;
      note(
          node, *spec.profile, fit,
          "iterations of " + model + ", " + spec.precision + ", " + std::to_string(devices_of(fit)) + " devices busy,");
    } else {
      others.push_back(fit.key.value("model", "?") + " at " + fit.key.value("precision", "?") +
                       (fit.key.contains("input") ? " with input" : ""));
    }
  }
  if (!is_measured)
    node.fail("has no iterations of \"" + model + "\" at " + spec.precision + " by one learner" +
                  (input.empty() ? "" : " beside an input pipeline (" + input + ")"),
              others.empty() ? "" : "allowed: " + joined(others));
  return spec;
}

}  // namespace lockstep::sim
