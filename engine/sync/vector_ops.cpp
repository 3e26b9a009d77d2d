#include "engine/sync/vector_ops.hpp"

#include <cstddef>
#include <utility>

namespace lockstep::sync {

void VectorOps::average_all(std::int64_t n, const std::vector<const float*>& inputs,
                            const std::vector<float*>& outputs) {
  require(inputs.size() == outputs.size(), "vector: as many averages as inputs");
  for (std::size_t j = 0; j < inputs.size(); ++j) copy(n, inputs[j], outputs[j]);
  sum_all(n, outputs);
  for (float* output : outputs) scale(n, 1.0 / (static_cast<double>(inputs.size()) * processes()), output);
}

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
