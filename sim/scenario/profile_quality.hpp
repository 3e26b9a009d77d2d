#pragma once
// The quality of the measurements that a point uses from its profiles (calib/quality.hpp), for its interval and its
// reader.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Inputs with at least this relative uncertainty are reported as imprecise, with intervals below the table.
constexpr double kImprecise = 0.05;
/// No prediction if imprecise measurements extend an iteration by three quarters at the end of the interval.
constexpr double kTooWide = 0.75;

/// A measured input: its relative uncertainty, and the reason for it.
struct MeasuredInput {
  std::string what;  ///< "iterations at batch 16"
  double relative = 0;
  std::string why;
};

struct MeasuredQuality {
  MeasuredInput compute;
  MeasuredInput all_reduce;  ///< of all collectives together, by their time; named after the largest contribution

  bool is_imprecise() const { return compute.relative >= kImprecise || all_reduce.relative >= kImprecise; }
};

/// `call_bytes`: of the point's all-reduces; none: one of all gradients. Zeros for inputs that no profile gives.
MeasuredQuality measured_quality(const Scenario& scenario, int gpus, int batch_per_gpu,
                                 const std::vector<double>& call_bytes);

/// Combines the scenario's uncertainties with those of the measurement, in quadrature. This affects compute, and, if
/// all-reduces were measured, bandwidth and latency. At most 0.9.
UncertaintySpec widened(const UncertaintySpec& stated, const MeasuredQuality& quality);

/// Writes a line for each imprecise input.
std::vector<std::string> imprecise_inputs(const Scenario& scenario, int gpus, int batch_per_gpu,
                                          const std::vector<double>& call_bytes);
/// Explains why a point is not predicted whose interval reaches up to `relative_high` times its iteration. Empty if it
/// is predicted.
std::string find_imprecision(const MeasuredQuality& quality, double relative_high);

/// Writes a line for each profile of the scenarios in which a tenth or more of the series are imprecise.
std::vector<std::string> imprecise_profiles(const std::vector<Scenario>& scenarios);

}  // namespace lockstep::sim::scenario
