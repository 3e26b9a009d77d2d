#pragma once
// The bytes on links in rounds whose messages differ in size, such as the shares of a parameter server's servers.
//
// Runs that begin or end at the same rank, one after the other, form a group g of b_g bytes per message. It sends n_gl
// messages over link l. Most groups send the same number, m_l: each node of a cluster sends to all servers but its own.
// So the bytes on link l are computed as m_l (sum of b_g) + (sum of (n_gl - m_l) b_g). All terms are whole numbers, so
// the sum is exact. The links that messages with a certain latency cross are found likewise. These numbers depend on
// ranks alone, and are computed once for all plans of a program.
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/replay/replay.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {

class UnevenLoads {
 public:
  /// `reduction_rate`: 0 if there is no limit.
  UnevenLoads(const UnitClasses& units, double reduction_rate) : units_(units), reduction_rate_(reduction_rate) {}

  /// Returns the flows that may be the longest, one per latency. None if the block has too few groups to gain by them,
  /// or groups whose runs differ in bytes.
  std::optional<std::vector<PlanCosts::Flow>> flows(const Transfers::Block& block);
  /// Returns the bytes that cross each link, 0 where none do. None as for flows().
  std::optional<std::vector<double>> bytes(const Transfers::Block& block);

 private:
  using MessagesOfLink = std::vector<std::pair<int, double>>;
  struct Group {
    MessagesOfLink more;                                                  ///< n_gl - m_l where it is not 0
    std::map<double, std::vector<int>> less_of_latency, more_of_latency;  ///< links, compared with Family's
    std::vector<double> latencies_s;
  };
  // Groups with the same end, source or destination, in common.
  struct Family {
    MessagesOfLink usual;                           ///< m_l where it is not 0
    std::map<double, std::vector<int>> of_latency;  ///< links that messages of most groups cross, by latency
    std::map<std::vector<int>, std::shared_ptr<const Group>> known;  ///< by ranks
  };
  using Runs = std::vector<Run>;
  struct Counted;
  // The groups of a block. They refer to a family, and to facts that the family keeps.
  struct Groups {
    const Family* family;
    std::vector<Runs> runs;
    std::vector<const Group*> facts;
  };

  std::optional<Groups> find_groups(const Transfers::Block& block);
  static std::vector<Runs> groups_of(const Transfers::Block& block, bool is_from_one);
  Family family_of(const std::vector<Runs>& groups) const;
  const Group& group_of(Family& family, const Runs& runs) const;
  Counted count(const Runs& runs) const;
  std::vector<double> bytes_of_links(const Groups& groups) const;

  const UnitClasses& units_;
  const double reduction_rate_;
  std::map<bool, Family> families_;  // by: all groups have a common source
};

}  // namespace lockstep::sim::replay
