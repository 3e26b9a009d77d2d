#include "sim/scenario/kernels_spec.hpp"

#include <algorithm>

namespace lockstep::sim {
inline namespace scenario {

KernelPeaks kernel_peaks(const GpuSpec& gpu) {
  return {gpu.fp32_flops, gpu.tf32_flops, std::max(gpu.fp16_flops, gpu.bf16_flops),
          gpu.fp8_flops,  gpu.fp4_flops,  gpu.memory_bandwidth_bytes_per_s};
}

KernelsSpec read_kernels(const JsonNode& node) {
  static KernelLawFiles files(default_catalogue_folder());  // read once for all scenarios of a process
  KernelsSpec spec;
  auto laws = std::make_shared<KernelLaws>();
  for (const JsonNode& item : node.items()) {
    const std::shared_ptr<const KernelLawFile> file = files.find(item.text());
    if (file == nullptr)
      item.fail("no laws of " + in_quotes(item.text()), "allowed: a file of scenarios/catalogue/kernels");
    spec.gpus.push_back(item.text());
    laws->add(file, Carried::no);
  }
  if (!spec.gpus.empty()) spec.laws = laws;
  return spec;
}

}  // namespace scenario
}  // namespace lockstep::sim
