#pragma once
// Laws of single kernels that a scenario names. "kernels": ["b300", "b200"] lists ids of measured GPUs; a later one is
// used for kernels that an earlier one lacks. Files: scenarios/catalogue/kernels.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/kernel/kernel_files.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim {
inline namespace scenario {

/// Peaks and bandwidth to which a law is scaled for this GPU.
KernelPeaks kernel_peaks(const GpuSpec& gpu);

struct KernelsSpec {
  std::vector<std::string> gpus;  ///< whose laws are used, in order of preference; empty: the roofline
  std::shared_ptr<const KernelLaws>
      laws;          ///< null if `gpus` is empty; scale them by kernel_peaks(), not by their peaks()
  double speed = 1;  ///< rate of these kernels in a training over their rate in short benchmarks
  /// `speed` of kernels that stay in 16 bits while others are in eight or four bits; none: equal to `speed`.
  std::optional<double> half_speed;

  double speed_in_half() const { return half_speed.value_or(speed); }
};

/// Reads the list of ids, with files of the default catalogue. Throws InputError for an id without a file.
KernelsSpec read_kernels(const JsonNode& node);

}  // namespace scenario
}  // namespace lockstep::sim
