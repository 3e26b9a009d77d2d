#pragma once
// Laws of single kernels that a scenario names: "kernels": ["b300", "b200"], ids of GPUs that were measured; a later one
// stands in where an earlier one lacks a kernel. Files: scenarios/catalogue/kernels.
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/kernel/kernel_files.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim {
inline namespace scenario {

/// Peaks and bandwidth by which a law is scaled to this GPU.
KernelPeaks kernel_peaks(const GpuSpec& gpu);

struct KernelsSpec {
  std::vector<std::string> gpus;  ///< whose laws are used, in order of preference; empty: the roofline
  std::shared_ptr<const KernelLaws>
      laws;          ///< null if `gpus` is empty; scale them by kernel_peaks(), not by their peaks()
  double speed = 1;  ///< rate of these kernels in a training over their rate in short benchmarks
};

/// Reads the list of ids; the files are those of the default catalogue. Throws InputError for one that has no file.
KernelsSpec read_kernels(const JsonNode& node);

}  // namespace scenario
}  // namespace lockstep::sim
