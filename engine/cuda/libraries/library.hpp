#pragma once
// cuDNN, cuBLASLt and NCCL, loaded when one of their functions is first called: a program that has the CUDA backend
// starts, and trains on the host or imports logs, on a machine that has none of them. The CUDA runtime is linked
// statically, and loads the driver in the same way.
//
// Each source of this folder defines the functions of one library that Lockstep calls, as the library's header declares
// them, and passes them on. A library is looked for in the folders of LD_LIBRARY_PATH, then where CMake found it, then
// wherever the system's loader looks.
#include <string>

namespace lockstep::cuda {

class LoadedLibrary {
 public:
  /// `found_at_build`: path of the library, or of a link to it in the same folder. Throws std::runtime_error in one line
  /// that says where it was looked for.
  LoadedLibrary(const std::string& soname, const std::string& found_at_build);
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// Throws std::runtime_error where this version of the library has no such function.
  void* function(const char* name) const;

 private:
  std::string soname_;
  void* library_ = nullptr;  ///< stays loaded
};

}  // namespace lockstep::cuda

/// Defines NAME, a function of the library LIBRARY(), by passing its arguments on. RESULT, PARAMETERS as the library's
/// header has them, or the compiler refuses it.
#define LOCKSTEP_PASS_ON(LIBRARY, RESULT, NAME, PARAMETERS, ARGUMENTS)                       \
  RESULT NAME PARAMETERS {                                                                   \
    static const auto loaded = reinterpret_cast<decltype(&NAME)>(LIBRARY().function(#NAME)); \
    return loaded ARGUMENTS;                                                                 \
  }
