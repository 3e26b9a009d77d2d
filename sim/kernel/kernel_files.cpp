#include "sim/kernel/kernel_files.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace lockstep::sim {
inline namespace kernel {

namespace {

// Returns the path of the file that contains this code: the program, or a shared library such as the Python module.
std::filesystem::path own_file() {
  std::error_code unknown;
  Dl_info info{};
  const bool is_known =
      dladdr(reinterpret_cast<void*>(&default_catalogue_folder), &info) != 0 && info.dli_fname != nullptr;
  const std::filesystem::path file = is_known ? info.dli_fname : "";
  if (file.extension() == ".so") return std::filesystem::absolute(file, unknown);
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
}

}  // namespace

std::string default_catalogue_folder() {
  const std::filesystem::path own = own_file();
  for (std::filesystem::path above = own.parent_path(); above.has_relative_path(); above = above.parent_path())
    for (const char* folder : {"share/lockstep/scenarios/catalogue", "scenarios/catalogue"})
      if (std::filesystem::exists(above / folder / "gpus.json")) return (above / folder).string();
  const std::filesystem::path of_sources = LOCKSTEP_SOURCE_DIR "/scenarios/catalogue";
  if (std::filesystem::exists(of_sources / "gpus.json")) return of_sources.string();
  throw InputError("no catalogue beside " + own.string() + "; allowed: --catalogue FOLDER");
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
