// The build for x86-64-v3 (AVX2, FMA); engine/CMakeLists.txt adds the compile flags where the compiler has them.
#if defined(__AVX2__) && defined(__FMA__)
#define LOCKSTEP_LEVEL level_v3
#include "engine/host/gemm_kernel.hpp"
#include "engine/host/loops_kernel.hpp"
#endif
