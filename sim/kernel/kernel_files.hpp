#pragma once
// Files of kernel laws, FOLDER/kernels/ID.json of the catalogue. Each is read when its GPU is first needed.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/kernel/kernel_laws.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// Returns the catalogue's folder of an installed program, of a build folder, or of the source code. Throws InputError
/// if there is none.
std::string default_catalogue_folder();

/// The laws read so far. All copies of a catalogue and all threads share them.
class KernelLawFiles {
 public:
  /// `catalogue_folder` contains the folder `kernels`.
  explicit KernelLawFiles(const std::string& catalogue_folder) : folder_(catalogue_folder + "/kernels") {}
  /// Returns null if the GPU has no file. Throws InputError for an invalid file.
  std::shared_ptr<const KernelLawFile> find(const std::string& gpu);

 private:
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const KernelLawFile>> files_;
};

}  // namespace kernel
}  // namespace lockstep::sim
