#pragma once
// The sizes that probes use.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/backend.hpp"

namespace lockstep::calib {

/// Returns the number of floats in these bytes, at least one.
std::int64_t floats_in(std::int64_t bytes);
/// Returns the number of elements of this precision in these bytes, at least one.
std::int64_t numbers_in(std::int64_t bytes, device::Precision element);
/// Returns 64 B, then multiples by four, and the largest size itself.
std::vector<std::int64_t> sizes_up_to(std::int64_t most_bytes);
/// Sizes of collectives: 8 B, those of sizes_up_to(), and each power of two from 16 KiB to 64 MiB. In that range NCCL
/// changes protocols, and interpolation between sizes four times apart would miss the changes.
std::vector<std::int64_t> collective_sizes_up_to(std::int64_t most_bytes);
/// "gpu0"; "host" for device::kHost.
std::string device_name(int device);
/// Returns the number of devices of all processes.
int count_devices(device::Backend& backend);
/// The library that sums over the backend's devices, as in keys: nccl, host.
std::string library_of(const device::Backend& backend);

}  // namespace lockstep::calib
