#include "engine/cuda/libraries/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace lockstep::cuda {
namespace {

/// The name without a folder comes last: the loader then searches its default folders.
std::vector<std::string> places_of(const std::string& soname, const std::string& found_at_build) {
  std::vector<std::string> places;
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty()) places.push_back(folder + "/" + soname);
  const std::size_t slash = found_at_build.rfind('/');
  if (slash != std::string::npos) places.push_back(found_at_build.substr(0, slash + 1) + soname);
  places.push_back(soname);
  return places;
}

}  // namespace

LoadedLibrary::LoadedLibrary(const std::string& soname, const std::string& found_at_build) : soname_(soname) {
  std::string tried;
  for (const std::string& place : places_of(soname, found_at_build)) {
    library_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) return;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  const char* error = dlerror();
  throw std::runtime_error("CUDA: " + soname + " cannot be loaded (" + (error != nullptr ? error : "unknown error") +
                           "); tried " + tried);
}

void* LoadedLibrary::function(const char* name) const {
  void* const found = dlsym(library_, name);
  if (found == nullptr)
    throw std::runtime_error("CUDA: " + soname_ + " has no " + name + ": another version is needed");
  return found;
}

}  // namespace lockstep::cuda
