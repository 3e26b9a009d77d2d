#include "sim/cluster/fabric.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "engine/base/index.hpp"
#include "engine/base/json.hpp"
#include "engine/base/random.hpp"

namespace lockstep::sim::cluster {
namespace {

class Star : public Fabric {
 public:
  Star(const ClusterSpec& spec, int nodes)
      : Fabric(spec.fabric.link.latency_s),
        bandwidth_(spec.fabric.link.bandwidth_bytes_per_s),
        ports_(bandwidth_ < spec.nic.per_node * spec.nic.link.bandwidth_bytes_per_s ? nodes : 0) {}

  int links() const override { return 2 * ports_; }
  double bandwidth_bytes_per_s(int) const override { return bandwidth_; }
  std::string name(int link) const override {
    return "node" + std::to_string(link / 2) + (link % 2 == 0 ? ".up" : ".down");
  }
  void append_route(int from, int to, std::uint64_t, int first_link, std::vector<int>& links) const override {
    if (ports_ == 0) return;
    links.push_back(first_link + 2 * from);
    links.push_back(first_link + 2 * to + 1);
  }
  int hops(int, int) const override { return 1; }
  int nodes_of_unit() const override { return 1; }
  UnitLink unit_of(int link) const override { return {link / 2, link % 2}; }
  int links_of_unit() const override { return ports_ > 0 ? 2 : 0; }

 private:
  const double bandwidth_;
  const int ports_;  // 0: no port is a bottleneck
};

// Fabrics whose every link counts as a hop.
class Hops : public Fabric {
 public:
  using Fabric::Fabric;
  int hops(int from, int to) const override {
    std::vector<int> links;
    append_route(from, to, 0, 0, links);
    return static_cast<int>(links.size());
  }
};

// A place has a position in its level, and a label with as many digits as the tree has levels. At level l, digits below
// l count parents, the others children. The cable `port` of a child leads to parent port % parents, among the parents
// that differ from the child in digit l only.
class FatTree : public Hops {
 public:
  explicit FatTree(const FabricSpec& spec)
      : Hops(spec.link.latency_s),
        tree_(spec.fat_tree),
        bandwidth_(spec.link.bandwidth_bytes_per_s),
        routing_(spec.routing),
        hash_(spec.hash) {
    for (int level = 0; level <= levels(); ++level)
      for (int digit = 0, product = 1; digit < levels(); ++digit) {
        weights_.push_back(product);
        product *= digits(level, digit);
      }
    const bool is_plain = levels() == 2 && tree_.up[0] == 1 && tree_.count == std::vector<int>{1, 1};
    if (routing_ != Routing::ecmp && is_plain && tree_.down[0] % tree_.up[1] == 0) nodes_of_open_unit_ = tree_.down[0];
    first_.push_back(0);
    for (int level = 0; level < levels(); ++level) first_.push_back(first_.back() + places(level) * ports(level));
  }

  int links() const override { return 2 * first_.back(); }
  double bandwidth_bytes_per_s(int link) const override {
    return tree_.links.empty() ? bandwidth_ : tree_.links[to_index(level_of(link))].bandwidth_bytes_per_s;
  }
  double latency_s(int from, int to) const override {
    if (tree_.links.empty()) return Hops::latency_s(from, to);
    double up_s = 0;
    for (int level = 0; level < height(from, to); ++level) up_s += tree_.links[to_index(level)].latency_s;
    return 2 * up_s;
  }
  std::string name(int link) const override {
    const int level = level_of(link);
    const int cable = link / 2 - first_[to_index(level)];
    return "level" + std::to_string(level) + "." + std::to_string(cable / ports(level)) + ".port" +
           std::to_string(cable % ports(level)) + (link % 2 == 0 ? ".up" : ".down");
  }

  // A route has as many links down as up.
  int hops(int from, int to) const override { return 2 * height(from, to); }

  // In a tree of two levels a unit is a leaf with its nodes. The uplink is the destination modulo the uplinks. It is
  // the same for all leaves if the uplinks divide the leaf's nodes.
  int nodes_of_unit() const override { return closed_.empty() ? nodes_of_open_unit_ : 0; }
  UnitLink unit_of(int link) const override {
    const int nodes = nodes_of_unit();
    if (nodes == 0) return {0, link};
    if (link < 2 * first_[1]) return {link / (2 * nodes), link % (2 * nodes)};
    const int of_level = link - 2 * first_[1], of_leaf = 2 * ports(1);
    return {of_level / of_leaf, 2 * nodes + of_level % of_leaf};
  }

  int links_of_unit() const override { return nodes_of_unit() > 0 ? 2 * (nodes_of_unit() + ports(1)) : links(); }

  void close(const std::vector<int>& links) override { closed_.insert(links.begin(), links.end()); }

  void append_route(int from, int to, std::uint64_t connection, int first_link,
                    std::vector<int>& links) const override {
    if (routing_ == Routing::ecmp) return append_open_route(from, to, connection, first_link, links);
    const std::size_t before = links.size();
    append_d_mod_k_route(from, to, first_link, links);
    const auto is_closed = [&](int link) { return closed_.count(link - first_link) > 0; };
    if (closed_.empty() || std::none_of(links.begin() + static_cast<std::ptrdiff_t>(before), links.end(), is_closed))
      return;
    links.resize(before);
    append_open_route(from, to, connection, first_link, links);
  }

 private:
  void append_d_mod_k_route(int from, int to, int first_link, std::vector<int>& links) const {
    int level = 0, position = from, by_level = to;
    while (!is_above(level, position, to)) {
      const int port = by_level % ports(level);
      by_level /= tree_.up[to_index(level)];
      links.push_back(first_link + 2 * cable(level, position, port));
      position = parent(level, position, port);
      ++level;
    }
    while (level > 0) descend(from, to, first_link, level, position, links);
  }

  // Counts the levels up to the lowest switch above both nodes.
  int height(int from, int to) const {
    int digit = levels() - 1;
    while (digit >= 0 && digit_of(0, from, digit) == digit_of(0, to, digit)) --digit;
    return digit + 1;
  }
  int level_of(int link) const {
    int level = 0;
    while (link / 2 >= first_[to_index(level) + 1]) ++level;
    return level;
  }

  int levels() const { return static_cast<int>(tree_.down.size()); }
  int ports(int level) const { return tree_.up[to_index(level)] * tree_.count[to_index(level)]; }
  int digits(int level, int digit) const {
    return digit + 1 > level ? tree_.down[to_index(digit)] : tree_.up[to_index(digit)];
  }
  int places(int level) const {
    int product = 1;
    for (int digit = 0; digit < levels(); ++digit) product *= digits(level, digit);
    return product;
  }
  int weight(int level, int digit) const { return weights_[to_index(level * levels() + digit)]; }
  int digit_of(int level, int position, int digit) const {
    return position / weight(level, digit) % digits(level, digit);
  }
  int cable(int level, int position, int port) const {
    return first_[to_index(level)] + position * ports(level) + port;
  }

  // The place whose digit `changed` is `value`, and whose other digits equal those of `position`.
  int neighbour(int level, int position, int other_level, int changed, int value) const {
    int result = 0;
    for (int digit = 0; digit < levels(); ++digit)
      result += weight(other_level, digit) * (digit == changed ? value : digit_of(level, position, digit));
    return result;
  }
  int parent(int level, int position, int port) const {
    return neighbour(level, position, level + 1, level, port % tree_.up[to_index(level)]);
  }
  bool is_above(int level, int position, int place) const {
    if (level == 0) return position == place;
    for (int digit = level; digit < levels(); ++digit)
      if (digit_of(level, position, digit) != digit_of(0, place, digit)) return false;
    return true;
  }

  struct Ends {
    int from, to;
    std::uint64_t connection;
  };

  void append_open_route(int from, int to, std::uint64_t connection, int first_link, std::vector<int>& links) const {
    std::vector<int> route;
    if (!climb({from, to, connection}, 0, from, to, route))
      throw InputError("/cluster/faults: dead links leave no route from node " + std::to_string(from) + " to node " +
                       std::to_string(to) + "; allowed: /cluster/nodes_used without one of them");
    for (const int link : route) links.push_back(first_link + link);
  }

  // Appends the rest of the route from a place of a level, up and then down. False: no open route begins there.
  bool climb(const Ends& ends, int level, int position, int by_level, std::vector<int>& route) const {
    if (is_above(level, position, ends.to)) return climb_down(ends, level, position, route);
    const int first = routing_ == Routing::ecmp ? hashed(ends, level, ports(level)) : by_level % ports(level);
    for (int i = 0; i < ports(level); ++i) {
      const int port = (first + i) % ports(level), link = 2 * cable(level, position, port);
      if (closed_.count(link) > 0) continue;
      route.push_back(link);
      const int above = parent(level, position, port);
      if (climb(ends, level + 1, above, by_level / tree_.up[to_index(level)], route)) return true;
      route.pop_back();
    }
    return false;
  }

  // Only the choice among parallel cables is free on the way down.
  bool climb_down(const Ends& ends, int level, int position, std::vector<int>& route) const {
    if (level == 0) return true;
    const int below = level - 1, cables = tree_.count[to_index(below)], label = digit_of(level, position, below);
    const int child = neighbour(level, position, below, below, digit_of(0, ends.to, below));
    const int first = routing_ == Routing::ecmp ? hashed(ends, levels() + below, cables) : ends.from % cables;
    for (int i = 0; i < cables; ++i) {
      const int port = label + (first + i) % cables * tree_.up[to_index(below)];
      const int link = 2 * cable(below, child, port) + 1;
      if (closed_.count(link) > 0) continue;
      route.push_back(link);
      if (climb_down(ends, below, child, route)) return true;
      route.pop_back();
    }
    return false;
  }

  // A number below `choices` that a switch computes from the connection. `place`: the level, different up and down.
  int hashed(const Ends& ends, int place, int choices) const {
    const std::uint64_t nodes = static_cast<std::uint64_t>(ends.from) << 32 | static_cast<std::uint64_t>(ends.to);
    const std::uint64_t stream =
        random_bits(static_cast<std::uint64_t>(hash_), static_cast<std::uint64_t>(place), nodes);
    return static_cast<int>(random_bits(stream, 0, ends.connection) % static_cast<std::uint64_t>(choices));
  }

  // Goes one step down. SimGrid's search for a cable may take further steps: it continues from the port it found, in
  // the ports of the child.
  void descend(int from, int to, int first_link, int& level, int& position, std::vector<int>& links) const {
    const int own_cable = from % tree_.count[to_index(level - 1)];
    for (int port = own_cable * tree_.down[to_index(level - 1)]; level > 0; ++port) {
      const int down = tree_.down[to_index(level - 1)];
      port += (digit_of(0, to, level - 1) - port % down + down) % down;  // next port to the child
      if (port >= children(level)) return;
      const int child = neighbour(level, position, level - 1, level - 1, port % down);
      const int label = digit_of(level, position, level - 1);
      links.push_back(first_link + 2 * cable(level - 1, child, label + port / down * tree_.up[to_index(level - 1)]) +
                      1);
      position = child;
      --level;
    }
  }
  int children(int level) const { return tree_.down[to_index(level - 1)] * tree_.count[to_index(level - 1)]; }

  const FatTreeSpec tree_;
  const double bandwidth_;
  const Routing routing_;
  const int hash_;
  std::unordered_set<int> closed_;  // dead links
  std::vector<int> first_;          // cable of a level's first place
  std::vector<int> weights_;        // of a level's digits
  int nodes_of_open_unit_ = 0;      // nodes_of_unit() without dead links
};

// Each node has a cable to the next node in every dimension; the way back uses the previous node's cable.
class Torus : public Hops {
 public:
  explicit Torus(const FabricSpec& spec)
      : Hops(spec.link.latency_s), sizes_(spec.torus), bandwidth_(spec.link.bandwidth_bytes_per_s) {}

  int links() const override {
    return 2 * dimensions() * std::accumulate(sizes_.begin(), sizes_.end(), 1, std::multiplies<>());
  }
  double bandwidth_bytes_per_s(int) const override { return bandwidth_; }
  std::string name(int link) const override {
    return "place" + std::to_string(link / 2 / dimensions()) + ".dimension" + std::to_string(link / 2 % dimensions()) +
           (link % 2 == 0 ? ".up" : ".down");
  }
  void append_route(int from, int to, std::uint64_t, int first_link, std::vector<int>& links) const override {
    int here = from, stride = 1;
    for (int d = 0; d < dimensions(); ++d) {
      const int size = sizes_[to_index(d)], mine = from / stride % size, target = to / stride % size;
      const bool is_up =
          (target > mine && target <= mine + size / 2) || (mine > size / 2 && (mine + size / 2) % size >= target);
      for (int at_d = mine; at_d != target;) {
        const int next_d = (at_d + (is_up ? 1 : size - 1)) % size;
        const int next = here + (next_d - at_d) * stride;
        links.push_back(first_link + 2 * ((is_up ? here : next) * dimensions() + d) + (is_up ? 0 : 1));
        here = next;
        at_d = next_d;
      }
      stride *= size;
    }
  }

 private:
  int dimensions() const { return static_cast<int>(sizes_.size()); }
  const std::vector<int> sizes_;
  const double bandwidth_;
};

// Orders links by the router that they leave. Links to its nodes and from them are first. Links to the routers of its
// chassis follow, then those to the routers in its place in the other chassis, then those to the other group.
class Dragonfly : public Hops {
 public:
  explicit Dragonfly(const FabricSpec& spec)
      : Hops(spec.link.latency_s), fly_(spec.dragonfly), bandwidth_(spec.link.bandwidth_bytes_per_s) {}

  int links() const override { return fly_.groups.first * routers_of_group() * per_router(); }
  double bandwidth_bytes_per_s(int link) const override {
    const int of_router = link % per_router();
    if (of_router < 2 * fly_.nodes) return bandwidth_;
    if (of_router < 2 * fly_.nodes + fly_.routers.first) return bandwidth_ * fly_.routers.second;
    return bandwidth_ * (of_router + 1 < per_router() ? fly_.chassis.second : fly_.groups.second);
  }
  std::string name(int link) const override {
    return "router" + std::to_string(link / per_router()) + ".link" + std::to_string(link % per_router());
  }

  void append_route(int from, int to, std::uint64_t, int first_link, std::vector<int>& links) const override {
    const Position source = position(from), target = position(to);
    const auto add = [&](int router, int link) { links.push_back(first_link + router * per_router() + link); };
    const int first_router = router_of(source), last_router = router_of(target);
    Position here = source;
    add(first_router, 2 * (from % fly_.nodes));
    if (first_router != last_router) {
      if (here.group != target.group) {
        if (here.router != target.group) add(router_of(here), to_router(target.group));
        here.router = target.group;
        if (here.chassis != 0) add(router_of(here), to_chassis(0));
        here.chassis = 0;
        add(router_of(here), to_group());
        here = {target.group, source.group / fly_.routers.first, source.group % fly_.routers.first};
      }
      if (here.router != target.router) {
        add(router_of(here), to_router(target.router));
        here = {target.group, 0, target.router};
      }
      if (here.chassis != target.chassis) add(router_of(here), to_chassis(target.chassis));
    }
    add(last_router, 2 * (to % fly_.nodes) + 1);
  }

 private:
  struct Position {
    int group, chassis, router;
  };
  Position position(int node) const {
    const int router = node / fly_.nodes, in_group = router % routers_of_group();
    return {router / routers_of_group(), in_group / fly_.routers.first, in_group % fly_.routers.first};
  }
  int routers_of_group() const { return fly_.chassis.first * fly_.routers.first; }
  int router_of(const Position& p) const {
    return p.group * routers_of_group() + p.chassis * fly_.routers.first + p.router;
  }
  int per_router() const { return 2 * fly_.nodes + fly_.routers.first + fly_.chassis.first + 1; }
  int to_router(int router) const { return 2 * fly_.nodes + router; }
  int to_chassis(int chassis) const { return 2 * fly_.nodes + fly_.routers.first + chassis; }
  int to_group() const { return per_router() - 1; }

  const DragonflySpec fly_;
  const double bandwidth_;
};

}  // namespace

void Fabric::close(const std::vector<int>& links) {
  if (!links.empty())
    throw InputError("/cluster/faults: a dead link, " + name(links.front()) +
                     ", and this fabric has one route between two nodes; allowed: bandwidth_share above 0; or a "
                     "fat-tree");
}

std::unique_ptr<Fabric> make_fabric(const ClusterSpec& spec, int nodes) {
  switch (spec.fabric.kind) {
    case FabricKind::star:
      break;
    case FabricKind::fat_tree:
      return std::make_unique<FatTree>(spec.fabric);
    case FabricKind::torus:
      return std::make_unique<Torus>(spec.fabric);
    case FabricKind::dragonfly:
      return std::make_unique<Dragonfly>(spec.fabric);
  }
  return std::make_unique<Star>(spec, nodes);
}

double longest_fabric_latency_s(const ClusterSpec& spec, int nodes) {
  const auto place = [&](int node) { return spec.nodes_used.empty() ? node : spec.nodes_used.at(to_index(node)); };
  const std::unique_ptr<Fabric> fabric = make_fabric(spec, nodes);
  double longest_s = 0;
  for (int node = 1; node < nodes; ++node) longest_s = std::max(longest_s, fabric->latency_s(place(0), place(node)));
  return longest_s;
}

}  // namespace lockstep::sim::cluster
