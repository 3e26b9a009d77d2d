#pragma once
// One link that serves its flows by processor sharing. At every moment they share its bandwidth evenly, but none
// exceeds its own maximum rate. The other flows share what such a flow leaves.
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

struct SharingFlow {
  double start_s;
  double bytes;             ///< above 0
  double most_bytes_per_s;  ///< above 0
};

/// Computes when each flow ends. More than some dozens of flows get an equal share while they are active together, and
/// none ends earlier than at its maximum rate.
class ProcessorSharing {
 public:
  void run(const SharingFlow* flows, std::size_t count, double bandwidth, std::vector<double>& ends_s);

 private:
  using Ending = std::pair<double, std::size_t>;  // bytes served to each active flow when this one ends; the flow
  // Flows under way, by their ends. Most flows carry the same bytes, and then end in the order of their starts.
  class Endings {
   public:
    bool empty() const { return size() == 0; }
    std::size_t size() const { return in_order_.size() - first_ + others_.size(); }
    double least() const { return is_next_in_order() ? in_order_[first_].first : others_.front().first; }
    void push(const Ending& ending);
    Ending pop();
    void clear();

   private:
    bool is_next_in_order() const {
      return first_ < in_order_.size() && (others_.empty() || in_order_[first_].first <= others_.front().first);
    }
    std::vector<Ending> in_order_;
    std::size_t first_ = 0;       // in in_order_: those before have ended
    std::vector<Ending> others_;  // a heap of the endings that were not pushed in ascending order
  };

  void run_many(const SharingFlow* flows, std::size_t count, double bandwidth, std::vector<double>& ends_s);

  std::vector<std::pair<double, std::size_t>> order_;  // start, flow
  Endings endings_;
};

}  // namespace lockstep::sim::replay
