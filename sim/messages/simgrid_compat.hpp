#pragma once
// Hides the differences between SimGrid 3.32 (Debian 12) and 4.x (Debian 13). 4.x renames create_* to add_*, has a root
// zone from the start, and fills cluster zones when they are sealed.
#include <functional>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <simgrid/version.h>  // not self-contained: after s4u.hpp
#if SIMGRID_VERSION < 40000
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>

#include "sim/modules.hpp"
#endif

namespace lockstep::sim::messages {
namespace compat {

namespace sg4 = simgrid::s4u;
using NetPoint = simgrid::kernel::routing::NetPoint;
using LatencyFactor = double(double, const sg4::Host*, const sg4::Host*, const std::vector<sg4::Link*>&,
                             const std::unordered_set<sg4::NetZone*>&);

/// A zone that is a leaf of a fabric, and the point in it where the fabric ends.
struct Leaf {
  sg4::NetZone* zone;
  NetPoint* gateway;
};
/// Makes the leaf number `id` as a child of `parent`.
using MakeLeaf = std::function<Leaf(sg4::NetZone* parent, unsigned long id)>;

#if SIMGRID_VERSION >= 33400
constexpr const char* kTimePrecision = "precision/timing";
#else
constexpr const char* kTimePrecision = "surf/precision";
#endif

#if SIMGRID_VERSION >= 40000

inline sg4::NetZone* root_zone() {
  return sg4::Engine::get_instance()->get_netzone_root();
}
inline sg4::Host* add_host(sg4::NetZone* zone, const std::string& name, double speed) {
  return zone->add_host(name, speed);
}
/// An actor that runs `code` on `host`.
inline void add_actor(const std::string& name, sg4::Host* host, const std::function<void()>& code) {
  sg4::Engine::get_instance()->add_actor(name, host, code);
}
inline sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double bandwidth) {
  return zone->add_link(name, bandwidth);
}
inline NetPoint* add_router(sg4::NetZone* zone, const std::string& name) {
  return zone->add_router(name);
}
inline sg4::NetZone* add_full_zone(sg4::NetZone* parent, const std::string& name) {
  return parent->add_netzone_full(name);
}
inline sg4::NetZone* add_star_zone(sg4::NetZone* parent, const std::string& name) {
  return parent->add_netzone_star(name);
}
inline void add_route(sg4::NetZone* zone, NetPoint* from, NetPoint* to, const std::vector<sg4::LinkInRoute>& links) {
  zone->add_route(from, to, links, false);
}
inline Leaf seal_leaf(sg4::NetZone* zone, NetPoint* gateway) {
  zone->set_gateway(gateway);
  return {zone->seal(), gateway};
}
/// Connects a star's leaf to the links that its messages cross on the way out and in.
inline void connect_leaf(sg4::NetZone* star, const Leaf& leaf, const std::vector<sg4::LinkInRoute>& out,
                         const std::vector<sg4::LinkInRoute>& in) {
  star->add_route(leaf.zone, nullptr, out, false);
  star->add_route(nullptr, leaf.zone, in, false);
}
inline sg4::NetZone* fill(sg4::NetZone* fabric, const MakeLeaf& make_leaf) {
  fabric->set_netzone_cb([make_leaf](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    return make_leaf(zone, id).zone;
  });
  return fabric;
}
inline sg4::NetZone* add_fat_tree(sg4::NetZone* parent, const std::string& name, const std::vector<unsigned>& down,
                                  const std::vector<unsigned>& up, const std::vector<unsigned>& count, double bandwidth,
                                  const MakeLeaf& make_leaf) {
  return fill(parent->add_netzone_fatTree(name, static_cast<unsigned>(down.size()), down, up, count, bandwidth, 0.0,
                                          sg4::Link::SharingPolicy::SPLITDUPLEX),
              make_leaf);
}
inline sg4::NetZone* add_torus(sg4::NetZone* parent, const std::string& name, const std::vector<unsigned long>& sizes,
                               double bandwidth, const MakeLeaf& make_leaf) {
  return fill(parent->add_netzone_torus(name, sizes, bandwidth, 0.0, sg4::Link::SharingPolicy::SPLITDUPLEX), make_leaf);
}
using CountAndLinks = std::pair<unsigned, unsigned>;
inline sg4::NetZone* add_dragonfly(sg4::NetZone* parent, const std::string& name, CountAndLinks groups,
                                   CountAndLinks chassis, CountAndLinks routers, unsigned nodes, double bandwidth,
                                   const MakeLeaf& make_leaf) {
  return fill(parent->add_netzone_dragonfly(name, groups, chassis, routers, nodes, bandwidth, 0.0,
                                            sg4::Link::SharingPolicy::SPLITDUPLEX),
              make_leaf);
}
inline void set_latency_factor(sg4::NetZone* zone, const std::function<LatencyFactor>& factor) {
  zone->set_latency_factor_cb(factor);
}

#else

inline sg4::NetZone* root_zone() {
  return nullptr;
}
inline sg4::Host* add_host(sg4::NetZone* zone, const std::string& name, double speed) {
  return zone->create_host(name, speed);
}
/// An actor that runs `code` on `host`.
inline void add_actor(const std::string& name, sg4::Host* host, const std::function<void()>& code) {
  sg4::Actor::create(name, host, code);
}
inline sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double bandwidth) {
  return zone->create_link(name, bandwidth);
}
inline NetPoint* add_router(sg4::NetZone* zone, const std::string& name) {
  return zone->create_router(name);
}
inline sg4::NetZone* add_full_zone(sg4::NetZone* parent, const std::string& name) {
  sg4::NetZone* zone = sg4::create_full_zone(name);
  return parent ? zone->set_parent(parent) : zone;
}
inline sg4::NetZone* add_star_zone(sg4::NetZone* parent, const std::string& name) {
  sg4::NetZone* zone = sg4::create_star_zone(name);
  return parent ? zone->set_parent(parent) : zone;
}
inline void add_route(sg4::NetZone* zone, NetPoint* from, NetPoint* to, const std::vector<sg4::LinkInRoute>& links) {
  zone->add_route(from, to, nullptr, nullptr, links, false);
}
inline Leaf seal_leaf(sg4::NetZone* zone, NetPoint* gateway) {
  return {zone->seal(), gateway};
}
/// Connects a star's leaf to the links that its messages cross on the way out and in.
inline void connect_leaf(sg4::NetZone* star, const Leaf& leaf, const std::vector<sg4::LinkInRoute>& out,
                         const std::vector<sg4::LinkInRoute>& in) {
  star->add_route(leaf.zone->get_netpoint(), nullptr, leaf.gateway, nullptr, out, false);
  star->add_route(nullptr, leaf.zone->get_netpoint(), nullptr, leaf.gateway, in, false);
}
inline sg4::ClusterCallbacks filling(const MakeLeaf& make_leaf) {
  return sg4::ClusterCallbacks([make_leaf](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    const Leaf leaf = make_leaf(zone, id);
    return std::make_pair(leaf.zone->get_netpoint(), leaf.gateway);
  });
}
inline sg4::NetZone* add_fat_tree(sg4::NetZone* parent, const std::string& name, const std::vector<unsigned>& down,
                                  const std::vector<unsigned>& up, const std::vector<unsigned>& count, double bandwidth,
                                  const MakeLeaf& make_leaf) {
  return sg4::create_fatTree_zone(name, parent, {static_cast<unsigned>(down.size()), down, up, count},
                                  filling(make_leaf), bandwidth, 0.0, sg4::Link::SharingPolicy::SPLITDUPLEX);
}
inline sg4::NetZone* add_torus(sg4::NetZone* parent, const std::string& name, const std::vector<unsigned long>& sizes,
                               double bandwidth, const MakeLeaf& make_leaf) {
  return sg4::create_torus_zone(name, parent, sizes, filling(make_leaf), bandwidth, 0.0,
                                sg4::Link::SharingPolicy::SPLITDUPLEX);
}
using CountAndLinks = std::pair<unsigned, unsigned>;
inline sg4::NetZone* add_dragonfly(sg4::NetZone* parent, const std::string& name, CountAndLinks groups,
                                   CountAndLinks chassis, CountAndLinks routers, unsigned nodes, double bandwidth,
                                   const MakeLeaf& make_leaf) {
  return sg4::create_dragonfly_zone(name, parent, {groups, chassis, routers, nodes}, filling(make_leaf), bandwidth, 0.0,
                                    sg4::Link::SharingPolicy::SPLITDUPLEX);
}
inline void set_latency_factor(sg4::NetZone* zone, const std::function<LatencyFactor>& factor) {
  zone->get_network_model()->set_lat_factor_cb(factor);
}

#endif

}  // namespace compat
}  // namespace lockstep::sim::messages
