#include "engine/host/gemm.hpp"

#include "engine/host/level.hpp"
#include "engine/host/loops.hpp"
#ifdef LOCKSTEP_WITH_ONEDNN
#include "engine/host/onednn.hpp"
#endif

namespace lockstep::host {

// Each level_*.cpp defines these functions in a namespace of its own.
#define LOCKSTEP_DECLARE_LEVEL(name)                                                                           \
  namespace name {                                                                                             \
  template <typename Scalar>                                                                                   \
  void multiply(const GemmSize&, const Operand<Scalar>&, const Operand<Scalar>&, Scalar*, std::int64_t, bool); \
  template <typename Scalar>                                                                                   \
  const Loops<Scalar>& loops_of_level();                                                                       \
  }
LOCKSTEP_DECLARE_LEVEL(level_any)
#ifdef LOCKSTEP_LEVELS
LOCKSTEP_DECLARE_LEVEL(level_v3)
LOCKSTEP_DECLARE_LEVEL(level_v4)
#endif
#undef LOCKSTEP_DECLARE_LEVEL

namespace {

template <typename Scalar>
void multiply(const GemmSize& size, const Operand<Scalar>& a, const Operand<Scalar>& b, Scalar* c, std::int64_t stride,
              bool accumulate) {
#ifdef LOCKSTEP_LEVELS
  if (level_in_use() == Level::v4) return level_v4::multiply(size, a, b, c, stride, accumulate);
  if (level_in_use() == Level::v3) return level_v3::multiply(size, a, b, c, stride, accumulate);
#endif
  level_any::multiply(size, a, b, c, stride, accumulate);
}

}  // namespace

template <>
void gemm(const GemmSize& size, const Operand<float>& a, const Operand<float>& b, float* c, std::int64_t stride,
          bool accumulate) {
#ifdef LOCKSTEP_WITH_ONEDNN
  if (uses_onednn()) return onednn::multiply(size, a, b, c, stride, accumulate);
#endif
  multiply(size, a, b, c, stride, accumulate);
}

template <>
void gemm(const GemmSize& size, const Operand<double>& a, const Operand<double>& b, double* c, std::int64_t stride,
          bool accumulate) {
  multiply(size, a, b, c, stride, accumulate);
}

template <typename Scalar>
const Loops<Scalar>& loops() {
#ifdef LOCKSTEP_LEVELS
  if (level_in_use() == Level::v4) return level_v4::loops_of_level<Scalar>();
  if (level_in_use() == Level::v3) return level_v3::loops_of_level<Scalar>();
#endif
  return level_any::loops_of_level<Scalar>();
}
template const Loops<float>& loops();
template const Loops<double>& loops();

}  // namespace lockstep::host
