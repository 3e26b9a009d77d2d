#include "sim/replay/message_reach.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "engine/base/units.hpp"

namespace lockstep::sim::replay {
namespace {

// Memory is estimated from the sizes of objects, not fitted. An actor has a stack of 64 KiB (few of its pages are
// used), semaphores and mailboxes. A host has links and routes. A transfer has two ends and a mailbox. Measured: 52 MB
// at 256 GPUs and 113 MB at 1024 (imagenet_64k.json), so 79 kB per GPU with all its streams, less than these estimates.
constexpr double kBytesPerActor = 32e3;
constexpr double kBytesPerLink = 2e3;
constexpr double kBytesPerTransfer = 600;
constexpr std::int64_t kOtherMappings = 1000;  // of the growing heap
constexpr double kShare = 0.9;                 // usable share of free memory

std::int64_t number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) {
  }
  std::int64_t number = 0;
  return file >> number ? number : -1;
}

std::int64_t mappings_of_this_process() {
  std::ifstream file("/proc/self/maps");
  std::int64_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

// Number of messages that have entries of their own in the replay's tables.
double transfers_of(const Plan& plan) {
  double transfers = 0;
  for (const Phase& phase : plan.phases) transfers += static_cast<double>(phase.transfers.size());
  return transfers;
}

}  // namespace

MessageNeeds message_needs(std::int64_t actors, const Cluster& cluster) {
  return {actors, 2 * actors, kBytesPerActor * static_cast<double>(actors) + kBytesPerLink * cluster.link_count()};
}

MessageNeeds message_needs(const Program& program, const Cluster& cluster) {
  std::set<int> streams;
  for (const Work& work : program.work) streams.insert(work.stream);
  MessageNeeds needs = message_needs(static_cast<std::int64_t>(streams.size()) * program.gpus, cluster);
  for (const Plan& plan : program.plans) needs.memory_bytes += kBytesPerTransfer * transfers_of(plan);
  return needs;
}

MessageReach message_reach() {
  MessageReach reach{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<double>::infinity()};
  const std::int64_t mappings = number_in("/proc/sys/vm/max_map_count", "");
  if (mappings >= 0) reach.mappings = mappings - mappings_of_this_process() - kOtherMappings;
  const std::int64_t free_kib = number_in("/proc/meminfo", "MemAvailable:");
  if (free_kib >= 0) reach.memory_bytes = kShare * 1024 * static_cast<double>(free_kib);
  return reach;
}

void require_reach(const MessageNeeds& needs, const MessageReach& reach, const Cluster& cluster) {
  std::string lacks;
  double share = 1;
  if (needs.mappings > reach.mappings) {
    share = static_cast<double>(reach.mappings) / static_cast<double>(needs.mappings);
    lacks = std::to_string(needs.actors) + " actors of SimGrid need " + std::to_string(needs.mappings) +
            " memory mappings, of which " + std::to_string(std::max<std::int64_t>(0, reach.mappings)) +
            " are left (vm.max_map_count)";
  }
  if (needs.memory_bytes > reach.memory_bytes) {
    share = std::min(share, reach.memory_bytes / needs.memory_bytes);
    lacks += (lacks.empty() ? "" : ", and ") + std::string("messages need about ") + format_bytes(needs.memory_bytes) +
             " of memory, of which " + format_bytes(reach.memory_bytes) + " are left";
  }
  if (lacks.empty()) return;
  const int gpus = std::max(0, static_cast<int>(share * cluster.gpus()));
  throw std::runtime_error("beyond fidelity \"message\": " + lacks + "; allowed here: up to about " +
                           std::to_string(gpus) + " GPUs, or fidelity \"fast\"");
}

}  // namespace lockstep::sim::replay
