#pragma once
// `simulate kernel`: times of single kernels and collectives within a node, by the laws of the catalogue's GPUs.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/kernel/kernel_row.hpp"
#include "sim/kernel/kernel_table.hpp"

namespace lockstep::sim {
inline namespace job_prediction {

struct KernelPrediction {
  KernelRow row;
  const GpuEntry* gpu = nullptr;
  ScaledKernelLaw law;
  std::string source;  ///< software that was timed
  KernelTime time;
};

/// `cells`: the columns of a row (kernel_row.hpp), "gpu" among them. Throws InputError: a cell that is missing or wrong, an
/// unknown GPU, one without the arithmetic or without such a law.
KernelPrediction predict_kernel(KernelKind kind, const KernelCells& cells, const Catalogue& catalogue);

std::string kernel_text(const KernelPrediction& prediction);
Json kernel_json(const KernelPrediction& prediction);

/// The table with the columns `predicted_s` and `why` behind its own; a row that cannot be predicted has an empty time and
/// the reason. Throws InputError if the table has no column `kernel_type`.
std::string predict_kernel_table(const KernelTable& table, const Catalogue& catalogue);

}  // namespace job_prediction
}  // namespace lockstep::sim
