#pragma once
// Draws predictions and published results, with a panel for each scenario of a paper. `validate --plot PAPER` writes
// them.
#include <string>
#include <utility>
#include <vector>

#include "sim/report/result.hpp"

namespace lockstep::sim::report {

struct FigurePoint {
  double x = 0;
  double value = 0;
  /// 80 % interval; for staleness the mean -+ the standard deviation; both equal `value` where there is none.
  double low = 0, high = 0;
};

struct FigureSeries {
  std::string name;
  std::vector<FigurePoint> predicted;                ///< by ascending x
  std::vector<std::pair<double, double>> published;  ///< x, value
};

/// One panel: lines over x, or a row for each series if every series has one point.
struct FigurePanel {
  std::string title;
  std::string x_name, y_name;  ///< with units
  bool is_ideal_x = false;     ///< also draws value = x, as for a speed-up without loss
  std::vector<FigureSeries> series;
  bool has_rows() const;
};

/// Makes the panels of a scenario's predictions. The first panel shows the quantity that most of its published results
/// have. Without published results it shows the time to accuracy or the throughput. It is drawn over the number of
/// GPUs, or by variant if there is one number of GPUs. Efficiencies of several numbers of GPUs are drawn as speed-ups
/// over the baseline. Gains over another variant have a row each. Further panels show when the k-th of several workers'
/// gradients arrives, and the staleness of each shard of the parameters. If the first panel holds a single number and
/// there are others, it is left out.
std::vector<FigurePanel> figure_panels(const std::string& title, const Report& report);

/// Two panels per row, each 600 x 340, with up to eight lines or fourteen rows. Predictions are lines or dots with
/// their intervals; published results are rings.
std::string figure_svg(const std::string& title, const std::vector<FigurePanel>& panels);

}  // namespace lockstep::sim::report
