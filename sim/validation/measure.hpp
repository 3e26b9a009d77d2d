#pragma once
// Metrics and units by their names, as records have them.
#include <string>

#include "sim/validation/metric.hpp"

namespace lockstep::sim::validation {

/// "iteration_s" in "ms", "images_per_s" in "tokens/s/GPU"; Measure::why_not says what is unknown, and what is known.
Measure measure_by_name(const std::string& metric, const std::string& unit);

/// The name and unit that measure_by_name() reads as this measure, of a metric that is predicted.
std::string unit_of(const Measure& measure);

/// Why a metric of that name is not predicted, as far as it is known: ": prices are not known"; else empty.
std::string why_not_predicted(const std::string& metric);

}  // namespace lockstep::sim::validation
