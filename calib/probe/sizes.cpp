#include "calib/probe/sizes.hpp"

#include <algorithm>
#include <set>

namespace lockstep::calib {

std::int64_t floats_in(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / 4);
}

std::int64_t numbers_in(std::int64_t bytes, device::Precision element) {
  return std::max<std::int64_t>(1, bytes / device::element_bytes(element));
}

std::vector<std::int64_t> sizes_up_to(std::int64_t most_bytes) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 64; bytes < most_bytes; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(most_bytes);
  return sizes;
}

std::vector<std::int64_t> collective_sizes_up_to(std::int64_t most_bytes) {
  constexpr std::int64_t kLeast = 8, kFirstCorner = 16 << 10, kLastCorner = 64 << 20;
  const std::vector<std::int64_t> by_four = sizes_up_to(most_bytes);
  std::set<std::int64_t> sizes(by_four.begin(), by_four.end());
  sizes.insert(kLeast);
  for (std::int64_t bytes = kFirstCorner; bytes <= std::min(kLastCorner, most_bytes); bytes *= 2) sizes.insert(bytes);
  return {sizes.begin(), sizes.end()};
}

std::string device_name(int device) {
  return device == device::kHost ? "host" : "gpu" + std::to_string(device);
}

int count_devices(device::Backend& backend) {
  return backend.devices() * backend.ops().processes();
}

std::string library_of(const device::Backend& backend) {
  return backend.name() == "cuda" ? "nccl" : backend.name();
}

}  // namespace lockstep::calib
