#include "engine/sync/mean_gradient.hpp"

namespace lockstep::sync {

MeanGradient::MeanGradient(VectorOps& ops, std::int64_t n, int replicas) : ops_(ops), size_(n) {
  if (replicas * ops_.processes() == 1) return;
  for (int j = 0; j < replicas; ++j) means_.emplace_back(ops_, n, j);
}

std::vector<const float*> MeanGradient::of(const std::vector<const float*>& gradients) {
  if (means_.empty()) return gradients;
  std::vector<float*> means;
  for (DeviceVector& mean : means_) means.push_back(mean.data());
  ops_.average_all(size_, gradients, means);
  return {means.begin(), means.end()};
}

}  // namespace lockstep::sync
