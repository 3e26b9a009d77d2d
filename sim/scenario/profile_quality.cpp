#include "sim/scenario/profile_quality.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calib/collective_key.hpp"
#include "calib/quality.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/scenario/measured_all_reduce.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr double kMost = 0.9;        // as /uncertainty allows
constexpr double kManySeries = 0.1;  // of a profile's
constexpr double kTolerated = 0.05;  // of a series, as kImprecise of an input
constexpr double kBytesOfGradient = 4;

std::string reason(const calib::CurveQuality& quality) {
  std::string text = quality.why;
  if (quality.fit >= kTolerated)
    text += (text.empty() ? "" : "; ") + ("the fit is " + short_percent(quality.fit) + " off there");
  return text;
}

MeasuredInput measured_iterations(const Scenario& s, int gpus, int batch) {
  MeasuredInput input;
  const ProfileSpec& profile = s.compute.profile;
  if (!profile) return input;
  const calib::Fit& fit = profile.iteration_fit(std::min(gpus, s.cluster.gpus_per_node));
  const calib::CurveQuality quality = calib::quality_at(*profile.profile, fit, batch);
  return {"iterations at batch " + std::to_string(batch), quality.relative(), reason(quality)};
}

// Errors of collectives have one cause, so they add. The point's details report those of NCCL's fitted constants.
class Calls {
 public:
  void add(double bytes, double seconds, double relative, const std::string& why) {
    seconds_ += seconds;
    unknown_s_ += relative * seconds;
    if (relative * seconds <= most_s_) return;
    most_s_ = relative * seconds;
    worst_ = {"all-reduces of " + format_bytes(bytes), 0, why};
  }
  MeasuredInput together() const {
    MeasuredInput input = worst_;
    input.relative = seconds_ > 0 ? unknown_s_ / seconds_ : 0;
    return input;
  }

 private:
  double seconds_ = 0, unknown_s_ = 0, most_s_ = 0;
  MeasuredInput worst_;
};

void add_nccl(const NcclSpec& nccl, double bytes, Calls& calls) {
  for (const calib::Fit& fit : nccl.profile->fits) {
    if (fit.probe != "collective" || fit.key.value("operation", "") != "all-reduce" ||
        fit.key.value("library", "") != "nccl" || fit.key.value("in_place", false) || !calib::is_of_floats(fit.key))
      continue;
    const calib::CurveQuality quality = calib::quality_at(*nccl.profile, fit, bytes);
    calls.add(bytes, fit.line.at(bytes), quality.series, quality.why);
  }
}

MeasuredInput measured_all_reduces(const Scenario& s, int gpus, const std::vector<double>& call_bytes) {
  if (gpus < 2) return {};
  const AllReduceOfProfile measured(s);
  const calib::Fit* fit = measured_all_reduce(s, gpus);
  const bool is_nccl = s.communication.all_reduce == AllReduceKind::nccl && s.communication.nccl.profile;
  const double gradients = kBytesOfGradient * static_cast<double>(s.model.parameter_count());
  Calls calls;
  for (const double bytes : call_bytes.empty() ? std::vector<double>{gradients} : call_bytes) {
    if (fit != nullptr) {
      const calib::CurveQuality quality = calib::quality_at(*measured.profile(), *fit, bytes);
      calls.add(bytes, fit->line.at(bytes), quality.relative(), reason(quality));
    }
    if (is_nccl) add_nccl(s.communication.nccl, bytes, calls);
  }
  return calls.together();
}

std::string line_of(const MeasuredInput& input) {
  return "the profile's " + input.what + " are known to " + short_percent(input.relative) + " only (" + input.why + ")";
}

}  // namespace

MeasuredQuality measured_quality(const Scenario& s, int gpus, int batch_per_gpu,
                                 const std::vector<double>& call_bytes) {
  return {measured_iterations(s, gpus, batch_per_gpu), measured_all_reduces(s, gpus, call_bytes)};
}

UncertaintySpec widened(const UncertaintySpec& stated, const MeasuredQuality& quality) {
  const auto with = [](double own, double measured) { return std::min(kMost, std::hypot(own, measured)); };
  UncertaintySpec u = stated;
  u.compute = with(stated.compute, quality.compute.relative);
  u.bandwidth = with(stated.bandwidth, quality.all_reduce.relative);
  u.latency = with(stated.latency, quality.all_reduce.relative);
  return u;
}

std::vector<std::string> imprecise_inputs(const Scenario& s, int gpus, int batch_per_gpu,
                                          const std::vector<double>& call_bytes) {
  std::vector<std::string> lines;
  const MeasuredQuality quality = measured_quality(s, gpus, batch_per_gpu, call_bytes);
  for (const MeasuredInput* input : {&quality.compute, &quality.all_reduce})
    if (input->relative >= kImprecise) lines.push_back(line_of(*input) + ": the bounds are as wide");
  return lines;
}

std::string find_imprecision(const MeasuredQuality& quality, double relative_high) {
  if (relative_high < 1 + kTooWide || !quality.is_imprecise()) return "";
  const MeasuredInput& worse =
      quality.compute.relative >= quality.all_reduce.relative ? quality.compute : quality.all_reduce;
  return line_of(worse) + ", so that an iteration may take " + short_percent(relative_high - 1) +
         " longer: that predicts nothing; measure them again, on a machine that does nothing else";
}

std::vector<std::string> imprecise_profiles(const std::vector<Scenario>& scenarios) {
  std::map<std::string, const calib::Profile*> profiles;  // by name, because variants read the same file again
  for (const Scenario& s : scenarios)
    for (const auto& profile : {s.compute.profile.profile, s.communication.profile, s.communication.nccl.profile})
      if (profile) profiles.emplace(profile->name, profile.get());
  std::vector<std::string> lines;
  for (const auto& [name, profile] : profiles) {
    const calib::ImpreciseSeries count = calib::imprecise_series(*profile, kTolerated);
    if (count.imprecise < 1 || count.imprecise < kManySeries * count.of) continue;
    lines.push_back("Of profile " + in_quotes(name) + " " + std::to_string(count.imprecise) + " of " +
                    std::to_string(count.of) + " series are known to no better than " + short_percent(kTolerated) +
                    ": `calibrate show` lists them");
  }
  return lines;
}

}  // namespace lockstep::sim::scenario
