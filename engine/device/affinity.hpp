#pragma once
// Binds threads to processors near their devices, because data from another NUMA node would cross the link between
// sockets.
#include <string>
#include <vector>

namespace lockstep::device {

/// Parses a processor list of the kernel: "0-3,8" -> 0, 1, 2, 3, 8. Empty if the text is no such list.
std::vector<int> processors_of(const std::string& list);

/// The processors near any of these PCI devices ("0000:1b:00.0"), from the kernel's local_cpulist below
/// `sysfs`/bus/pci/devices. Empty if the list of one device is missing.
std::vector<int> processors_near(const std::vector<std::string>& pci, const std::string& sysfs = "/sys");

/// Binds this thread, and the threads that it starts later, to the processors near the devices. Does nothing if the
/// process may not use all processors, because a launcher or taskset has bound it already. Returns one line on the
/// binding or on a problem to fix; empty if there is nothing to do.
std::string bind_near(const std::vector<std::string>& pci, const std::string& sysfs = "/sys");

}  // namespace lockstep::device
