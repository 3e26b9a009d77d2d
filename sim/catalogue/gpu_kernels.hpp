#pragma once
// The kernel laws of the catalogue's GPUs: FOLDER/kernels/ID.json, read when a GPU is first asked for.
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/catalogue/entries.hpp"
#include "sim/kernel/kernel_laws.hpp"

namespace lockstep::sim {
inline namespace catalogue {

KernelPeaks kernel_peaks(const GpuSpec& gpu);

/// Files that were read, for all copies of a catalogue and all threads.
class KernelLawFiles {
 public:
  explicit KernelLawFiles(std::string folder) : folder_(std::move(folder)) {}
  /// Null: there is no file of that GPU. Throws InputError for a damaged one.
  std::shared_ptr<const KernelLawFile> of_gpu(const std::string& id);

 private:
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const KernelLawFile>> files_;
};

}  // namespace catalogue
}  // namespace lockstep::sim
