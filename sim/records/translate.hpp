#pragma once
// From the texts of a publication to explicit facts: the only place where such texts are searched for words.
//
//   "8x V100 NVLink", "NCCL ring all-reduce, tensor fusion", "2x FDR, 16 nodes per switch pair", "s (90 epochs)"
//
// What no word is found for stays open; what is taken for granted is listed in JobSpec::assumed.
#include "sim/catalogue/catalogue.hpp"
#include "sim/records/job_spec.hpp"

namespace lockstep::sim {
inline namespace records {

/// The facts of a record: those in explicit keys as they are, the others from its texts.
JobSpec job_of(const Record& record, const Catalogue& catalogue);

/// The value in SI (bandwidths in GB/s, efficiencies as fractions) and, of a rate, over all GPUs.
double value_in_si(const JobSpec& job, double value);

}  // namespace records
}  // namespace lockstep::sim
