#pragma once
// Links all of whose messages have one rank at an end. A rank enters a round when it has left the one before, so that on
// such a link messages of different rounds never meet.
#include <utility>
#include <vector>

#include "engine/base/index.hpp"
#include "sim/cluster/cluster.hpp"

namespace lockstep::sim::replay {

class LinkOwners {
 public:
  static constexpr int kNobody = -1;  ///< an end that is no rank
  explicit LinkOwners(const Cluster& cluster) : of_link_(to_index(cluster.link_count()), {kUnknown, kUnknown}) {}
  /// A message crosses the link. False once the link has no such rank.
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
  std::vector<std::pair<int, int>> of_link_;  // ranks that may be it
};

}  // namespace lockstep::sim::replay
