#include "sim/kernel/kernel_files.hpp"

#include <filesystem>

namespace lockstep::sim {
inline namespace kernel {

std::string default_catalogue_folder() {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share/lockstep/scenarios/catalogue";
  const std::filesystem::path beside_build = program.parent_path().parent_path() / "scenarios/catalogue";
  for (const std::filesystem::path& folder :
       {installed, beside_build, std::filesystem::path(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue")})
    if (std::filesystem::exists(folder / "gpus.json")) return folder.string();
  throw InputError("no catalogue beside the program: " + installed.string() + "; allowed: --catalogue FOLDER");
}

std::shared_ptr<const KernelLawFile> KernelLawFiles::find(const std::string& gpu) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = files_.find(gpu);
  if (known != files_.end()) return known->second;
  const std::string path = folder_ + "/" + gpu + ".json";
  std::shared_ptr<const KernelLawFile> file;
  if (std::filesystem::exists(path)) file = std::make_shared<const KernelLawFile>(read_kernel_laws(path));
  return files_[gpu] = file;
}

}  // namespace kernel
}  // namespace lockstep::sim
