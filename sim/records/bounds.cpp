// How wide bounds must be, from predictions that were made without the records' own papers.
#include <algorithm>
#include <cmath>
#include <map>

#include "sim/records/fit.hpp"
#include "sim/records/paper_weights.hpp"

namespace lockstep::sim {
namespace {

constexpr double kInside = 0.8;  // share that is wanted inside the bounds, of records of new papers
constexpr double kMostSpread = 12;
constexpr std::size_t kFewest = 4;  // records that calibrate a class of bounds

// Of a left-out prediction: how far the published value is, in the logarithm, and how far inputs let it be.
struct LeftOut {
  const Record* record;
  double off, of_inputs;
};

// What a forecaster pays for bounds of half width h, each miss `off - h` as often as it must not happen: least where
// they hold the wanted share (the interval score of Gneiting & Raftery 2007, in the logarithm).
double interval_score(const std::vector<LeftOut>& all, const std::vector<double>& weights, double floor,
                      double spread) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double half = std::hypot(floor, spread * all[i].of_inputs);
    sum += weights[i] * (half + std::max(0.0, all[i].off - half) / (1 - kInside));
  }
  return sum;
}

// Floor and spread with the best score, over a grid in steps of a fifth.
std::pair<double, double> best_calibration(const std::vector<LeftOut>& all) {
  std::vector<std::string> sources;
  for (const LeftOut& one : all) sources.push_back(one.record->source);
  const std::vector<double> weights = paper_weights(sources);
  std::pair<double, double> best{0, kUsualSpread};
  double least = interval_score(all, weights, best.first, best.second);
  for (double floor = 0.01; floor < 1; floor *= 1.2)
    for (double spread = 0.1; spread < kMostSpread; spread *= 1.2) {
      const double score = interval_score(all, weights, floor, spread);
      if (score >= least) continue;
      least = score;
      best = {floor, spread};
    }
  return best;
}

}  // namespace

void calibrate_bounds(Catalogue& catalogue, const std::vector<Prediction>& left_out) {
  std::map<std::string, std::vector<LeftOut>> classes;
  for (const Prediction& p : left_out) {
    if (!p.has_error() || p.record->use != Use::fit || p.mapped.bounds_class.empty()) continue;
    if (p.predicted <= 0 || *p.record->value <= 0) continue;
    const double off = std::log(*p.record->value / p.predicted);
    const LeftOut one{p.record, std::abs(off), off > 0 ? p.off_above : p.off_below};
    for (const std::string& name : bounds_names(p.mapped.bounds_class)) classes[name].push_back(one);
  }
  for (const auto& [name, all] : classes) {
    if (all.size() < kFewest) continue;
    const auto [floor, spread] = best_calibration(all);
    std::vector<std::string> ids;
    for (const LeftOut& one : all) ids.push_back(one.record->id);
    catalogue.constants[name] = {spread, ids};
    catalogue.constants[floor_name(name)] = {floor, ids};
  }
}

}  // namespace lockstep::sim
