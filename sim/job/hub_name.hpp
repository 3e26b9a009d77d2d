#pragma once
// Finds the model that a name from the HuggingFace hub, or a path, refers to.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job/job.hpp"

namespace lockstep::sim::job {

/// Returns the catalogue's entry of "meta-llama/Llama-2-7b-hf" or "/models/Qwen2.5-7B-Instruct"; nullptr: none. Ignores
/// endings of variants with the same shape ("-Instruct", "-hf", "-2507").
const ModelEntry* model_named(const std::string& name, const Catalogue& catalogue);
/// Replaces such a name of the job's model by the catalogue's id: "meta-llama/Llama-3.1-8B-Instruct@4096" becomes
/// "llama3_1_8b@4096".
void read_hub_name(Job& job, const Catalogue& catalogue);

}  // namespace lockstep::sim::job
