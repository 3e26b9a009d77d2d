#pragma once
// Rows of tables of measured kernels: the columns of AIConfigurator's tables as results/kernels has them, with the kind of
// kernel in front (`kernel_type`) where a file holds several.
#include <map>
#include <string>

#include "sim/kernel/kernel_work.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// A row's cells by column.
using KernelCells = std::map<std::string, std::string>;

struct KernelRow {
  std::string gpu;  ///< as the row has it: "h100_sxm"
  std::string law;  ///< kernel_law_name()
  KernelWork work;
  std::string split_key;  ///< rows that are held out together: a shape in all precisions and on all GPUs
};

/// Throws InputError: a required column is missing, empty or outside 1 (`gpus`: 2) to 1e18, or a name is unknown.
KernelRow read_kernel_row(KernelKind kind, const KernelCells& cells);

}  // namespace kernel
}  // namespace lockstep::sim
