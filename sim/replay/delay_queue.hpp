#pragma once
// A queue of events in the order of time, then of pushes. Events with the same delay become due in the order of their
// pushes. So each delay has a lane, in which the next event is the first. Other events are in a RadixQueue.
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/replay/radix_queue.hpp"

namespace lockstep::sim::replay {

template <typename What>
class DelayQueue {
 public:
  /// Adds an event at now_s + delay_s; neither is negative. `now_s` must not precede the time of the latest pop(). Costs
  /// least if it never decreases.
  void push_after(double now_s, double delay_s, const What& what) {
    const Entry entry{now_s + delay_s, pushes_++, what};
    const int place = find_lane(delay_s);
    if (place == kOthers) return push_to_others(entry);
    Lane& lane = lanes_[place];
    if (lane.entries.empty())
      set_next(place, entry);
    else if (entry.at_s < lane.entries.back().at_s)
      return push_to_others(entry);
    lane.entries.push_back(entry);
  }
  /// Adds an event at a time that does not precede the time of the latest pop().
  void push_at(double at_s, const What& what) { push_to_others({at_s, pushes_++, what}); }

  /// Time of the first event; infinity: the queue is empty.
  double first_s() const { return next_[first_].at_s; }
  /// Removes the first event. Requires one.
  What pop() {
    const int place = first_;
    What what;
    if (place == kOthers) {
      what = others_.first().what;
      others_.pop();
      next_[kOthers] = others_.empty() ? Next() : Next{others_.first().at_s, others_.first().number};
    } else {
      Lane& lane = lanes_[place];
      what = lane.entries[lane.first++].what;
      lane.forget_removed();
      next_[place] =
          lane.entries.empty() ? Next() : Next{lane.entries[lane.first].at_s, lane.entries[lane.first].number};
    }
    first_ = 0;
    for (int other = 1; other <= kOthers; ++other)
      if (next_[other].is_before(next_[first_])) first_ = other;
    return what;
  }

 private:
  static constexpr int kLanes = 4, kOthers = kLanes;

  struct Entry {
    double at_s;
    std::uint64_t number;  // of the push
    What what;
  };
  struct Next {
    double at_s = std::numeric_limits<double>::infinity();
    std::uint64_t number = 0;
    bool is_before(const Next& other) const { return at_s != other.at_s ? at_s < other.at_s : number < other.number; }
  };
  struct Lane {
    double delay_s = 0;
    std::vector<Entry> entries;
    std::size_t first = 0;  // those before it are removed

    void forget_removed() {
      constexpr std::size_t kMost = 64;
      if (first < entries.size() && (first < kMost || 2 * first < entries.size())) return;
      entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first));
      first = 0;
    }
  };

  // Returns the lane of this delay, or an unused one; kOthers if there is none.
  int find_lane(double delay_s) {
    int unused = kOthers;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane].delay_s == delay_s) return lane;
      if (lanes_[lane].entries.empty()) unused = lane;
    }
    if (unused != kOthers) lanes_[unused].delay_s = delay_s;
    return unused;
  }
  void push_to_others(const Entry& entry) {
    others_.push(entry);
    if (entry.at_s < next_[kOthers].at_s) set_next(kOthers, entry);
  }
  void set_next(int place, const Entry& entry) {
    next_[place] = {entry.at_s, entry.number};
    if (next_[place].is_before(next_[first_])) first_ = place;
  }

  Lane lanes_[kLanes];
  RadixQueue<Entry> others_;
  Next next_[kLanes + 1];  // of each lane and of the others
  int first_ = kOthers;    // where the first event is
  std::uint64_t pushes_ = 0;
};

}  // namespace lockstep::sim::replay
