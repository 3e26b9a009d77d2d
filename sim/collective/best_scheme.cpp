#include "sim/collective/best_scheme.hpp"

namespace lockstep::sim::collective {

SchemeCost scheme_cost(std::int64_t inputs, std::int64_t outputs, std::int64_t batch, int workers, int servers) {
  const double m = static_cast<double>(inputs), n = static_cast<double>(outputs), k = static_cast<double>(batch);
  return {2 * m * n * (workers + servers - 2) / servers, 2 * k * (workers - 1) * (m + n),
          (workers - 1) * (m * n + k * m + k * n)};
}

}  // namespace lockstep::sim::collective
