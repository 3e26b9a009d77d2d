#include "sim/convergence/build.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/base/format_printf.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/convergence/critical_batch.hpp"

namespace lockstep::sim::convergence {
namespace {

/// One law of one algorithm: the runs that it is fitted to, and its variable.
struct Family {
  Algorithm algorithm;
  const char* variable;
  LawKind law;
};

const Family kFamilies[] = {
    {Algorithm::s_sgd, "batch", LawKind::saturating},     {Algorithm::sma, "learners", LawKind::saturating},
    {Algorithm::ea_sgd, "learners", LawKind::saturating}, {Algorithm::sma, "tau", LawKind::power},
    {Algorithm::ea_sgd, "tau", LawKind::power},           {Algorithm::backup_workers, "batch", LawKind::saturating},
    {Algorithm::async_sgd, "staleness", LawKind::linear}, {Algorithm::local_sgd, "tau", LawKind::power}};

double x_of(const std::string& variable, const TrainingSetting& s) {
  if (variable == "batch") return s.images();
  if (variable == "learners") return s.workers;
  return variable == "tau" ? s.tau : s.staleness;
}

/// The most frequent value; if several are, the smallest.
double most_common(const std::vector<double>& values) {
  std::map<double, int> count;
  for (const double value : values) ++count[value];
  return std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// Returns the runs of the family that differ in its variable alone. Laws by learners, tau or staleness use one batch
/// per learner, and the law by tau uses one number of learners. Local SGD with tau 1 is among the runs of S-SGD.
std::vector<const ProfileRun*> runs_of(const ConvergenceProfile& profile, const Family& family) {
  std::vector<const ProfileRun*> runs;
  std::vector<double> batches, learners;
  const bool by_tau = std::string(family.variable) == "tau";
  for (const ProfileRun& run : profile.runs) {
    const Algorithm own = by_tau ? run.setting.algorithm : algorithm_of_main_law(run.setting.algorithm);
    if (own != family.algorithm || (!by_tau && run.setting.tau != 1)) continue;
    if (run.setting.tau <= 0) continue;  // learners that never synchronise have no x
    runs.push_back(&run);
    batches.push_back(run.setting.batch);
    if (run.setting.tau != 1) learners.push_back(run.setting.workers);
  }
  if (by_tau && learners.empty()) return {};
  const bool any_batch = std::string(family.variable) == "batch";
  if (runs.empty()) return {};
  const double batch = most_common(batches);
  const auto is_other = [&](const ProfileRun* run) {
    return (!any_batch && run->setting.batch != batch) || (by_tau && run->setting.workers != most_common(learners));
  };
  runs.erase(std::remove_if(runs.begin(), runs.end(), is_other), runs.end());
  return runs;
}

// Fits runs that are all at one x: they determine the iterations there and nowhere else. The estimate is the mean of
// their logarithms. A new run deviates from it by sqrt(1 + 1/n) times their deviation. If a run did not reach the
// target, there is no estimate, because such a run does not bound the mean.
bool set_point(const std::vector<LawObservation>& runs, ConvergenceFit& fit) {
  if (fit.variable == "tau" || fit.from_x != fit.to_x || fit.censored > 0 || fit.reached < 3) return false;
  const double n = fit.reached;
  double mean = 0, squares = 0;
  for (const LawObservation& run : runs) mean += std::log(run.iterations) / n;
  for (const LawObservation& run : runs) squares += std::pow(std::log(run.iterations) - mean, 2);
  fit.table = {{fit.from_x, std::exp(mean)}};
  fit.law.spread = std::sqrt(squares / (n - 1) * (1 + 1 / n));
  fit.law.degrees = n - 1;
  return true;
}

/// Throws std::invalid_argument if the runs do not allow the law.
ConvergenceFit fit_family(const std::vector<const ProfileRun*>& runs, const Family& family, std::size_t target,
                          const std::string& without_cell, bool uses_noise_scale = false) {
  ConvergenceFit fit;
  fit.algorithm = family.algorithm;
  fit.variable = family.variable;
  fit.target = target;
  std::vector<LawObservation> observations;
  std::vector<const ProfileRun*> fitted;
  for (const ProfileRun* run : runs) {
    if (run->is_held_out || run->cell == without_cell) continue;
    if (run->is_diverged) ++fit.diverged;
    const TargetReached& reached = run->targets[target];
    if (run->is_diverged || reached.iterations <= 0) continue;
    const double x = x_of(fit.variable, run->setting);
    observations.push_back({x, reached.iterations, !reached.is_reached});
    fitted.push_back(run);
    ++(reached.is_reached ? fit.reached : fit.censored);
    fit.from_x = observations.size() == 1 ? x : std::min(fit.from_x, x);
    fit.to_x = std::max(fit.to_x, x);
    if (fit.variable != "batch") fit.batch = run->setting.batch;
    if (fit.variable == "tau") fit.learners = run->setting.workers;
  }
  if (!set_point(observations, fit)) {
    fit.law = fit_law(family.law, observations);
  } else if (uses_noise_scale && family.algorithm == Algorithm::s_sgd) {
    if (const std::optional<CriticalBatch> critical = measured_critical_batch(fitted, target)) {
      fit.table.clear();
      fit.law = law_from_noise_scale(observations, *critical);
    }
  }
  return fit;
}

LeftOutCell left_out(const ConvergenceFit& fit, const std::vector<const ProfileRun*>& runs, double coverage) {
  LeftOutCell cell{};
  cell.cell = runs.front()->cell;
  cell.algorithm = fit.algorithm;
  cell.variable = fit.variable;
  cell.target = fit.target;
  cell.x = x_of(fit.variable, runs.front()->setting);
  if (!fit.table.empty()) throw std::invalid_argument("the other runs are at one value");
  cell.predicted = predict(fit.law, cell.x, coverage);
  std::vector<double> measured;
  int censored = 0;
  for (const ProfileRun* run : runs) {
    const TargetReached& reached = run->targets[fit.target];
    measured.push_back(reached.iterations);
    ++cell.runs;
    if (!reached.is_reached) ++censored;
    const bool below = reached.iterations <= cell.predicted.high;
    const bool above = !reached.is_reached || reached.iterations >= cell.predicted.low;
    if (below && above) ++cell.inside;
  }
  cell.measured = median(measured);
  cell.is_censored = 2 * censored >= cell.runs;
  return cell;
}

std::vector<LeftOutCell> check(const ConvergenceProfile& profile, bool held_out) {
  std::vector<LeftOutCell> result;
  for (const Family& family : kFamilies) {
    const std::vector<const ProfileRun*> runs = runs_of(profile, family);
    std::vector<std::string> cells;
    for (const ProfileRun* run : runs)
      if (run->is_held_out == held_out && !run->is_diverged &&
          std::find(cells.begin(), cells.end(), run->cell) == cells.end())
        cells.push_back(run->cell);
    for (std::size_t target = 0; target < profile.targets.size(); ++target) {
      for (const std::string& cell : cells) {
        std::vector<const ProfileRun*> own;
        for (const ProfileRun* run : runs)
          if (run->cell == cell && !run->is_diverged && run->targets[target].iterations > 0) own.push_back(run);
        try {
          if (!own.empty())
            result.push_back(left_out(fit_family(runs, family, target, held_out ? "" : cell), own, profile.coverage));
        } catch (const std::invalid_argument&) {  // too few runs are left for a law
        }
      }
    }
  }
  return result;
}

std::string law_text(const ConvergenceFit& fit) {
  if (fit.table.size() == 1) return format_printf("%.0f", fit.table.front().second);
  if (!fit.table.empty()) return "table of " + std::to_string(fit.table.size()) + " points";
  const Law& law = fit.law;
  const double first = std::exp(law.parameters(0));
  if (law.kind == LawKind::power) return format_printf("%.0f x^%.3f", first, law.parameters(1));
  const double ratio = std::exp(law.parameters(1) - law.parameters(0));
  if (law.kind == LawKind::linear) return format_printf("%.0f (1 + %.4g x)", first, ratio);
  return format_printf("%.0f (1 + %.4g / x)", first, ratio);
}

std::string fits_text(const ConvergenceProfile& profile) {
  std::string text = format_printf("%-15s %-10s %-22s %-26s %7s %8s %9s %8s %14s\n", "algorithm", "x", "target",
                                   "iterations", "spread", "reached", "censored", "diverged", "x of the runs");
  for (const ConvergenceFit& fit : profile.fits)
    text += format_printf("%-15s %-10s %-22s %-26s %5.1f %% %8d %9d %8d %7g to %g\n", name_of(fit.algorithm).c_str(),
                          fit.variable.c_str(), profile.targets[fit.target].name.c_str(), law_text(fit).c_str(),
                          100 * (std::exp(fit.law.spread) - 1), fit.reached, fit.censored, fit.diverged, fit.from_x,
                          fit.to_x);
  return text;
}

std::string cells_text(const ConvergenceProfile& profile, const std::vector<LeftOutCell>& cells) {
  std::string text = format_printf("%-26s %-10s %8s %-22s %10s %10s %21s %8s %7s\n", "cell", "x", "", "target",
                                   "measured", "predicted", "bounds", "error", "inside");
  std::vector<double> errors;
  int inside = 0, runs = 0;
  for (const LeftOutCell& cell : cells) {
    const double error = cell.predicted.iterations / cell.measured - 1;
    // An error against a lower bound is unknown, so censored cells have none.
    if (!cell.is_censored) errors.push_back(std::abs(error));
    inside += cell.inside;
    runs += cell.runs;
    const std::string error_text = cell.is_censored ? "-" : format_printf("%+.1f %%", 100 * error);
    text += format_printf("%-26s %-10s %8g %-22s %9s%.0f %10.0f %9.0f to %8.0f %8s %3d/%d\n", cell.cell.c_str(),
                          cell.variable.c_str(), cell.x, profile.targets[cell.target].name.c_str(),
                          cell.is_censored ? "> " : "", cell.measured, cell.predicted.iterations, cell.predicted.low,
                          cell.predicted.high, error_text.c_str(), cell.inside, cell.runs);
  }
  if (!errors.empty())
    text += format_printf(
        "median error %.1f %% over %zu cells and targets; %d of %d runs (%.0f %%) inside bounds for %.0f %%\n",
        100 * median(errors), errors.size(), inside, runs, 100.0 * inside / runs, 100 * profile.coverage);
  return text;
}

// "not fitted: 6 runs of local-sgd: no law of convergence is known for local-sgd"
std::string without_law_text(const ConvergenceProfile& profile) {
  std::vector<std::pair<std::string, int>> counts;
  for (const RunWithoutLaw& run : profile.runs_without_law) {
    const std::string text = run.algorithm + ": " + run.why;
    const auto same = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == text; });
    if (same == counts.end())
      counts.emplace_back(text, 1);
    else
      ++same->second;
  }
  std::string text;
  for (const auto& [why, count] : counts)
    text += "not fitted: " + std::to_string(count) + (count == 1 ? " run of " : " runs of ") + why + "\n";
  return text;
}

}  // namespace

void fit_profile(ConvergenceProfile& profile, std::vector<std::string>* not_fitted, bool uses_noise_scale) {
  profile.fits.clear();
  for (const Family& family : kFamilies) {
    const std::vector<const ProfileRun*> runs = runs_of(profile, family);
    if (runs.empty()) continue;
    for (std::size_t target = 0; target < profile.targets.size(); ++target) {
      try {
        profile.fits.push_back(fit_family(runs, family, target, "", uses_noise_scale));
      } catch (const std::invalid_argument& why) {
        if (not_fitted)
          not_fitted->push_back(name_of(family.algorithm) + " by " + family.variable + " to " +
                                profile.targets[target].name + ": " + why.what());
      }
    }
  }
}

std::vector<LeftOutCell> check_held_out(const ConvergenceProfile& profile) {
  return check(profile, true);
}

std::vector<LeftOutCell> check_one_by_one(const ConvergenceProfile& profile) {
  return check(profile, false);
}

std::string profile_text(const ConvergenceProfile& profile, const std::vector<std::string>& not_fitted) {
  std::string text = profile.name + ": " + std::to_string(profile.runs.size()) + " runs\n\n" + fits_text(profile);
  for (const std::string& why : not_fitted) text += "not fitted: " + why + "\n";
  text += without_law_text(profile);
  text += critical_batches_text(profile);
  const std::vector<LeftOutCell> held_out = check_held_out(profile);
  if (!held_out.empty()) text += "\nCells held out of the fits:\n" + cells_text(profile, held_out);
  const std::vector<LeftOutCell> one_by_one = check_one_by_one(profile);
  if (!one_by_one.empty())
    text += "\nEach cell predicted by fits without it (the outermost are extrapolated):\n" +
            cells_text(profile, one_by_one);
  return text;
}

}  // namespace lockstep::sim::convergence
