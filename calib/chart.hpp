#pragma once
// What was measured beside the line through it, drawn in text: a row for each point of a curve.
//
//      batch   measured   known to       fit
//          8    4.20 ms      1.2 %    +0.5 %   o
//         16    8.31 ms      0.4 %    -2.0 %        |o
//
// Columns of the drawing are equal ratios of time: `o` what was measured, `|` the fit, `*` both.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Empty for a curve of fewer than two points.
std::string chart_text(const Profile& profile, const Fit& fit);

}  // namespace lockstep::calib
