#pragma once
// The uncertainty of a measured time, and of a fit through such times at a given x. Predictions derive the part of
// their bounds that comes from a profile from these.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Parts of the uncertainty of a series' median, relative to it. They are independent and add in quadrature. A series
/// of one time has no known spread: zeros.
struct SeriesQuality {
  double interval = 0;      ///< half width of the median's 95 % interval (summary.hpp); below 6 samples, of their range
  double drift = 0;         ///< flagged "drift": half the change from the first third to the last
  double outliers = 0;      ///< flagged "outliers": half the distance of the quantiles 0.5 -+ half their fraction, the
                            ///< largest shift of the median if all were on one side
  double disagreement = 0;  ///< flagged "disagrees": half the distance between the medians of its two measurements
  double relative() const;
  /// "its median is known to 12 %, it drifted by 8 %"; empty if there is no problem.
  std::string text() const;
};

SeriesQuality quality_of(const Sample& sample);

/// The uncertainty of a fit at x, which may be a measured point, lie between two of them, or outside.
struct CurveQuality {
  double series = 0;  ///< the worse of the two neighbouring series
  /// Relative error of the fit at these two; between two measured points, also the median leave-one-out error.
  double fit = 0;
  std::string why;  ///< SeriesQuality::text() of the worse series
  double relative() const;
};

/// Returns the uncertainty of `fit` at `x`; zeros if the profile does not contain the fit's samples.
CurveQuality quality_at(const Profile& profile, const Fit& fit, double x);

/// Counts the series whose median is not known to `tolerance`, among those measured more than once. Excludes single
/// layers, which scatter more than their sum.
struct ImpreciseSeries {
  int imprecise = 0;
  int of = 0;
};
ImpreciseSeries imprecise_series(const Profile& profile, double tolerance);

}  // namespace lockstep::calib
