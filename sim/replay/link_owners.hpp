#pragma once
// Links whose messages all begin or all end at one rank. A rank enters a round only after it has left the previous one.
// So on such a link, messages of different rounds never meet.
#include <utility>
#include <vector>

#include "engine/base/index.hpp"
#include "sim/cluster/cluster.hpp"

namespace lockstep::sim::replay {

class LinkOwners {
 public:
  static constexpr int kNobody = -1;  ///< stands for an end that is not a rank
  explicit LinkOwners(const Cluster& cluster) : of_link_(to_index(cluster.link_count()), {kUnknown, kUnknown}) {}
  /// Records a message over the link. Returns false if no single rank is at an end of all its messages.
  bool cross(int link, int src, int dst) {
    auto& [a, b] = of_link_[to_index(link)];
    if (a == kUnknown && b == kUnknown) {
      a = src;
      b = dst;
    } else {
      if (a != src && a != dst) a = kNobody;
      if (b != src && b != dst) b = kNobody;
    }
    return has_owner(link);
  }
  bool has_owner(int link) const {
    return of_link_[to_index(link)].first != kNobody || of_link_[to_index(link)].second != kNobody;
  }

 private:
  static constexpr int kUnknown = -2;
  std::vector<std::pair<int, int>> of_link_;  // candidate ranks
};

}  // namespace lockstep::sim::replay
