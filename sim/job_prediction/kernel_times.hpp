#pragma once
// Implements `simulate kernel`: the times of single kernels and of collectives within a node, by the catalogue's laws.
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
  std::string source;  ///< software with which the law was measured
  KernelTime time;
};

/// `cells`: the columns of a row (kernel_row.hpp), "gpu" among them. Throws InputError for a missing or wrong cell, an
/// unknown GPU, and a GPU without the arithmetic or without a law for this kernel.
KernelPrediction predict_kernel(KernelKind kind, const KernelCells& cells, const Catalogue& catalogue);

std::string kernel_text(const KernelPrediction& prediction);
Json kernel_json(const KernelPrediction& prediction);

/// The table with two more columns, `predicted_s` and `why`. If a row cannot be predicted, its time is empty and `why`
/// gives the reason. Throws InputError if the table has no column `kernel_type`.
std::string predict_kernel_table(const KernelTable& table, const Catalogue& catalogue);

}  // namespace job_prediction
}  // namespace lockstep::sim
