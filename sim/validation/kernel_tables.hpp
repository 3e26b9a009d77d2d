#pragma once
// Reads tables of measured kernels (results/kernels/tables) and fits the laws of all GPUs. Reports the laws' errors on
// shapes that they did not see, and on GPUs that they were not fitted on.
#include <functional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/kernel/kernel_laws.hpp"
#include "sim/validation/kernel_fit.hpp"

namespace lockstep::sim {
inline namespace validation {

struct KernelSeries {
  std::string gpu;  ///< id in gpus.json
  std::string law;
  std::string source;
  std::vector<KernelSample> samples;
};

/// All rows of `FOLDER/{gemm,attention,mla,moe,collectives,alltoall,quantize}.csv.gz` (or .csv), by GPU and law. Throws
/// InputError with file and line for a row that is not understood, and for a GPU that the catalogue lacks.
std::vector<KernelSeries> read_kernel_tables(const std::string& folder, const Catalogue& catalogue);

/// The error of one GPU's law on another GPU, whose rows it was not fitted to.
struct CarriedLaw {
  std::string law, from, to;
  KernelLawError error;
};

struct HeldOutTimes {
  std::string law, gpu;
  std::vector<HeldOutTime> times;
};

struct KernelFit {
  std::vector<KernelLawFile> files;
  std::vector<HeldOutTimes> held_out;
  std::vector<CarriedLaw> carried;
};

KernelFit fit_kernel_laws(const std::vector<KernelSeries>& series, const Catalogue& catalogue, int jobs);

/// Writes a row per law: number of rows, and median and ninth decile of the errors on held-out shapes.
std::string kernel_fit_table(const KernelFit& fit);
Json kernel_fit_json(const KernelFit& fit);

}  // namespace validation
}  // namespace lockstep::sim
