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
  std::vector<std::string> gpus;           ///< whose laws; empty: the roofline alone
  std::shared_ptr<const KernelLaws> laws;  ///< null: as above. Their own peaks are not used
  double speed = 1;                        ///< of all these kernels in a training, over what the laws say of bursts
};

/// Reads the list of ids; the files are those of the default catalogue. Throws InputError for one that has no file.
KernelsSpec read_kernels(const JsonNode& node);

}  // namespace scenario
}  // namespace lockstep::sim
