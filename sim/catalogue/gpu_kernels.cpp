#include "sim/catalogue/gpu_kernels.hpp"

#include <filesystem>

namespace lockstep::sim {
inline namespace catalogue {

KernelPeaks kernel_peaks(const GpuSpec& gpu) {
  return {gpu.fp32_flops, gpu.tf32_flops, std::max(gpu.fp16_flops, gpu.bf16_flops),
          gpu.fp8_flops,  gpu.fp4_flops,  gpu.memory_bandwidth_bytes_per_s};
}

std::shared_ptr<const KernelLawFile> KernelLawFiles::of_gpu(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = files_.find(id);
  if (known != files_.end()) return known->second;
  const std::string path = folder_ + "/" + id + ".json";
  std::shared_ptr<const KernelLawFile> file;
  if (std::filesystem::exists(path)) file = std::make_shared<const KernelLawFile>(read_kernel_laws(path));
  return files_[id] = file;
}

}  // namespace catalogue
}  // namespace lockstep::sim
