#include "sim/scenario/profile_spec.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::scenario {
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

bool has_iterations(const ProfileSpec& spec) {
  const std::vector<calib::Fit>& fits = spec.profile->fits;
  return std::any_of(fits.begin(), fits.end(), [&](const calib::Fit& fit) { return is_iteration(fit, spec); });
}

// Mixed precision may have been measured in either half precision.
std::string measured_precision(ProfileSpec spec, Precision precision) {
  if (precision != Precision::mixed) return name_of(precision);
  spec.precision = "bf16";
  const bool has_bf16 = has_iterations(spec);
  spec.precision = "fp16";
  return has_bf16 && !has_iterations(spec) ? "bf16" : "fp16";
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

std::vector<FillSpec> ProfileSpec::fill(int devices) const {
  const calib::Fit& alone = iteration_fit(devices);
  std::map<double, double> alone_s, least;  // by batch
  for (const calib::Measured& sample : profile->curve("iteration", alone.key)) alone_s[sample.x] = sample.seconds;
  for (const calib::Fit& fit : profile->fits) {
    if (fit.probe != "iteration" || !fit.key.contains("learners") || fit.key["learners"].get<int>() < 2) continue;
    Json as_alone = fit.key;
    as_alone["learners"] = 1;
    if (nlohmann::json(as_alone) != nlohmann::json(alone.key)) continue;  // the order of members does not matter
    for (const calib::Measured& sample : profile->curve("iteration", fit.key)) {
      const auto one = alone_s.find(sample.x);
      if (one == alone_s.end()) continue;
      const double filled = std::clamp(sample.seconds / (fit.key["learners"].get<int>() * one->second), 1e-3, 1.0);
      const auto [entry, is_new] = least.try_emplace(sample.x, filled);
      if (!is_new) entry->second = std::min(entry->second, filled);
    }
  }
  std::vector<FillSpec> curve;
  for (const auto& [batch, filled] : least) curve.push_back({static_cast<int>(batch), filled});
  return curve;
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

ProfileSpec read_profile(const JsonNode& node, const std::string& model, Precision precision,
                         const std::string& input) {
  ProfileSpec spec;
  spec.profile = std::make_shared<const calib::Profile>(calib::profile_from_json(node));
  spec.model = model;
  spec.input = input;
  spec.precision = measured_precision(spec, precision);
  std::vector<std::string> others;
  for (const calib::Fit& fit : spec.profile->fits) {
    if (fit.probe == "layer" && has(fit.key, "model", spec.model) && has(fit.key, "precision", spec.precision))
      spec.layers[fit.key.value("layer", "")][fit.key.value("pass", "")] = &fit.line;
    if (fit.probe != "iteration") continue;
    if (is_iteration(fit, spec)) {
      note(
          node, *spec.profile, fit,
          "iterations of " + model + ", " + spec.precision + ", " + std::to_string(devices_of(fit)) + " devices busy,");
    } else {
      const std::string other = fit.key.value("model", "?") + " at " + fit.key.value("precision", "?") +
                                (fit.key.contains("input") ? " with input" : "");
      if (std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
    }
  }
  if (!has_iterations(spec))
    node.fail("has no iterations of \"" + model + "\" at " + spec.precision + " by one learner" +
                  (input.empty() ? "" : " beside an input pipeline (" + input + ")"),
              others.empty() ? "" : "allowed: " + joined(others));
  return spec;
}

}  // namespace lockstep::sim::scenario
