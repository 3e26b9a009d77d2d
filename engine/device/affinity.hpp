#pragma once
// Threads next to the devices that they feed: what a thread of another NUMA node hands to a GPU goes through the link
// between the sockets.
#include <string>
#include <vector>

namespace lockstep::device {

/// "0-3,8" as the kernel lists processors: 0, 1, 2, 3, 8. Empty for anything else.
std::vector<int> processors_of(const std::string& list);

/// Processors next to any of these PCI devices ("0000:1b:00.0"), by the kernel's local_cpulist below
/// `sysfs`/bus/pci/devices; empty where it does not tell of one of them.
std::vector<int> processors_near(const std::vector<std::string>& pci, const std::string& sysfs = "/sys");

/// Binds this thread, and those that it starts from now on, to the processors next to the devices, where it may use all
/// of the machine's: what a launcher or taskset has bound stays. One line on what was done, or what should be mended;
/// empty where there is nothing to do.
std::string bind_near(const std::vector<std::string>& pci, const std::string& sysfs = "/sys");

}  // namespace lockstep::device
