#include "calib/probe/sizes.hpp"

#include <algorithm>

namespace lockstep::calib {

std::int64_t floats_in(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / 4);
}

std::vector<std::int64_t> sizes_up_to(std::int64_t most_bytes) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 64; bytes < most_bytes; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(most_bytes);
  return sizes;
}

std::string device_name(int device) {
  return device == device::kHost ? "host" : "gpu" + std::to_string(device);
}

int all_devices(device::Backend& backend) {
  return backend.devices() * backend.ops().processes();
}

std::string library_of(const device::Backend& backend) {
  return backend.name() == "cuda" ? "nccl" : backend.name();
}

}  // namespace lockstep::calib
