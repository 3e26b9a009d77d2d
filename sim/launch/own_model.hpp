#pragma once
// The value of --model for a model that a configuration names or describes by its sizes.
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job/hub_name.hpp"

namespace lockstep::sim::launch {

/// The option's text, and the assumption made for it.
struct ModelOption {
  std::string text;  ///< "llama3_8b@8192", or the configuration in one line
  std::string note;  ///< empty: nothing was assumed
};

/// Reads a transformer from the keys of a HuggingFace configuration, or of the type "megatron". If the catalogue has a
/// model of the same shape, returns its name. Without "vocab_size", assumes that model's vocabulary, or else a default,
/// and notes it. `tokens`: sequence length; 0: not given. Errors begin with `where`.
ModelOption model_of_config(Json config, std::int64_t tokens, const Catalogue& catalogue, const std::string& where);

/// "name@4096"; the name alone if no length is given.
std::string sized_name(const std::string& name, std::int64_t tokens);

/// Returns the layers of the catalogue's model in a value of --model; 0: it is another model.
int layers_of(const std::string& option, const Catalogue& catalogue);

/// True if the value of --model is known to be a model without experts. False: it has experts, or it is not known.
bool is_known_dense(const std::string& option, const Catalogue& catalogue);

}  // namespace lockstep::sim::launch
