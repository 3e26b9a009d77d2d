#pragma once
// Loads cuDNN, cuBLASLt and NCCL at the first call of one of their functions. So a program with the CUDA backend starts
// on a machine without them, and can train on the host or import logs. The CUDA runtime is linked statically and loads
// the driver in the same way.
//
// Each source in this folder defines the functions of one library that Lockstep calls, with the declarations of the
// library's header, and forwards them. A library is searched first in LD_LIBRARY_PATH, then where CMake found it, then
// in the default folders of the system's loader.
#include <string>

namespace lockstep::cuda {

class LoadedLibrary {
 public:
  /// `found_at_build` is the path of the library or of a link to it in the same folder. Throws std::runtime_error, one
  /// line with the paths searched.
  LoadedLibrary(const std::string& soname, const std::string& found_at_build);
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// Throws std::runtime_error if this version of the library lacks the function.
  void* function(const char* name) const;

 private:
  std::string soname_;
  void* library_ = nullptr;  ///< stays loaded
};

}  // namespace lockstep::cuda

/// Defines NAME, a function of the library LIBRARY(), which forwards its arguments. RESULT and PARAMETERS must be those
/// of the library's header, or compilation fails.
#define LOCKSTEP_PASS_ON(LIBRARY, RESULT, NAME, PARAMETERS, ARGUMENTS)                       \
  RESULT NAME PARAMETERS {                                                                   \
    static const auto loaded = reinterpret_cast<decltype(&NAME)>(LIBRARY().function(#NAME)); \
    return loaded ARGUMENTS;                                                                 \
  }
