// The build for any machine.
#define LOCKSTEP_LEVEL level_any
#include "engine/host/gemm_kernel.hpp"
#include "engine/host/loops_kernel.hpp"
