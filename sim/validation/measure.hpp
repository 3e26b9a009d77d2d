#pragma once
// Metrics and units by their names, as records have them.
#include <string>

#include "sim/validation/metric.hpp"

namespace lockstep::sim::validation {

/// Reads "iteration_s" in "ms", "images_per_s" in "tokens/s/GPU". Measure::why_not lists unknown and known names.
Measure measure_by_name(const std::string& metric, const std::string& unit);

/// Returns the unit that measure_by_name() reads as this measure; the metric must be one that is predicted.
std::string unit_of(const Measure& measure);

/// Returns why a metric of that name is not predicted, such as ": prices are not known"; empty if no reason is known.
std::string why_not_predicted(const std::string& metric);

}  // namespace lockstep::sim::validation
