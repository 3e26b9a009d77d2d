// The build for x86-64-v4 (AVX-512); engine/CMakeLists.txt adds the compile flags where the compiler has them.
#if defined(__AVX512F__) && defined(__AVX512VL__)
#define LOCKSTEP_LEVEL level_v4
#include "engine/host/gemm_kernel.hpp"
#include "engine/host/loops_kernel.hpp"
#endif
