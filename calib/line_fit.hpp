#pragma once
// Seconds over bytes (or over images, or over kernels): lines, and lines in pieces where one line does not do.
//
//   t(x) = latency + x / rate,   latency >= 0, 1/rate >= 0
//
// fitted by least squares of the relative error, sum_i ((t(x_i) - t_i) / t_i)^2, because sizes span nine decades and a
// planner cares for per cent at each of them. Solved with Eigen (2 x 2 normal equations by QR), each coefficient at its
// bound where the free solution leaves it.
//
// Pieces: a collective changes protocol with size, so its time is a line in each of up to `most_pieces` ranges of x,
// the breaks at measured sizes. The number of pieces is the smallest whose worst relative residual is below the
// tolerance, else the one with the least Bayesian information criterion, n ln(RSS/n) + k ln n with k = 3 pieces - 1.
//
// Anchors: where no pieces reach the tolerance (a copy that falls out of one cache after another, NCCL changing
// protocol, algorithm and channels), a line from each measured point to the next may know better: the same latency + x
// / rate with every knee at a measured size. It is taken where its leave-one-out error (root of the mean square) is
// lower. Before that, times that fall with x are pooled into a level (least squares of ln t under t not falling; Ayer
// et al. 1955), for more bytes take no less time. Outside their range the first and the last piece go on, scaled to
// meet them.
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
  double from_x;  ///< holds for from_x <= x < the next piece's from_x; the first one also below its own
  Line line;
};

struct LineFit {
  std::vector<Piece> pieces;      ///< by from_x
  std::vector<Measured> anchors;  ///< by x; empty: the pieces alone are the fit
  double from_x = 0;              ///< range of the measurements
  double to_x = 0;
  int points = 0;
  double median_residual = 0;  ///< relative, absolute values
  double worst_residual = 0;
  /// Median of |relative error| at the points of every interior size when the fit is made without that size; 0 below 4
  /// sizes.
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

/// Points in any order; those of equal x count as one each. Throws std::invalid_argument: no point, a time or x that
/// is not positive (x may be 0).
Line fit_line(const std::vector<Measured>& points);
LineFit fit_pieces(std::vector<Measured> points, const LineFitOptions& options = {});

}  // namespace lockstep::calib
