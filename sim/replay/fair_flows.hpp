#pragma once
// Flows that share links max-min fairly, as SimGrid's do on our clusters (sim/cluster/cluster.hpp). Serves replays with
// thousands of concurrent flows.
//
// Rates are max-min fair if and only if every flow has a bottleneck. That is a link that is full and on which no flow
// is faster (Bertsekas and Gallager, Data Networks, section 6.5.2). Flows with the same bottleneck have the same rate,
// and are kept together as its group. When a flow starts or ends, the solver first computes new rates only for the
// groups of its links, with all other rates fixed. Then it checks every touched link. If a group has lost its
// bottleneck, or could be faster, the group is added and the rates are computed again. Links that are no bottleneck are
// added only if the new rates exceed them. This is exact, and mostly ends after the first group. A solver that follows
// every shared link would compute all flows of the network again.
//
// If the flows of a group meet no other group, their new rate is an even share of the link. This needs no solver.
//
// A group counts the bytes served to each of its flows. A flow ends when this count has grown by its bytes, so a change
// of the group's rate requires no work per flow.
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/replay/link_ends.hpp"

namespace lockstep::sim::replay {

class FairFlows {
 public:
  /// Bytes per second of every link, above 0.
  explicit FairFlows(std::vector<double> bandwidths);

  /// Returns the seconds within which two times count as equal: SimGrid's precision or, for late times, the resolution
  /// of doubles.
  static double same_time_s(double now_s);

  /// Registers a route of at least one link: in any order, without duplicates. Returns the route's number. Throws
  /// std::invalid_argument.
  int add_route(std::vector<int> links);
  /// A flow of `bytes` > 0 begins now, never faster than `most`. Returns its number, which is used again when it has
  /// ended.
  int start(int route, double bytes, double most_bytes_per_s = std::numeric_limits<double>::infinity());
  /// When the next flow ends; infinity where there is none.
  double next_end_s() {
    settle();
    return ends_.first_s();
  }
  /// Sets the clock to `now_s`, not before what it shows and not after next_end_s() by more than rounding. Returns the
  /// flows that have ended.
  std::vector<int> advance(double now_s);
  /// Current rate in bytes/s.
  double rate(int flow);
  /// For debugging: the flows in flight at `now_s`, which is not after next_end_s().
  struct FlowState {
    int route;
    double rate_bytes_per_s, left_bytes;
  };
  std::vector<FlowState> states(double now_s);

 private:
  static constexpr int kNone = -1;
  struct Ending {
    double at_bytes;  // of what the group has served
    int flow;
    std::uint32_t move;  // of the flow
    bool operator>(const Ending& other) const {
      return at_bytes != other.at_bytes ? at_bytes > other.at_bytes : flow > other.flow;
    }
  };

  struct Hop {
    int link;
    int place;  // in Link::flows
  };
  struct Flow {
    int route = kNone;
    int hops = 0;  // links of the route that are limits: from place number * longest_ in hops_ on
    int bottleneck = kNone;
    std::uint32_t move = 0;    // counts the groups it has been in: older entries of theirs are void
    double ends_at_bytes = 0;  // of what the group has served
    double new_rate = 0;
    int new_bottleneck = kNone;  // kNone: not yet found
    bool is_shared_out = false;
  };
  // The narrowest links of all routes over a link. They are kept as long as they cannot fill the link together.
  struct Feeders {
    double bandwidth = 0;  // of all together
    std::vector<int> links;
  };
  struct Link {
    // The members that most changes read come first, so that they share a line of the processor's cache.
    double bandwidth = 0;
    double load = 0;
    double rate = 0;  // of the group: the flows whose bottleneck it is
    int group = 0;    // flows in it
    int started = 0;  // number of flows that started and have no rate yet
    bool is_throttle = false;
    bool has_changed = false;
    bool is_touched = false;   // while rates are computed
    bool is_released = false;  // while rates are computed
    bool sets_rates = false;   // while rates are computed
    std::vector<int> flows;    // all that cross the link, if it is a limit
    double served_bytes = 0;
    double since_s = 0;           // time of served_bytes
    std::vector<Ending> endings;  // of the group: a heap with the next one first

    // Valid while rates are computed:
    double free = 0;      // bandwidth that flows with fixed rates leave
    double left = 0;      // unused part of `free`
    int count = 0;        // flows without fixed rates
    int unserved = 0;     // part of `count` without a new rate
    double fastest = 0;   // highest new rate of its flows
    double new_rate = 0;  // that the link sets
  };

  int limit_of(int link);
  void narrow(const std::vector<int>& links);
  void make_limit(int link);
  void make_room(std::size_t links);
  Hop* begin(int flow) { return hops_.data() + static_cast<std::size_t>(flow) * longest_; }
  Hop* end(int flow) { return begin(flow) + flows_[static_cast<std::size_t>(flow)].hops; }
  void enter(int flow, int link);
  int throttle(double most_bytes_per_s);
  void leave(int flow);
  void change(int link);
  void settle() {
    if (!changed_.empty()) settle_changes();
  }
  void settle_changes();
  bool is_settled(int link);
  bool has_single_start(const Link& link) const { return link.group == 0 && link.started == 1; }
  int find_narrowest_link(const Link& link);
  /// Gives the link's group and its new flows equal rates. False, and nothing changes: another link limits them.
  bool try_even_share(int link);
  bool load_other_links(int flow, int link, double change);
  void join_group(int flow, int link);
  void touch(Link& link, int number);
  void share_out(int flow);
  void release_changed_links();
  void release(int link);
  void solve();
  int tightest();
  bool release_unfair_groups();
  bool add_to_other_links();
  double current_rate(const Flow& flow) const {
    return flow.bottleneck == kNone ? 0 : links_[static_cast<std::size_t>(flow.bottleneck)].rate;
  }
  void commit();
  void push_ending(Link& link, int flow);
  void pop_ending(Link& link);
  void serve(Link& link);
  void find_end(int link);

  double now_s_ = 0;
  std::vector<double> bandwidths_;  // of all links
  std::vector<int> number_of_;      // by link, in links_; kNone: no route has it
  std::vector<Link> links_;         // those of routes, and throttles
  // Whether it can be a bottleneck at all: not if the narrower links on both sides of it can never fill it.
  std::vector<bool> is_limit_;    // by link
  std::vector<Feeders> feeders_;  // by link that is no limit
  struct Links {
    std::size_t first;  // in links_of_routes_
    std::size_t last;   // one past the last link
  };
  std::vector<Links> routes_;
  std::vector<int> links_of_routes_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;  // of all flows, in one array because there are many
  std::size_t longest_ = 0;
  std::vector<int> throttles_;  // unused ones, of one flow each
  std::vector<int> unused_;     // numbers of flows
  std::vector<int> changed_;    // links with new or ended flows since the last settling
  LinkEnds ends_;               // of the links with a group
  std::vector<int> shared_;     // flows whose rates are being computed
  std::vector<int> touched_;    // their links
  std::vector<int> exceeded_;   // links that new rates exceed
  // A heap of what each of many touched links leaves to each of its flows, with the link. Not all are current.
  std::vector<std::pair<double, int>> shares_;
};

}  // namespace lockstep::sim::replay
