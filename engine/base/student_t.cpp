#include "engine/base/student_t.hpp"

#include "engine/base/statistics.hpp"

namespace lockstep {

double student_t_quantile(double probability, double degrees) {
  const double z = normal_quantile(probability), z2 = z * z, n = degrees;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
  const double g3 = z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / 384;
  const double g4 = z * (79 * z2 * z2 * z2 * z2 + 776 * z2 * z2 * z2 + 1482 * z2 * z2 - 1920 * z2 - 945) / 92160;
  return z + g1 / n + g2 / (n * n) + g3 / (n * n * n) + g4 / (n * n * n * n);
}

}  // namespace lockstep
