#pragma once
// The points of a plan with their best predictions so far. A row is made on request, from the point and its outcome on
// disk (outcomes.hpp). The values by which points are chosen stay in memory: 64 bytes for each point.
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/plan/frontier.hpp"
#include "sim/plan/money.hpp"
#include "sim/plan/outcomes.hpp"

namespace lockstep::sim::plan {

/// A point and its best prediction so far.
struct PlanRow {
  std::shared_ptr<const PlanPoint> point;
  Outcome outcome;
  Fidelity requested = Fidelity::analytic;
  Money money;
  bool is_refined = false;
  double scaling_efficiency = 0;  ///< 0: not known
  bool is_on_frontier = false;
  bool meets_objective = false;

  /// Returns the plan's settings for the point, and the split that the search found.
  Json setting() const;
  /// Returns the machine's name: the value of the plan's axis of machines, else GPU, servers and network.
  std::string machine() const { return point->machine.empty() ? outcome.machine() : point->machine; }
};

enum class RowStatus : std::uint8_t { waiting, ok, refused, failed };

/// The part of a row that stays in memory. Numbers are 0 unless the status is ok.
struct RowState {
  double time_s = 0, time_s_high = 0;
  double cost = 0, cost_high = 0;  ///< 0 if not priced
  double scaling_efficiency = 0;
  std::uint32_t machine = 0;  ///< equal for points of one machine
  std::uint32_t gpus = 0;     ///< 0: not known
  RowStatus status = RowStatus::waiting;
  std::uint8_t requested = 0, fidelity = 0;  ///< Fidelity
  bool is_priced = false, has_tokens = false, has_split = false, is_listed_machine = false;
  bool is_refined = false, is_on_frontier = false, meets_objective = false;

  bool is_ok() const { return status == RowStatus::ok; }
  Choice choice() const { return {time_s, time_s_high, cost, cost_high, is_refined}; }
};

class PlanRows {
 public:
  PlanRows() = default;
  PlanRows(const PlanSpec& plan, std::shared_ptr<const Outcomes> outcomes);

  std::size_t size() const { return states_.size(); }
  bool empty() const { return states_.empty(); }
  PlanRow read(std::size_t row) const;
  PlanRow operator[](std::size_t row) const { return read(row); }
  PlanRow front() const { return read(0); }
  const RowState& state(std::size_t row) const { return states_[row]; }
  RowState& state(std::size_t row) { return states_[row]; }
  const std::vector<RowState>& states() const { return states_; }
  /// Takes the outcome of a point's task, which `outcomes` has, in place of the point's earlier one.
  void set(std::size_t row, Fidelity requested, const Outcome& outcome);

  /// Reads the rows in order.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PlanRow;
    using difference_type = std::ptrdiff_t;
    using pointer = const PlanRow*;
    using reference = PlanRow;
    Iterator(const PlanRows& rows, std::size_t at) : rows_(&rows), at_(at) {}
    PlanRow operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const PlanRows* rows_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  void complete(PlanRow& row) const;

  const PlanSpec* plan_ = nullptr;
  std::shared_ptr<const Outcomes> outcomes_;
  std::vector<RowState> states_;
  std::map<std::string, std::uint32_t> machines_;
};

/// Returns the task that predicts a point as it is.
Task task_of(std::size_t point, Fidelity fidelity);

}  // namespace lockstep::sim::plan
