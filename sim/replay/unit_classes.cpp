#include "sim/replay/unit_classes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "engine/base/index.hpp"
#include "engine/base/json.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim::replay {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;  // SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// One end of a run's messages (ascending), and the other end of each.
struct Side {
  int first, stride, count;
  int other, other_stride;

  int at(int i) const { return first + i * stride; }
  int other_at(int i) const { return other + i * other_stride; }
};

Side side_of(const Run& run, bool is_src) {
  Side side = is_src ? Side{run.src, run.src_stride, run.count, run.dst, run.dst_stride}
                     : Side{run.dst, run.dst_stride, run.count, run.src, run.src_stride};
  if (side.stride >= 0) return side;
  return {side.at(side.count - 1), -side.stride, side.count, side.other_at(side.count - 1), -side.other_stride};
}

// Signatures of units: the sum of the hashes of all messages that begin or end in a unit.
class UnitSignatures {
 public:
  UnitSignatures(int units, int gpus_of_unit)
      : gpus_(gpus_of_unit), sums_(to_index(units), 0), steps_(to_index(units) + 1, 0) {}

  void add(const Side& side, std::uint64_t salt) {
    if (side.stride == 0) {
      std::uint64_t all = mixed(salt, static_cast<std::uint64_t>(side.first % gpus_));
      for (int number : {side.count, side.other, side.other_stride})
        all = mixed(all, static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)));
      sums_[to_index(side.first / gpus_)] += all;
    } else if (!is_even(side)) {
      for (int i = 0; i < side.count; ++i) sums_[to_index(side.at(i) / gpus_)] += touch(side, i, salt);
    } else if (side.stride % gpus_ == 0) {
      add_evenly(side.first / gpus_, side.stride / gpus_, side.count, touch(side, 0, salt));
    } else {
      add_rows(side, salt);
    }
  }

  std::vector<std::uint64_t> values() const {
    std::vector<std::uint64_t> all = sums_;
    std::uint64_t step = 0;
    for (std::size_t unit = 0; unit < all.size(); ++unit) {
      step += steps_[unit];
      all[unit] += step;
    }
    return all;
  }

 private:
  // True if units repeat at an even distance and the other end is at the same position in each.
  bool is_even(const Side& side) const {
    if (side.stride % gpus_ != 0 && gpus_ % side.stride != 0) return false;
    if (side.other_stride == side.stride) return true;
    const int unit = side.other / gpus_;
    return side.other_stride == 0 && (unit < side.first / gpus_ || unit > side.at(side.count - 1) / gpus_);
  }
  std::uint64_t touch(const Side& side, int i, std::uint64_t salt) const {
    const int mine = side.at(i), other = side.other_at(i);
    const std::uint64_t place =
        static_cast<std::uint64_t>(mine % gpus_) << 32 | static_cast<std::uint32_t>(other % gpus_);
    return mixed(mixed(salt, place), mine / gpus_ == other / gpus_ ? 1 : 2);
  }
  // Adds to units first, first + apart, ...
  void add_evenly(int first, int apart, int count, std::uint64_t touch) {
    if (apart == 1) {
      steps_[to_index(first)] += touch;
      steps_[to_index(first + count)] -= touch;
    } else {
      for (int i = 0; i < count; ++i) sums_[to_index(first + i * apart)] += touch;
    }
  }
  // Used if a unit has several messages: all units between the first and the last have the same number.
  void add_rows(const Side& side, std::uint64_t salt) {
    const int in_row = gpus_ / side.stride, first_unit = side.first / gpus_;
    const int until = std::min(side.count, ((first_unit + 1) * gpus_ - side.first + side.stride - 1) / side.stride);
    const int rows = (side.count - until) / in_row;
    for (int i = 0; i < until; ++i) sums_[to_index(first_unit)] += touch(side, i, salt);
    std::uint64_t row = 0;
    for (int i = 0; rows > 0 && i < in_row; ++i) row += touch(side, until + i, salt);
    if (rows > 0) add_evenly(first_unit + 1, 1, rows, row);
    for (int i = until + rows * in_row; i < side.count; ++i)
      sums_[to_index(side.at(i) / gpus_)] += touch(side, i, salt);
  }

  int gpus_;
  std::vector<std::uint64_t> sums_;   // by unit
  std::vector<std::uint64_t> steps_;  // by unit: added from this unit on
};

// Indices of a side's messages from .. to - 1 whose own end is in the unit.
std::pair<int, int> in_unit(const Side& side, int unit, int gpus) {
  const auto below = [&](std::int64_t rank) {
    const std::int64_t ahead = rank - side.first;
    return static_cast<int>(
        std::clamp<std::int64_t>(ahead <= 0 ? 0 : (ahead + side.stride - 1) / side.stride, 0, side.count));
  };
  if (side.stride == 0) return side.first / gpus == unit ? std::pair(0, side.count) : std::pair(0, 0);
  return {below(std::int64_t{unit} * gpus), below((std::int64_t{unit} + 1) * gpus)};
}

// Number of messages after which both ends are at the same positions of their units again.
int period_of(const Run& run, int gpus) {
  const auto of_stride = [gpus](int stride) { return gpus / std::gcd(stride, gpus); };
  return std::lcm(of_stride(run.src_stride), of_stride(run.dst_stride));
}

}  // namespace

UnitClasses::UnitClasses(const std::vector<const Plan*>& plans, const Cluster& cluster, bool as_one)
    : cluster_(cluster),
      as_one_(as_one || cluster.gpus_of_unit() >= cluster.gpus()),
      gpus_of_unit_(as_one_ ? cluster.gpus() : cluster.gpus_of_unit()),
      links_of_unit_(as_one_ ? cluster.link_count() : cluster.links_of_unit()) {
  std::set<const Transfers::Block*> blocks;
  for (const Plan* plan : plans)
    for (const Phase& phase : plan->phases)
      for (const auto& block : phase.transfers.blocks())
        if (blocks.insert(block.get()).second)
          for (const Run& run : block->runs()) runs_.try_emplace(run);
  find_classes(blocks);
  check_routes();
  bandwidth_.assign(first_of_.size() * to_index(links_of_unit_), 0);
  crossing_of_.assign(bandwidth_.size(), -1);
  for (auto& [run, found] : runs_) {
    find_crossings(run, found);
    find_routes(run, found);
  }
}

// Runs of a block with the same bytes count as equal, because links carry the runs of a block together.
void UnitClasses::find_classes(const std::set<const Transfers::Block*>& blocks) {
  const int units = (cluster_.gpus() + gpus_of_unit_ - 1) / gpus_of_unit_;
  if (units == 1) {
    class_of_ = first_of_ = {0};
    return;
  }
  UnitSignatures signatures(units, gpus_of_unit_);
  std::set<std::uint64_t> known_blocks;
  for (const Transfers::Block* block : blocks) {
    std::uint64_t ranks = 0;
    std::map<std::int64_t, std::size_t> first_of_bytes;
    for (std::size_t r = 0; r < block->runs().size(); ++r) {
      const Run& run = block->runs()[r];
      ranks = mixed(mixed(ranks, hash_of_ranks(run)), first_of_bytes.try_emplace(run.bytes, r).first->second);
    }
    if (!known_blocks.insert(ranks).second) continue;
    for (const Run& run : block->runs()) {
      const std::uint64_t salt = mixed(ranks, first_of_bytes.at(run.bytes));
      signatures.add(side_of(run, true), mixed(salt, 1));
      signatures.add(side_of(run, false), mixed(salt, 2));
    }
  }
  std::unordered_map<std::uint64_t, int> known;
  for (const std::uint64_t sum : signatures.values()) {
    const auto [entry, is_new] = known.try_emplace(sum, static_cast<int>(first_of_.size()));
    if (is_new) first_of_.push_back(static_cast<int>(class_of_.size()));
    class_of_.push_back(entry->second);
  }
}

// Estimates the number of routes before any is found. A run has at most one route for each message, and one for each
// pair of classes and of positions. 2e7 routes need about 4 GB and 12 s.
void UnitClasses::check_routes() const {
  constexpr double kMostRoutes = 2e7;
  double routes = 0;
  for (const auto& entry : runs_) {
    const Run& run = entry.first;
    double distinct = as_one_ ? run.count : period_of(run, gpus_of_unit_);
    for (const int stride : {run.src_stride, run.dst_stride})
      if (stride != 0) distinct *= static_cast<double>(first_of_.size());
    routes += std::min<double>(run.count, distinct);
  }
  if (routes <= kMostRoutes) return;
  const double gpus = std::floor(cluster_.gpus() * kMostRoutes / routes / gpus_of_unit_) * gpus_of_unit_;
  throw InputError("/algorithm: collectives send " + short_number(std::round(routes * 1e-6)) +
                   " million messages between different pairs of nodes; allowed: 20 million" +
                   (gpus > 0 ? ", which " + std::to_string(static_cast<int>(gpus)) + " GPUs do not exceed" : ""));
}

// Adds the links that the run's messages cross, for one unit of each class.
void UnitClasses::find_crossings(const Run& run, RunOnLinks& found) {
  for (const int unit : first_of_) {
    for (const bool is_src : {true, false}) {
      const Side side = side_of(run, is_src);
      const bool is_turned = (is_src ? run.src_stride : run.dst_stride) < 0;
      const auto [first, last] = in_unit(side, unit, gpus_of_unit_);
      if (first == last) continue;
      const auto crossing = [&](int i, double messages) {
        if (!is_src && unit_of(side.other_at(i)) == unit) return;  // counted by its sender
        cross(run, is_turned ? run.count - 1 - i : i, unit, messages, found);
      };
      const int period = period_of(run, gpus_of_unit_);
      if (side.stride != 0 || side.count <= period) {
        for (int i = first; i < last; ++i) crossing(i, 1);
        continue;
      }
      // If all messages come from or go to one rank, one message represents all whose other ends have the same position
      // in other units.
      for (int place = 0; place < period; ++place) {
        int elsewhere = -1, messages = 0;
        const Side others{side.other_at(place), side.other_stride * period, (side.count - place + period - 1) / period,
                          0, 0};
        const Side ascending =
            others.stride >= 0 ? others : Side{others.at(others.count - 1), -others.stride, others.count, 0, 0};
        const auto [from, to] = in_unit(ascending, unit, gpus_of_unit_);
        messages = others.count - (to - from);
        for (int i = place; i < side.count && (messages > 0 || to > from); i += period) {
          const bool is_here = unit_of(side.other_at(i)) == unit;
          if (is_here) crossing(i, 1);
          if (!is_here && elsewhere < 0) elsewhere = i;
          if (elsewhere >= 0 && to == from) break;
        }
        if (elsewhere >= 0) crossing(elsewhere, messages);
      }
    }
  }
  for (const RunOnLinks::Crossing& crossing : found.crossings) crossing_of_[to_index(crossing.link)] = -1;
}

void UnitClasses::cross(const Run& run, int i, int unit, double messages, RunOnLinks& found) {
  cluster_.find_message_route(cluster_.gpu(run.src_at(i)), cluster_.gpu(run.dst_at(i)), route_);
  for (const int link : route_.links) {
    const Fabric::UnitLink of_unit = as_one_ ? Fabric::UnitLink{0, link} : cluster_.unit_of(link);
    if (of_unit.unit != unit) continue;
    const int here = class_of(unit) * links_of_unit_ + of_unit.link;
    bandwidth_[to_index(here)] = cluster_.link_bandwidth(link);
    int& latest = crossing_of_[to_index(here)];
    if (latest < 0 || found.crossings[to_index(latest)].route_bytes_per_s != route_.bandwidth_bytes_per_s) {
      latest = static_cast<int>(found.crossings.size());
      found.crossings.push_back({here, route_.bandwidth_bytes_per_s, 0});
    }
    found.crossings[to_index(latest)].messages += messages;
  }
}

// Messages whose ends have the same positions in their units differ only by the classes of these units.
void UnitClasses::find_routes(const Run& run, RunOnLinks& found) {
  const int period = period_of(run, gpus_of_unit_);
  if (as_one_ || period >= run.count) {
    for (int i = 0; i < run.count; ++i) add_route(run, i, found);
    return;
  }
  const int src_apart = run.src_stride * period / gpus_of_unit_, dst_apart = run.dst_stride * period / gpus_of_unit_;
  std::vector<int> first;  // messages of each pair of classes, counted from those of the position
  int src_before = -1, dst_before = -1, count_before = 0;
  for (int place = 0; place < period; ++place) {
    const int src = unit_of(run.src_at(place)), dst = unit_of(run.dst_at(place));
    const int count = (run.count - place + period - 1) / period;
    if (src != src_before || dst != dst_before || count != count_before) {
      first.clear();
      std::unordered_set<std::uint64_t> known;
      std::uint64_t latest = ~std::uint64_t{0};
      for (int n = 0; n < count; ++n) {
        const int src_class = class_of(src + n * src_apart), dst_class = class_of(dst + n * dst_apart);
        const std::uint64_t both = static_cast<std::uint64_t>(src_class) << 32 | static_cast<std::uint32_t>(dst_class);
        if (both == latest) continue;
        latest = both;
        if (known.insert(both).second) first.push_back(n * period);
      }
      src_before = src;
      dst_before = dst;
      count_before = count;
    }
    for (int i : first) add_route(run, place + i, found);
  }
}

void UnitClasses::add_route(const Run& run, int i, RunOnLinks& found) {
  const int src = run.src_at(i), dst = run.dst_at(i);
  const auto place = [this](int gpu) {
    return static_cast<std::uint64_t>(class_of(unit_of(gpu))) * to_index(gpus_of_unit_) + to_index(gpu % gpus_of_unit_);
  };
  const std::uint64_t ends = place(src) << 32 | place(dst) << 1 | (unit_of(src) == unit_of(dst) ? 1u : 0u);
  const auto [known, is_new] = known_routes_.try_emplace(ends, nullptr);
  if (is_new) {
    routes_.push_back(route_of(src, dst));
    known->second = &routes_.back();
  }
  found.routes.push_back(known->second);
}

RunOnLinks::CrossedRoute UnitClasses::route_of(int src, int dst) {
  cluster_.find_message_route(cluster_.gpu(src), cluster_.gpu(dst), route_);
  RunOnLinks::CrossedRoute crossed{route_.latency_s, route_.bandwidth_bytes_per_s, {}};
  for (const int link : route_.links) {
    const Fabric::UnitLink of_unit = as_one_ ? Fabric::UnitLink{0, link} : cluster_.unit_of(link);
    crossed.links.push_back(class_of(of_unit.unit) * links_of_unit_ + of_unit.link);
  }
  return crossed;
}

}  // namespace lockstep::sim::replay
