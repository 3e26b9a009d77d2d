#include "engine/sync/vector_ops.hpp"

#include <utility>

namespace lockstep::sync {

DeviceVector::DeviceVector(VectorOps& ops, std::int64_t n, int device)
    : ops_(&ops), data_(ops.allocate(n, device)), size_(n) {}

DeviceVector::DeviceVector(DeviceVector&& other) noexcept
    : ops_(other.ops_), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

DeviceVector& DeviceVector::operator=(DeviceVector&& other) noexcept {
  std::swap(ops_, other.ops_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

DeviceVector::~DeviceVector() {
  if (data_ != nullptr) ops_->release(data_);
}

std::vector<float> DeviceVector::to_host() const {
  std::vector<float> host(static_cast<std::size_t>(size_));
  ops_->download(size_, data_, host.data());
  return host;
}

}  // namespace lockstep::sync
