#pragma once
// Finds the link on which a flow ends first. It is a heap that knows the position of each link, so a link's end can
// change at any time. A change takes time logarithmic in the number of links with an end.
#include <limits>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

class LinkEnds {
 public:
  /// Sets the link's end; infinity: none.
  void set(int link, double end_s);
  bool empty() const { return heap_.empty(); }
  int first() const { return heap_.front().link; }
  double first_s() const { return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().end_s; }

 private:
  struct Entry {
    double end_s;
    int link;
  };
  void place(std::size_t slot, const Entry& entry);
  void rise(std::size_t slot, const Entry& entry);
  void sink(std::size_t slot, const Entry& entry);

  std::vector<Entry> heap_;
  std::vector<int> slot_of_;  // by link; -1: none
};

}  // namespace lockstep::sim::replay
