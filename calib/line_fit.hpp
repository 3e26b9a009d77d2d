#pragma once
// Fits seconds over bytes (or images, or kernels): lines, or piecewise lines if one line is not enough.
//
//   t(x) = latency + x / rate,   latency >= 0, 1/rate >= 0
//
// The fit minimises the squared relative error, sum_i ((t(x_i) - t_i) / t_i)^2, because sizes span nine decades and
// relative errors matter at each of them. It is solved with Eigen (2 x 2 normal equations by QR). A coefficient that
// would leave its range is set to its bound.
//
// Pieces: a collective changes protocol with size. So its time is a line in each of up to `most_pieces` ranges of x,
// with breaks at measured sizes. The number of pieces is the smallest whose worst relative residual is below the
// tolerance. If there is none, it is the one with the smallest Bayesian information criterion, n ln(RSS/n) + k ln n
// with k = 3 pieces - 1.
//
// Anchors: in some curves no pieces reach the tolerance (copies that exceed one cache after another; NCCL changing
// protocol, algorithm and channels). There, linear interpolation between measured points may be better. It is used if
// its leave-one-out error (root mean square) is lower. First, times that fall with x are pooled to a constant (least
// squares of ln t under non-decreasing t; Ayer et al. 1955), because more bytes cannot take less time. Outside the
// measured range, the first and the last piece are used, scaled to join the anchors.
#include <vector>

namespace lockstep::calib {

struct Measured {
  double x;
  double seconds;
};

struct Line {
  double latency_s = 0;
  double seconds_per_unit = 0;
  double at(double x) const { return latency_s + seconds_per_unit * x; }
};

struct Piece {
  double from_x;  ///< valid for from_x <= x < the next piece's from_x; the first piece also below its own
  Line line;
};

struct LineFit {
  std::vector<Piece> pieces;      ///< in order of from_x
  std::vector<Measured> anchors;  ///< in order of x; empty: the fit uses only the pieces
  double from_x = 0;              ///< range of the measurements
  double to_x = 0;
  int points = 0;
  double median_residual = 0;  ///< relative, absolute values
  double worst_residual = 0;
  /// Median |relative error| at the interior sizes, each predicted by a fit without it; 0 below 4 sizes.
  double leave_one_out = 0;
  double worst_left_out = 0;  ///< the largest of them
  double at(double x) const;
  bool covers(double x) const { return x >= from_x && x <= to_x; }
};

struct LineFitOptions {
  int most_pieces = 4;
  double tolerance = 0.02;
  bool allow_anchors = true;
};

/// Points may be in any order; points of equal x count as one. Throws std::invalid_argument if there is no point, a
/// time is not positive, or an x is negative.
Line fit_line(const std::vector<Measured>& points);
LineFit fit_pieces(std::vector<Measured> points, const LineFitOptions& options = {});

}  // namespace lockstep::calib
