#pragma once
// Implements `simulate kernel`: the catalogue's laws predict single kernels, and collectives within a node.
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
  std::string source;  ///< software that was measured for the law
  KernelTime time;
};

/// `cells` are the columns of a row (kernel_row.hpp), including "gpu". Throws InputError for a missing or wrong cell,
/// for an unknown GPU, and for a GPU without the arithmetic or without a law for this kernel.
KernelPrediction predict_kernel(KernelKind kind, const KernelCells& cells, const Catalogue& catalogue);

std::string kernel_text(const KernelPrediction& prediction);
Json kernel_json(const KernelPrediction& prediction);

/// Returns the table with two more columns, `predicted_s` and `why`. If a row cannot be predicted, its time is empty
/// and `why` gives the reason. Throws InputError if the table has no column `kernel_type`.
std::string predict_kernel_table(const KernelTable& table, const Catalogue& catalogue);

}  // namespace job_prediction
}  // namespace lockstep::sim
