#pragma once
// The quality of the measurements that a point uses from its profiles (calib/quality.hpp), for its bounds and its
// reader.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// From this value on an input is reported as imprecise, and the bounds are printed below the table.
constexpr double kImprecise = 0.05;
/// Nothing is predicted where what was measured badly makes an iteration three quarters as long again at the bound.
constexpr double kTooWide = 0.75;

/// An input as measured: its relative uncertainty, and what makes it so.
struct MeasuredInput {
  std::string what;  ///< "iterations at batch 16"
  double relative = 0;
  std::string why;
};

struct MeasuredQuality {
  MeasuredInput compute;
  MeasuredInput all_reduce;  ///< of all calls together, by their time; named after the one that contributes most

  bool is_imprecise() const { return compute.relative >= kImprecise || all_reduce.relative >= kImprecise; }
};

/// `call_bytes`: of the point's all-reduces; none: one of all gradients. Zeros for what comes from no profile.
MeasuredQuality measured_quality(const Scenario& scenario, int gpus, int batch_per_gpu,
                                 const std::vector<double>& call_bytes);

/// The scenario's uncertainties and those of the measurement, in quadrature: of compute, and, where all-reduces were
/// measured, of bandwidth and latency. At most 0.9.
UncertaintySpec widened(const UncertaintySpec& stated, const MeasuredQuality& quality);

/// A line for each input that is imprecise.
std::vector<std::string> imprecise_inputs(const Scenario& scenario, int gpus, int batch_per_gpu,
                                          const std::vector<double>& call_bytes);
/// Why nothing is predicted where the bounds reach to `relative_high` times an iteration; empty where something is.
std::string too_imprecise(const MeasuredQuality& quality, double relative_high);

/// A line for each profile of the scenarios of which a tenth or more of the series are imprecise.
std::vector<std::string> imprecise_profiles(const std::vector<Scenario>& scenarios);

}  // namespace lockstep::sim::scenario
