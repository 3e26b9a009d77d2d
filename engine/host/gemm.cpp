#include "engine/host/gemm.hpp"

namespace lockstep::host {

namespace gemm_generic {
template <typename Scalar>
void multiply(const GemmSize&, const Operand<Scalar>&, const Operand<Scalar>&, Scalar*, std::int64_t, bool);
}
namespace gemm_avx2 {
template <typename Scalar>
void multiply(const GemmSize&, const Operand<Scalar>&, const Operand<Scalar>&, Scalar*, std::int64_t, bool);
}

namespace {

bool machine_has_avx2() {
#ifdef LOCKSTEP_GEMM_AVX2
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool& avx2_chosen() {
  static bool chosen = machine_has_avx2();
  return chosen;
}

}  // namespace

template <typename Scalar>
void gemm(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c, std::int64_t stride,
          bool accumulate) {
#ifdef LOCKSTEP_GEMM_AVX2
  if (avx2_chosen()) return gemm_avx2::multiply(size, a, b, c, stride, accumulate);
#endif
  gemm_generic::multiply(size, a, b, c, stride, accumulate);
}

const char* gemm_build() {
  return avx2_chosen() ? "avx2" : "generic";
}

void use_generic_gemm(bool generic) {
  avx2_chosen() = !generic && machine_has_avx2();
}

template void gemm(const GemmSize&, const Operand<float>&, const Operand<float>&, float*, std::int64_t, bool);
template void gemm(const GemmSize&, const Operand<double>&, const Operand<double>&, double*, std::int64_t, bool);

}  // namespace lockstep::host
