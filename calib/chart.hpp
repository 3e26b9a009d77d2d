#pragma once
// Draws a curve's measured points and its fit as text, with one row per point.
//
//      batch   measured   known to       fit
//          8    4.20 ms      1.2 %    +0.5 %   o
//         16    8.31 ms      0.4 %    -2.0 %        |o
//
// Equal columns of the drawing are equal ratios of time: `o` is the measurement, `|` the fit, `*` both.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Returns an empty text for a curve of fewer than two points.
std::string chart_text(const Profile& profile, const Fit& fit);

}  // namespace lockstep::calib
