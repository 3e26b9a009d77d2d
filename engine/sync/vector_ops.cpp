#include "engine/sync/vector_ops.hpp"

#include <algorithm>
#include <cmath>
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

Part part_of(std::int64_t n, int k, int all) {
  const std::int64_t even = n / all, longer = n % all;
  return {k * even + std::min<std::int64_t>(k, longer), even + (k < longer ? 1 : 0)};
}

void VectorOps::average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                              const std::vector<float*>& outputs) {
  require(inputs.size() == outputs.size(), "vector: as many parts as inputs");
  require(processes() == 1, "vector: no parts over processes here");
  const int all = static_cast<int>(inputs.size());
  for (int k = 0; k < all; ++k) {
    const Part part = part_of(n, k, all);
    std::vector<const float*> from;
    for (const float* input : inputs) from.push_back(input + part.begin);
    if (part.count > 0) average(part.count, from, outputs[static_cast<std::size_t>(k)]);
  }
}

void VectorOps::gather_parts(std::int64_t n, const std::vector<float*>& buffers) {
  require(processes() == 1, "vector: no parts over processes here");
  const int all = static_cast<int>(buffers.size());
  for (int k = 0; k < all; ++k) {
    const Part part = part_of(n, k, all);
    const float* own = buffers[static_cast<std::size_t>(k)] + part.begin;
    for (float* buffer : buffers)
      if (part.count > 0 && buffer + part.begin != own) copy(part.count, own, buffer + part.begin);
  }
}

std::shared_ptr<Verdict> VectorOps::update_where_finite(std::int64_t n, const std::vector<const float*>& gradients,
                                                        const std::function<void()>& work) {
  class Known final : public Verdict {
   public:
    explicit Known(bool was_made) : was_made_(was_made) {}
    bool was_made() override { return was_made_; }

   private:
    bool was_made_;
  };
  // In double, a sum of squares of floats cannot overflow. So it is finite if and only if all elements are.
  const bool is_finite =
      std::all_of(gradients.begin(), gradients.end(), [&](const float* g) { return std::isfinite(dot(n, g, g)); });
  if (is_finite) work();
  return std::make_shared<Known>(is_finite);
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
