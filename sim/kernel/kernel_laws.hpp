#pragma once
// The laws of a GPU's kernels: scenarios/catalogue/kernels/GPU.json, schema "lockstep/kernels/1".
//
// If a kind of kernel was not measured on a GPU, the GPU uses the law of a related one (`kernels_of` in gpus.json) with
// its own peaks and bandwidth. Shares of peaks carry over within a generation.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/kernel_law.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// Makes the name "KIND/VARIANT/PRECISION" or "KIND/PRECISION": "gemm/bf16", "attention/context/fp8", "moe/nvfp4".
std::string kernel_law_name(KernelKind kind, const std::string& variant, KernelPrecision precision);
/// Makes the name "KIND/VARIANT" of a kind without precision: "collectives/all_reduce/nccl", "alltoall/deepep
/// normal/dispatch", "quantize/scale_matrix".
std::string kernel_law_name(KernelKind kind, const std::string& variant);

/// The content of a file of laws, all fitted on one GPU.
struct KernelLawFile {
  std::string gpu;  ///< id in gpus.json
  std::string description;
  std::vector<KernelLaw> laws;
};

/// Throws InputError for an unreadable file, another schema, a law without terms, or a table whose size does not match
/// its axes.
KernelLawFile read_kernel_laws(const std::string& path);
Json to_json(const KernelLawFile& file);

/// A law may be used on the GPU on which it was fitted, on another of its generation, or on one of another generation.
/// On other GPUs it is scaled by peaks and bandwidth.
enum class Carried { no, within_generation, to_other_generation };

/// A law scaled to one GPU.
struct ScaledKernelLaw {
  const KernelLaw* law = nullptr;
  std::string measured_on;  ///< id of the GPU on which the law was fitted
  Carried carried = Carried::no;
};

struct KernelTime {
  double seconds = 0;
  double low_s = 0, high_s = 0;  ///< 80 % interval
  bool is_in_range = true;       ///< false: the law was not fitted on shapes of this size
};

class KernelLaws {
 public:
  KernelLaws() = default;
  explicit KernelLaws(const KernelPeaks& peaks) : peaks_(peaks) {}

  /// Adds each law whose name is not present yet, so earlier files win. `has_same_links`: a node's GPUs have the same
  /// links as those of the file. If not, laws of collectives and dispatch are skipped: peaks do not scale them.
  void add(std::shared_ptr<const KernelLawFile> file, Carried carried, bool has_same_links = true);
  /// Returns the law of that name; `law` is null if there is none. fp32 and tf32 fall back to bf16, marked as carried.
  ScaledKernelLaw find(const std::string& name) const;
  const KernelPeaks& peaks() const { return peaks_; }
  bool empty() const { return laws_.empty(); }
  std::vector<std::string> names() const;

  KernelTime time(const ScaledKernelLaw& law, const KernelWork& work) const;

 private:
  KernelPeaks peaks_;
  std::vector<std::shared_ptr<const KernelLawFile>> files_;
  std::map<std::string, ScaledKernelLaw> laws_;
};

}  // namespace kernel
}  // namespace lockstep::sim
