#include "sim/plan/planner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/format_printf.hpp"
#include "engine/base/statistics.hpp"
#include "sim/plan/around.hpp"
#include "sim/plan/frontier.hpp"
#include "sim/plan/grid.hpp"

namespace lockstep::sim::plan {
namespace {

// Points that are predicted in one run. Their tasks take some 100 bytes each.
constexpr std::size_t kPointsAtOnce = 200000;

class Planner {
 public:
  Planner(const PlanSpec& plan, Evaluation& evaluation, const PlanWatch& watch)
      : plan_(plan), evaluation_(evaluation), watch_(watch) {
    result_.plan = &plan;
  }

  PlanResult work_out() {
    predict_coarsely();
    look();
    while (refine(to_refine())) {
    }
    note_refining();
    mark();
    add_efficiencies(plan_, evaluation_, result_);
    describe_recommendation(plan_, evaluation_, result_);
    return std::move(result_);
  }

 private:
  void predict_coarsely() {
    result_.rows = PlanRows(plan_, evaluation_.outcomes());
    for (std::size_t from = 0; from < plan_.points.size(); from += kPointsAtOnce) {
      std::vector<Task> tasks;
      for (std::size_t i = from; i < std::min(from + kPointsAtOnce, plan_.points.size()); ++i)
        tasks.push_back(task_of(plan_.points.in_order(i), plan_.refine.coarse));
      evaluation_.run(tasks, "points", [this](const Task& task, const Outcome& outcome) {
        result_.rows.set(task.point, task.fidelity, outcome);
        show_so_far();
      });
      for (const Task& task : tasks)
        if (result_.rows.state(task.point).status == RowStatus::waiting)
          result_.rows.set(task.point, task.fidelity, evaluation_.at(task));
    }
  }

  void show_so_far() const {
    if (!watch_.is_due || !watch_.is_due()) return;
    Planner so_far(*this);
    so_far.mark();
    so_far.result_.is_final = false;
    watch_.show(so_far.result_);
  }

  // Lists the points that take part in the choice, with their machines, times and costs.
  void look() {
    rows_.clear();
    choices_.clear();
    machines_.clear();
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      const RowState& row = result_.rows.state(i);
      if (!row.is_ok()) continue;
      rows_.push_back(i);
      choices_.push_back(row.choice());
      machines_.push_back(row.machine);
    }
    const auto is_priced = [&](std::size_t i) { return result_.rows.state(i).is_priced; };
    if (std::none_of(rows_.begin(), rows_.end(), is_priced)) return;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!is_priced(rows_[i])) choices_[i].cost = choices_[i].cost_high = kUnknownCost;
  }

  // Takes over the time and cost of a point that was refined. Its machine and whether it has a price do not change.
  void look_at(std::size_t row) {
    const RowState& state = result_.rows.state(row);
    if (!state.is_ok()) return look();
    Choice& choice =
        choices_[static_cast<std::size_t>(std::lower_bound(rows_.begin(), rows_.end(), row) - rows_.begin())];
    const Choice before = std::exchange(choice, state.choice());
    if (!state.is_priced) {
      choice.cost = before.cost;
      choice.cost_high = before.cost_high;
    }
  }

  // Returns the rows to refine next: the frontier, the best two under the objective, the best of each machine. If all
  // of these are refined, returns neighbours within the error of the coarse prediction.
  std::vector<std::size_t> to_refine() {
    std::vector<std::size_t> chosen;
    const auto choose = [&](std::size_t i) {
      if (!choices_[i].is_refined && std::find(chosen.begin(), chosen.end(), i) == chosen.end()) chosen.push_back(i);
    };
    for (std::size_t i : pareto_frontier(choices_)) choose(i);
    const std::vector<std::size_t> best = best_of_compared_machines();
    if (best.empty()) {
      if (const auto near = closest(plan_.objective, choices_)) choose(*near);
    } else {
      choose(best[0]);
      if (const auto second = best_feasible(plan_.objective, choices_, [&](std::size_t i) { return i != best[0]; }))
        choose(*second);
      if (const auto second = runner_up(best[0])) choose(*second);
      for (std::size_t i : best) choose(i);
    }
    if (chosen.empty()) {
      const std::vector<std::size_t> near = neighbours(choices_, std::max(plan_.refine.analytic_error, error()));
      const std::size_t most = static_cast<std::size_t>(plan_.refine.most),
                        allowed = most - std::min(neighbours_, most);
      for (std::size_t i = 0; i < near.size() && i < allowed; ++i) choose(near[i]);
      neighbours_ += chosen.size();
      left_out_ = near.size() - chosen.size();
    }
    for (std::size_t& i : chosen) i = rows_[i];
    return chosen;
  }

  // Returns false if time and cost are equal. Points of one node, for example, do not depend on the network.
  static bool is_another(const Choice& a, const Choice& b) {
    const auto differs = [](double x, double y) { return std::abs(x - y) > 1e-9 * std::abs(x); };
    return differs(a.time_s, b.time_s) || (std::isfinite(a.cost) && differs(a.cost, b.cost));
  }

  // Returns the best point that differs from the very best one.
  std::optional<std::size_t> runner_up(std::size_t best) const {
    return best_feasible(plan_.objective, choices_,
                         [&](std::size_t i) { return is_another(choices_[best], choices_[i]); });
  }

  // Returns the best point of every machine that the answer compares, best machine first.
  std::vector<std::size_t> best_of_compared_machines() const {
    std::vector<std::size_t> best;
    for (std::size_t i : best_of_groups(plan_.objective, choices_, machines_))
      if (result_.rows.state(rows_[i]).is_listed_machine || best.size() < kMachinesCompared) best.push_back(i);
    return best;
  }

  double error() const { return errors_.empty() ? 0 : *std::max_element(errors_.begin(), errors_.end()); }

  bool refine(const std::vector<std::size_t>& rows) {
    if (rows.empty()) return false;
    std::vector<Task> tasks;
    for (std::size_t row : rows) tasks.push_back(task_of(row, plan_.refine.refined));
    evaluation_.run(tasks, "refined", [this](const Task&, const Outcome&) { show_so_far(); });
    for (const Task& task : tasks) {
      const double coarse_s = result_.rows.read(task.point).outcome.iteration_s;
      const Outcome outcome = evaluation_.at(task);
      result_.rows.set(task.point, task.fidelity, outcome);
      result_.rows.state(task.point).is_refined = true;
      if (outcome.is_ok() && outcome.fidelity != plan_.refine.coarse)
        errors_.push_back(std::abs(coarse_s / outcome.iteration_s - 1));
    }
    for (std::size_t row : rows) look_at(row);
    result_.refined_points += rows.size();
    return true;
  }

  void note_refining() {
    result_.analytic_error = error();
    result_.typical_error = errors_.empty() ? 0 : median(errors_);
    if (left_out_ > 0)
      result_.warnings.push_back(format_printf(
          "%zu points within %.1f %% of the frontier are predicted in %s only; allowed: more by /refine/most",
          left_out_, 100 * std::max(plan_.refine.analytic_error, error()), name_of(plan_.refine.coarse).c_str()));
    const auto is_analytic = [](std::uint8_t fidelity) {
      return static_cast<Fidelity>(fidelity) == Fidelity::analytic;
    };
    for (std::size_t i = 0; i < result_.rows.size(); ++i)
      if (const RowState& row = result_.rows.state(i);
          row.is_ok() && !is_analytic(row.requested) && is_analytic(row.fidelity))
        result_.warnings.push_back(plan_.points[i].id +
                                   ": stays analytic, since its messages share links and are more than "
                                   "/refine/most_messages");
    if (error() > plan_.refine.analytic_error)
      result_.warnings.push_back(
          format_printf("%s was off by up to %.1f %%, more than the %.1f %% of /refine/analytic_error",
                        name_of(plan_.refine.coarse).c_str(), 100 * error(), 100 * plan_.refine.analytic_error));
  }

  void mark() {
    look();
    for (std::size_t i : pareto_frontier(choices_)) {
      result_.frontier.push_back(rows_[i]);
      result_.rows.state(rows_[i]).is_on_frontier = true;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i)
      result_.rows.state(rows_[i]).meets_objective = meets(plan_.objective, choices_[i]);
    if (const auto best = best_feasible(plan_.objective, choices_)) {
      result_.recommended = rows_[*best];
      if (const auto second = runner_up(*best)) result_.runner_up = rows_[*second];
    } else if (const auto near = closest(plan_.objective, choices_)) {
      result_.closest = rows_[*near];
    }
  }

  const PlanSpec& plan_;
  Evaluation& evaluation_;
  const PlanWatch& watch_;
  PlanResult result_;
  std::vector<std::size_t> rows_;  // row of each element of the next two
  std::vector<Choice> choices_;
  std::vector<std::uint32_t> machines_;
  std::vector<double> errors_;
  std::size_t neighbours_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

PlanResult work_out(const PlanSpec& plan, Evaluation& evaluation, const PlanWatch& watch) {
  return Planner(plan, evaluation, watch).work_out();
}

}  // namespace lockstep::sim::plan
