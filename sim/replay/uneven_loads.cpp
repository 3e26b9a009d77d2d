#include "sim/replay/uneven_loads.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr std::size_t kFewestGroups = 3;  // fewer are added up message by message

// True if each run has one source; false if each has one destination. None: neither. A run of one message has both.
std::optional<bool> have_one_src(const std::vector<Run>& runs) {
  const auto all = [&](int Run::*stride) {
    return std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return run.count == 1 || run.*stride == 0; });
  };
  if (all(&Run::src_stride)) return true;
  if (all(&Run::dst_stride)) return false;
  return std::nullopt;
}

std::vector<int> key_of(const std::vector<Run>& runs) {
  std::vector<int> key;
  for (const Run& run : runs) key.insert(key.end(), {run.src, run.dst, run.count, run.src_stride, run.dst_stride});
  return key;
}

}  // namespace

// Messages of a group by link, and whether those of a latency cross a link.
struct UnevenLoads::Counted {
  std::map<int, double> messages;
  std::map<double, std::vector<bool>> is_crossed;
};

// Returns no group if runs of one group differ in more than ranks.
std::vector<UnevenLoads::Runs> UnevenLoads::groups_of(const Transfers::Block& block, bool is_from_one) {
  const auto end = [is_from_one](const Run& run) { return is_from_one ? run.src : run.dst; };
  std::vector<Runs> groups;
  for (const Run& run : block.runs()) {
    if (groups.empty() || end(groups.back().front()) != end(run)) groups.emplace_back();
    groups.back().push_back(run);
    if (run.bytes != groups.back().front().bytes || run.reduces != groups.back().front().reduces) return {};
  }
  return groups;
}

UnevenLoads::Counted UnevenLoads::count(const Runs& runs) const {
  Counted counted;
  for (const Run& run : runs) {
    const RunOnLinks& on_links = units_.find(run);
    for (const RunOnLinks::Crossing& crossing : on_links.crossings)
      counted.messages[crossing.link] += crossing.messages;
    for (const RunOnLinks::CrossedRoute* route : on_links.routes) {
      std::vector<bool>& is_crossed =
          counted.is_crossed.try_emplace(route->latency_s, to_index(units_.links()), false).first->second;
      for (int link : route->links) is_crossed[to_index(link)] = true;
    }
  }
  return counted;
}

// Takes the number of messages that two of the first, middle and last group have in common; any choice is exact.
UnevenLoads::Family UnevenLoads::family_of(const std::vector<Runs>& groups) const {
  const Counted some[] = {count(groups.front()), count(groups[groups.size() / 2]), count(groups.back())};
  const auto messages = [](const Counted& counted, int link) {
    const auto found = counted.messages.find(link);
    return found == counted.messages.end() ? 0.0 : found->second;
  };
  const auto is_crossed = [](const Counted& counted, double latency_s, int link) {
    const auto found = counted.is_crossed.find(latency_s);
    return found != counted.is_crossed.end() && found->second[to_index(link)];
  };
  Family family;
  for (int link = 0; link < units_.links(); ++link) {
    const double a = messages(some[0], link), b = messages(some[1], link), c = messages(some[2], link);
    const double usual = a == b || a == c ? a : b == c ? b : 0;
    if (usual > 0) family.usual.emplace_back(link, usual);
  }
  for (const Counted& one : some)
    for (const auto& [latency_s, links] : one.is_crossed) {
      const auto [of_latency, is_new] = family.of_latency.try_emplace(latency_s);
      for (int link = 0; is_new && link < units_.links(); ++link) {
        int crossed = 0;
        for (const Counted& other : some) crossed += is_crossed(other, latency_s, link) ? 1 : 0;
        if (crossed >= 2) of_latency->second.push_back(link);
      }
    }
  return family;
}

const UnevenLoads::Group& UnevenLoads::group_of(Family& family, const Runs& runs) const {
  std::shared_ptr<const Group>& known = family.known[key_of(runs)];
  if (known) return *known;
  Counted counted = count(runs);
  Group group;
  for (const auto& [link, usual] : family.usual) {
    const double messages = counted.messages[link];
    if (messages != usual) group.more.emplace_back(link, messages - usual);
    counted.messages.erase(link);
  }
  for (const auto& [link, messages] : counted.messages) group.more.emplace_back(link, messages);
  for (auto& [latency_s, is_crossed] : counted.is_crossed) {
    group.latencies_s.push_back(latency_s);
    if (const auto usual = family.of_latency.find(latency_s); usual != family.of_latency.end())
      for (int link : usual->second) {
        if (!is_crossed[to_index(link)]) group.less_of_latency[latency_s].push_back(link);
        is_crossed[to_index(link)] = false;
      }
    for (int link = 0; link < units_.links(); ++link)
      if (is_crossed[to_index(link)]) group.more_of_latency[latency_s].push_back(link);
  }
  known = std::make_shared<const Group>(std::move(group));
  return *known;
}

std::optional<UnevenLoads::Groups> UnevenLoads::find_groups(const Transfers::Block& block) {
  const std::optional<bool> is_from_one = have_one_src(block.runs());
  if (!is_from_one) return std::nullopt;
  Groups groups{nullptr, groups_of(block, *is_from_one), {}};
  if (groups.runs.size() < kFewestGroups) return std::nullopt;
  auto family = families_.find(*is_from_one);
  if (family == families_.end()) family = families_.emplace(*is_from_one, family_of(groups.runs)).first;
  groups.family = &family->second;
  for (const Runs& runs : groups.runs) groups.facts.push_back(&group_of(family->second, runs));
  return groups;
}

std::vector<double> UnevenLoads::bytes_of_links(const Groups& groups) const {
  std::vector<double> bytes(to_index(units_.links()), 0);
  double of_all = 0;
  for (const Runs& group : groups.runs) of_all += static_cast<double>(group.front().bytes);
  for (const auto& [link, messages] : groups.family->usual) bytes[to_index(link)] = messages * of_all;
  for (std::size_t g = 0; g < groups.runs.size(); ++g)
    for (const auto& [link, messages] : groups.facts[g]->more)
      bytes[to_index(link)] += messages * static_cast<double>(groups.runs[g].front().bytes);
  return bytes;
}

std::optional<std::vector<double>> UnevenLoads::bytes(const Transfers::Block& block) {
  const std::optional<Groups> groups = find_groups(block);
  return groups ? std::optional(bytes_of_links(*groups)) : std::nullopt;
}

std::optional<std::vector<PlanCosts::Flow>> UnevenLoads::flows(const Transfers::Block& block) {
  const std::optional<Groups> all = find_groups(block);
  if (!all) return std::nullopt;
  const auto& [family, groups, facts] = *all;
  const std::vector<double> bytes = bytes_of_links(*all);
  const auto seconds = [&](int link) { return bytes[to_index(link)] / units_.bandwidth(link); };

  std::map<double, double> transfer_of_latency_s;
  std::map<double, std::map<int, std::size_t>> groups_without;  // a link of the family's, by latency
  std::map<double, std::size_t> groups_with;                    // messages of a latency
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Run& run = groups[g].front();
    for (double latency_s : facts[g]->latencies_s) {
      double& transfer_s = transfer_of_latency_s[latency_s];
      ++groups_with[latency_s];
      if (run.reduces && reduction_rate_ > 0)
        transfer_s = std::max(transfer_s, static_cast<double>(run.bytes) / reduction_rate_);
    }
    for (const auto& [latency_s, links] : facts[g]->more_of_latency)
      for (int link : links)
        transfer_of_latency_s[latency_s] = std::max(transfer_of_latency_s[latency_s], seconds(link));
    for (const auto& [latency_s, links] : facts[g]->less_of_latency)
      for (int link : links) ++groups_without[latency_s][link];
  }
  std::vector<PlanCosts::Flow> flows;
  for (auto& [latency_s, transfer_s] : transfer_of_latency_s) {
    const std::map<int, std::size_t>& without = groups_without[latency_s];
    if (const auto usual = family->of_latency.find(latency_s); usual != family->of_latency.end())
      for (int link : usual->second) {
        const auto found = without.find(link);
        if (found == without.end() || found->second < groups_with[latency_s])
          transfer_s = std::max(transfer_s, seconds(link));
      }
    flows.push_back({latency_s, transfer_s});
  }
  return flows;
}

}  // namespace lockstep::sim::replay
