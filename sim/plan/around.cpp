#include "sim/plan/around.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "sim/plan/frontier.hpp"
#include "sim/plan/grid.hpp"
#include "sim/plan/variation.hpp"
#include "sim/point/baseline.hpp"

namespace lockstep::sim::plan {
namespace {

GpuWork work_of(const Outcome& o) {
  return {o.gpus, o.global_batch, o.iteration_s, o.compute_s, o.exposed_communication_s, o.idle_s};
}

double efficiency(const Outcome& o, const Outcome& baseline) {
  return baseline.is_ok() ? samples_per_s_and_gpu(work_of(o)) / samples_per_s_and_gpu(work_of(baseline)) : 0;
}

// Points of one scaling curve share a baseline. Its task belongs to the first predicted point of the
// curve.
class Curves {
 public:
  Curves(const PlanSpec& plan, const PlanRows& rows) : curves_(plan.points.curves()) {
    constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (curves_[i] >= first_.size()) first_.resize(curves_[i] + 1, kNone);
      std::uint32_t& first = first_[curves_[i]];
      if (first == kNone || !rows.state(first).is_ok()) first = static_cast<std::uint32_t>(i);
    }
  }
  std::size_t first_of(std::size_t point) const { return first_[curves_[point]]; }

  /// Makes the baseline of `point` at `fidelity`, with the settings of outcome `o`.
  Task baseline(std::size_t point, const Outcome& o, Fidelity fidelity) const {
    Task task;
    task.point = first_of(point);
    task.fidelity = fidelity;
    task.baseline_gpus = o.baseline_gpus;
    task.learners = o.tuned_learners;
    task.batch_per_gpu = o.batch_per_gpu;
    task.is_throughput_only = true;
    return task;
  }

 private:
  std::vector<std::uint32_t> curves_;  // of each point
  std::vector<std::uint32_t> first_;   // point of each curve
};

constexpr std::size_t kMostCandidates = 400;  // points that may be recommended after a change
constexpr std::size_t kRowsAtOnce = 200000;   // whose baselines are predicted in one run

class Around {
 public:
  Around(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result)
      : plan_(plan),
        evaluation_(evaluation),
        result_(result),
        curves_(plan, result.rows),
        focus_(*result.focus()),
        row_(result.rows[focus_]),
        candidates_(nearest_to_frontier(result, kMostCandidates)),
        workers_(scenario_with(plan, plan.points[focus_].settings).variants.front().workers) {}

  void tell() {
    const std::vector<Task> counts = scaling_tasks();
    std::vector<Task> tasks = counts;
    for (const Variation& v : variations()) {
      if (!concerns_any(v)) continue;
      if (concerns(v, row().outcome)) tasks.push_back(varied(v.name));
      for (std::size_t i : candidates_)
        if (concerns(v, candidate(i).outcome))
          for (const std::string& variation : {std::string(), v.name}) tasks.push_back(in_closed_form(i, variation));
    }
    tasks.push_back(varied("even"));
    tasks.push_back(with_layers());
    if (plan_.failures) tasks.push_back(with_failures());
    evaluation_.run(tasks, "around the answer");
    tell_scaling(counts);
    for (const Variation& v : variations())
      if (concerns_any(v)) tell_variation(v);
    tell_prices();
    tell_breakdown();
    if (plan_.failures) tell_failures();
  }

 private:
  const PlanRow& candidate(std::size_t row) const {
    auto read = read_.find(row);
    if (read == read_.end()) read = read_.emplace(row, result_.rows.read(row)).first;
    return read->second;
  }
  const PlanRow& row() const { return row_; }
  Fidelity refined() const { return plan_.refine.refined; }

  Task varied(const std::string& variation) const {
    Task task;
    task.point = focus_;
    task.fidelity = refined();
    task.variation = variation;
    return task;
  }
  Task with_layers() const {
    Task task = varied("");
    task.wants_layers = true;
    return task;
  }
  // Uses the closed form, so that SimGrid's engine remains free for the failures.
  Task with_failures() const {
    Task task = in_closed_form(focus_, "");
    task.wants_failure_runs = true;
    return task;
  }
  Task in_closed_form(std::size_t point, const std::string& variation) const {
    Task task;
    task.point = point;
    task.fidelity = Fidelity::analytic;
    task.variation = variation;
    return task;
  }
  bool concerns_any(const Variation& v) const {
    return std::any_of(candidates_.begin(), candidates_.end(),
                       [&](std::size_t i) { return concerns(v, candidate(i).outcome); });
  }
  // Returns false if measured delays of whole steps replace the varied part: the GPU, or the network as well.
  bool concerns(const Variation& v, const Outcome& o) const {
    if (workers_ && workers_->delay.in_seconds && v.reach == Reach::gpu) return false;
    if (workers_ && workers_->delay.includes_communication && v.reach != Reach::gpu) return false;
    return v.reach == Reach::gpu || (v.reach == Reach::node ? o.gpus > 1 && o.gpus_per_node > 1 : o.nodes > 1);
  }

  // Uses the plan's numbers of GPUs if there are at least three. Otherwise doubles from one node (or one GPU, within a
  // node) up to the point's number.
  std::vector<Task> scaling_tasks() const {
    std::set<int> counts;
    for (std::size_t i = 0; i < plan_.points.size(); ++i)
      if (curves_.first_of(i) == curves_.first_of(focus_) && result_.rows.state(i).gpus > 0)
        counts.insert(static_cast<int>(result_.rows.state(i).gpus));
    if (counts.size() < 3) {
      const Outcome& o = row().outcome;
      for (int n = o.gpus > o.gpus_per_node ? o.gpus_per_node : 1; n < o.gpus; n *= 2) counts.insert(n);
      counts.insert(o.gpus);
    }
    std::vector<Task> tasks;
    for (int count : counts) {
      Task task;
      task.point = curves_.first_of(focus_);
      task.fidelity = refined();
      task.gpus = count;
      task.is_throughput_only = true;
      tasks.push_back(task);
    }
    return tasks;
  }

  // Returns the answer itself for its own number of GPUs.
  Outcome scaled_outcome(const Task& task) const {
    return task.gpus == row().outcome.gpus ? row().outcome : evaluation_.at(task);
  }

  // Returns the focus's best prediction over the one with limited messages: 1 if the limit changed nothing.
  double replay_over_closed_form() const {
    const Outcome limited = evaluation_.at(with_layers());
    const bool is_limited = limited.is_ok() && limited.fidelity != row().outcome.fidelity;
    return is_limited ? row().outcome.iteration_s / limited.iteration_s : 1;
  }

  // With many messages, other numbers of GPUs are in closed form but the focus is not. Their times then change as those
  // of the focus do.
  Outcome scaled_like_focus(Outcome o) const {
    if (o.fidelity == row().outcome.fidelity) return o;
    const double factor = replay_over_closed_form(), before_s = o.iteration_s;
    for (double* time_s : {&o.iteration_s, &o.time_s, &o.time_s_low, &o.time_s_high, &o.undisturbed_s})
      *time_s *= factor;
    o.exposed_communication_s = std::max(0.0, o.exposed_communication_s + o.iteration_s - before_s);
    return o;
  }

  void tell_scaling(const std::vector<Task>& tasks) {
    std::vector<Task> baselines;
    for (const Task& task : tasks) {
      const Outcome o = scaled_outcome(task);
      if (o.is_ok()) baselines.push_back(curves_.baseline(focus_, o, refined()));
    }
    evaluation_.run(baselines, "baselines");
    for (const Task& task : tasks) {
      const Outcome o = scaled_outcome(task);
      if (!o.is_ok()) continue;
      const Outcome baseline = evaluation_.at(curves_.baseline(focus_, o, refined()));
      const Outcome scaled = scaled_like_focus(o);
      result_.scaling.push_back({scaled, efficiency(scaled, baseline)});
    }
  }

  // Returns the focus under the variation. With many messages, what-ifs are in closed form but the focus is not. Its
  // times then change by the ratio of the closed forms.
  Outcome varied_outcome(const Variation& v) const {
    if (!concerns(v, row().outcome)) return row().outcome;
    Outcome o = evaluation_.at(varied(v.name));
    const Outcome before = evaluation_.at(with_layers());
    if (before.is_ok())
      for (double* time_s : {&o.time_s, &o.time_s_low, &o.time_s_high}) *time_s *= row().outcome.time_s / before.time_s;
    return o;
  }

  // Simulates the focus under the variation. All other points change as their closed forms do. The plan then chooses
  // among them again.
  void tell_variation(const Variation& v) {
    SensitivityRow told;
    told.what = v.what;
    const Outcome o = varied_outcome(v);
    if (o.is_ok()) {
      const Money money = money_of(plan_.prices, row().point->prices, o);
      told.time_s = o.time_s;
      told.cost = money.cost;
      told.time_change = o.time_s / row().outcome.time_s - 1;
      told.cost_change = row().money.cost > 0 ? money.cost / row().money.cost - 1 : 0;
    } else {
      told.why = o.why;
    }
    std::map<std::size_t, Outcome> then;
    for (std::size_t i : candidates_)
      if (const auto changed = changed_outcome(i, v)) then.emplace(i, *changed);
    choose_anew(then, told);
    result_.sensitivity.push_back(told);
  }

  // Multiplies a point's best prediction by the ratio of its closed forms with and without the variation.
  std::optional<Outcome> changed_outcome(std::size_t i, const Variation& v) const {
    Outcome o = candidate(i).outcome;
    if (!concerns(v, o)) return o;
    const Outcome before = evaluation_.at(in_closed_form(i, "")), after = evaluation_.at(in_closed_form(i, v.name));
    if (!before.is_ok() || !after.is_ok()) return std::nullopt;
    for (double* time_s : {&o.time_s, &o.time_s_low, &o.time_s_high}) *time_s *= after.time_s / before.time_s;
    return o;
  }

  // Finds the point that the plan would recommend for these outcomes.
  void choose_anew(const std::map<std::size_t, Outcome>& outcomes, SensitivityRow& told) const {
    std::vector<Choice> choices;
    std::vector<std::size_t> rows;
    bool is_any_priced = false;
    for (const auto& [i, o] : outcomes) {
      const PlanRow& r = candidate(i);
      const Money money = money_of(plan_.prices, r.point->prices, o);
      is_any_priced = is_any_priced || money.is_known;
      rows.push_back(i);
      choices.push_back({o.time_s, o.time_s_high, money.is_known ? money.cost : kUnknownCost,
                         money.is_known ? money.high_cost : kUnknownCost, r.is_refined});
    }
    if (!is_any_priced)
      for (Choice& choice : choices) choice.cost = choice.cost_high = 0;
    const std::optional<std::size_t> best = best_feasible(plan_.objective, choices);
    if (!best) return;
    told.recommended = rows[*best];
    told.then_time_s = choices[*best].time_s;
    told.then_cost = choices[*best].cost == kUnknownCost ? 0 : choices[*best].cost;
  }

  // Adds what-ifs about prices. They change costs but no times, and all points are read once for all of them.
  void tell_prices() {
    if (!row().money.is_known || row().money.cost <= 0) return;
    const std::vector<std::pair<const char*, PriceFactors>> changes{{"GPU-hours 25 % dearer", {1.25, 1, 1}},
                                                                    {"GPU-hours 25 % cheaper", {0.75, 1, 1}},
                                                                    {"network twice as dear", {1, 2, 1}},
                                                                    {"energy twice as dear", {1, 1, 2}}};
    std::vector<std::optional<std::pair<Choice, std::size_t>>> best(changes.size());
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (!result_.rows.state(i).is_ok()) continue;
      const PlanRow r = result_.rows.read(i);
      for (std::size_t change = 0; change < changes.size(); ++change) {
        const Money money = money_of(plan_.prices, r.point->prices, r.outcome, changes[change].second);
        const Choice choice{r.outcome.time_s, r.outcome.time_s_high, money.is_known ? money.cost : kUnknownCost,
                            money.is_known ? money.high_cost : kUnknownCost, r.is_refined};
        auto& so_far = best[change];
        if (meets(plan_.objective, choice) && (!so_far || is_better(plan_.objective, choice, so_far->first)))
          so_far = {choice, i};
      }
    }
    for (std::size_t change = 0; change < changes.size(); ++change) {
      const Money mine = money_of(plan_.prices, row().point->prices, row().outcome, changes[change].second);
      SensitivityRow told;
      told.what = changes[change].first;
      told.time_s = row().outcome.time_s;
      told.cost = mine.cost;
      told.cost_change = mine.cost / row().money.cost - 1;
      if (const auto& chosen = best[change]) {
        told.recommended = chosen->second;
        told.then_time_s = chosen->first.time_s;
        told.then_cost = chosen->first.cost == kUnknownCost ? 0 : chosen->first.cost;
      }
      if (std::abs(told.cost_change) > 1e-12) result_.sensitivity.push_back(told);
    }
  }

  // The runs used the closed form. Their times are scaled to the prediction of the focus.
  void tell_failures() {
    const Outcome o = evaluation_.at(with_failures());
    if (!o.is_ok()) {
      result_.warnings.push_back("the focus with failures was not simulated: " + o.why);
      return;
    }
    result_.clocked = o.clocked;
    const double factor = row().outcome.undisturbed_s / o.undisturbed_s;
    for (double* time_s : {&result_.clocked->mean_s, &result_.clocked->low_s, &result_.clocked->high_s})
      *time_s *= factor;
  }

  void tell_breakdown() {
    const Outcome o = evaluation_.at(with_layers());
    if (!o.is_ok()) return;
    Breakdown b;
    b.row = focus_;
    b.layer_groups = o.layer_groups;
    const Outcome& main = row().outcome;
    const double main_computes_s = std::min(main.compute_s, main.iteration_s);
    const double more = o.compute_s > 0 ? main_computes_s / std::min(o.compute_s, o.iteration_s) : 1;
    for (LayerGroup& g : b.layer_groups)
      for (double* seconds : {&g.forward_s, &g.backward_s, &g.update_s}) *seconds *= more;
    for (const LayerGroup& g : b.layer_groups) {
      b.forward_s += g.forward_s;
      b.backward_s += g.backward_s;
      b.update_s += g.update_s;
    }
    // Without jitter, no GPU waits for a slower one, so all exposed time is communication. With many messages, these
    // parts are in closed form but the focus is not. The focus's waits are then divided in their proportions.
    const Outcome even = evaluation_.at(varied("even"));
    const double waits_s = std::max(0.0, o.iteration_s - o.compute_s);
    const double main_waits_s = std::max(0.0, main.iteration_s - main.compute_s);
    const double longer = waits_s > 0 ? main_waits_s / waits_s : 1;
    const double exposed_s = even.is_ok() ? even.exposed_communication_s : o.exposed_communication_s;
    b.exposed_communication_s = std::min(waits_s > 0 ? longer * exposed_s : main.exposed_communication_s, main_waits_s);
    b.idle_s = std::max(0.0, main_waits_s - b.exposed_communication_s);
    b.bubble_s = std::min(longer * o.bubble_s.value_or(0), b.exposed_communication_s);
    b.exposed_communication_s -= b.bubble_s;
    result_.breakdown = b;
  }

  const PlanSpec& plan_;
  Evaluation& evaluation_;
  PlanResult& result_;
  const Curves curves_;
  const std::size_t focus_;
  const PlanRow row_;                            // of focus_
  const std::vector<std::size_t> candidates_;    // points for what-ifs
  mutable std::map<std::size_t, PlanRow> read_;  // rows of candidates_
  const std::optional<WorkersSpec> workers_;
};

// Lists assumptions of the plan, then of the points on the frontier, the recommended point first.
void collect_assumptions(const PlanSpec& plan, PlanResult& result) {
  result.assumptions = plan.assumptions;
  std::vector<std::size_t> points;
  for (const auto& point : {result.focus(), result.runner_up})
    if (point) points.push_back(*point);
  points.insert(points.end(), result.frontier.begin(), result.frontier.end());
  for (std::size_t i : points)
    add_assumptions(result.assumptions, scenario_with(plan, plan.points[i].settings).assumptions);
}

void collect_warnings(PlanResult& result) {
  const auto warn = [&](std::size_t i) {
    const PlanRow row = result.rows[i];
    for (const std::string& line : row.outcome.warnings) {
      const std::string warning = row.point->id + ": " + line;
      if (std::find(result.warnings.begin(), result.warnings.end(), warning) == result.warnings.end())
        result.warnings.push_back(warning);
    }
  };
  if (result.focus()) warn(*result.focus());
  if (result.runner_up) warn(*result.runner_up);
  for (std::size_t i : result.frontier) warn(i);
}

}  // namespace

std::vector<std::size_t> nearest_to_frontier(const PlanResult& result, std::size_t most) {
  const auto choice_of = [&](std::size_t i) {
    const RowState& r = result.rows.state(i);
    return Choice{r.time_s, r.time_s_high, r.cost, 0, false};
  };
  std::vector<Choice> frontier;
  for (std::size_t i : result.frontier) frontier.push_back(choice_of(i));
  std::vector<std::pair<double, std::size_t>> near;
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (result.rows.state(i).is_ok()) near.emplace_back(distance_to_frontier(choice_of(i), frontier), i);
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(most, near.size()));
  std::partial_sort(near.begin(), end, near.end());
  near.erase(end, near.end());
  std::vector<std::size_t> nearest;
  for (const auto& [distance, i] : near) nearest.push_back(i);
  return nearest;
}

void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result) {
  const Curves curves(plan, result.rows);
  PlanRows& rows = result.rows;
  for (std::size_t from = 0; from < rows.size(); from += kRowsAtOnce) {
    const std::size_t until = std::min(from + kRowsAtOnce, rows.size());
    std::map<std::string, double> speeds;  // samples/s and GPU of the baselines, which many points share; 0: unknown
    std::vector<Task> tasks;
    std::vector<const std::string*> baselines;
    std::vector<GpuWork> works;
    for (std::size_t n = from; n < until; ++n) {
      const std::size_t i = plan.points.in_order(n);
      baselines.push_back(nullptr);
      works.emplace_back();
      if (!rows.state(i).is_ok()) continue;
      const PlanRow row = rows.read(i);
      const Task task = curves.baseline(i, row.outcome, row.requested);
      const auto [speed, is_new] = speeds.emplace(task.key(), 0);
      if (is_new) tasks.push_back(task);
      baselines.back() = &speed->first;
      works.back() = work_of(row.outcome);
    }
    evaluation.run(tasks, "baselines");
    for (const Task& task : tasks) {
      const Outcome baseline = evaluation.at(task);
      if (baseline.is_ok()) speeds.at(task.key()) = samples_per_s_and_gpu(work_of(baseline));
    }
    for (std::size_t n = from; n < until; ++n) {
      if (baselines[n - from] == nullptr) continue;
      const std::size_t i = plan.points.in_order(n);
      const double speed = speeds.at(*baselines[n - from]);
      rows.state(i).scaling_efficiency = speed > 0 ? samples_per_s_and_gpu(works[n - from]) / speed : 0;
    }
  }
}

void describe_recommendation(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result) {
  if (result.focus()) Around(plan, evaluation, result).tell();
  collect_assumptions(plan, result);
  collect_warnings(result);
}

}  // namespace lockstep::sim::plan
