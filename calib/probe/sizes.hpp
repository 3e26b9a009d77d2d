#pragma once
// How much probes move.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/backend.hpp"

namespace lockstep::calib {

/// Floats in as many bytes, one at least.
std::int64_t floats_in(std::int64_t bytes);
/// Numbers of this precision in as many bytes, one at least.
std::int64_t numbers_in(std::int64_t bytes, device::Precision element);
/// 64 B, then by four, and the largest itself.
std::vector<std::int64_t> sizes_up_to(std::int64_t most_bytes);
/// Of collectives: 8 B, those of sizes_up_to(), and from 16 KiB to 64 MiB each power of two: there NCCL changes from one
/// protocol to the next, and a line between sizes four times apart misses the corners.
std::vector<std::int64_t> collective_sizes_up_to(std::int64_t most_bytes);
/// "gpu0"; "host" for device::kHost.
std::string device_name(int device);
/// Of all processes.
int all_devices(device::Backend& backend);
/// What sums over the backend's devices, as keys name it: nccl, host.
std::string library_of(const device::Backend& backend);

}  // namespace lockstep::calib
