// The build of gemm for any machine.
#define LOCKSTEP_GEMM_BUILD gemm_generic
#include "engine/host/gemm_kernel.hpp"
