#pragma once
// How well a measured time is known, and how far a fit through such times may be trusted at a place: what the bounds of
// a prediction take from a profile.
#include <string>

#include "calib/profile.hpp"

namespace lockstep::calib {

/// Parts of what is not known of a series' median, relative to it. They add in quadrature, as parts that have nothing to
/// do with each other. A series of one time tells nothing of its spread: zeros.
struct SeriesQuality {
  double interval = 0;      ///< half width of the median's 95 % interval (summary.hpp); below 6 samples of their range
  double drift = 0;         ///< flagged "drift": half the change from its first third to its last
  double outliers = 0;      ///< flagged "outliers": half the distance of the quantiles 0.5 -+ half their share: so far
                            ///< they move the median, were they all on one side
  double disagreement = 0;  ///< flagged "disagrees": half the distance between the medians of its two looks
  double relative() const;
  /// "its median is known to 12 %, it drifted by 8 %"; empty where nothing is wrong.
  std::string text() const;
};

SeriesQuality quality_of(const Sample& sample);

/// Of a fit at a place between, at or beyond its measured points.
struct CurveQuality {
  double series = 0;  ///< of the series next to the place on either side, the worse
  /// Relative error of the fit at those two; between two that were measured also the median error at left-out points.
  double fit = 0;
  std::string why;  ///< of the worse series, SeriesQuality::text()
  double relative() const;
};

/// Zeros for a curve whose samples the profile does not hold.
CurveQuality quality_at(const Profile& profile, const Fit& fit, double x);

/// Series whose median is not known to `tolerance`, of all that were measured more than once; single layers, which
/// scatter more than their sum, do not count.
struct ImpreciseSeries {
  int imprecise = 0;
  int of = 0;
};
ImpreciseSeries imprecise_series(const Profile& profile, double tolerance);

}  // namespace lockstep::calib
