#pragma once
// The names of a job: matched whole against the catalogue, the network by its grammar. Nothing is guessed from a part
// of a name; what is not known is refused with the three nearest names.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/records/job.hpp"
#include "sim/records/record.hpp"

namespace lockstep::sim {

/// How a job may exchange its gradients.
struct JobAlgorithm {
  std::string id;
  std::string title;
  std::vector<std::string> aliases;
  std::optional<AllReduceKind> all_reduce;  ///< none: the software's, or it has none
  std::string in_texts;  ///< as a publication says it; empty: a scenario can have it, a job in words cannot
};

/// Those of simulate, and the all-reduces and exchanges that S-SGD may have.
const std::vector<JobAlgorithm>& job_algorithms();

/// What the job's words were read as. Throws InputError, "--gpu H1000: ...", for a word that is not known.
NamesRead read_names(const Job& job, const Catalogue& catalogue);

/// Names that are known: "models: alexnet_bn_jizhi, ..." and so on, each of which reads as itself, and the grammar of
/// networks.
std::string names_text(const Catalogue& catalogue);

}  // namespace lockstep::sim
