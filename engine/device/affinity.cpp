#include "engine/device/affinity.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace lockstep::device {
namespace {

constexpr int kMostProcessors = CPU_SETSIZE;

/// Removes the number at the beginning of `text` and returns it; -1 if there is none.
int taken_number(std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (end == 0 || end > 6) return -1;
  const int number = std::atoi(text.substr(0, end).c_str());
  text.erase(0, end);
  return number;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int p = 0; p < kMostProcessors; ++p)
    if (CPU_ISSET(p, &set)) processors.push_back(p);
  return processors;
}

bool bind_to(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int p : processors) CPU_SET(p, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::string counted(const std::vector<int>& processors) {
  return std::to_string(processors.size()) + (processors.size() == 1 ? " processor" : " processors");
}

}  // namespace

std::vector<int> processors_of(const std::string& list) {
  std::set<int> processors;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(part.find_last_not_of(" \n") + 1);
    const int first = taken_number(part);
    int last = first;
    if (!part.empty() && part[0] == '-') {
      part.erase(0, 1);
      last = taken_number(part);
    }
    if (first < 0 || last < first || last >= kMostProcessors || !part.empty()) return {};
    for (int p = first; p <= last; ++p) processors.insert(p);
  }
  return {processors.begin(), processors.end()};
}

std::vector<int> processors_near(const std::vector<std::string>& pci, const std::string& sysfs) {
  std::set<int> near;
  for (const std::string& address : pci) {
    std::ifstream file(sysfs + "/bus/pci/devices/" + address + "/local_cpulist");
    std::string list;
    std::getline(file, list);
    const std::vector<int> own = processors_of(list);
    if (own.empty()) return {};
    near.insert(own.begin(), own.end());
  }
  return {near.begin(), near.end()};
}

std::string bind_near(const std::vector<std::string>& pci, const std::string& sysfs) {
  const std::vector<int> near = processors_near(pci, sysfs), allowed = allowed_processors();
  if (near.empty() || allowed.empty()) return "";
  std::vector<int> both;
  std::set_intersection(near.begin(), near.end(), allowed.begin(), allowed.end(), std::back_inserter(both));
  if (both.empty())
    return "bound to " + counted(allowed) +
           ", none of which is next to its GPUs: all that they are fed goes from one "
           "NUMA node to another; mpirun --bind-to none";
  const bool is_bound = static_cast<long>(allowed.size()) < sysconf(_SC_NPROCESSORS_ONLN);
  if (is_bound || both.size() == allowed.size() || !bind_to(both)) return "";
  return "threads on the " + counted(both) + " next to its GPUs, of " + std::to_string(allowed.size());
}

}  // namespace lockstep::device
