#pragma once
// Rows of tables of measured kernels. They have the columns of AIConfigurator's tables, as in results/kernels. If a
// file holds several kinds of kernels, the first column is the kind (`kernel_type`).
#include <map>
#include <string>

#include "sim/kernel/kernel_work.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// A row's cells by column.
using KernelCells = std::map<std::string, std::string>;

struct KernelRow {
  std::string gpu;  ///< as in the row, such as "h100_sxm"
  std::string law;  ///< kernel_law_name()
  KernelWork work;
  std::string split_key;  ///< rows with the same key are held out together: one shape in all precisions and on all GPUs
};

/// Throws InputError if a required column is missing, empty or outside 1 (`gpus`: 2) to 1e18, or if a name is unknown.
KernelRow read_kernel_row(KernelKind kind, const KernelCells& cells);

}  // namespace kernel
}  // namespace lockstep::sim
