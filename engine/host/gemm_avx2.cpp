// The build of gemm for AVX2 with FMA; engine/CMakeLists.txt adds the compile flags where the compiler has them.
#if defined(__AVX2__) && defined(__FMA__)
#define LOCKSTEP_GEMM_BUILD gemm_avx2
#include "engine/host/gemm_kernel.hpp"
#endif
