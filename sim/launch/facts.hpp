#pragma once
// The facts of a job that a launch script or configuration gives, whatever its format. They become options of
// `simulate job`.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

/// An option of `simulate job`, and where its value comes from.
struct LaunchOption {
  std::string name;   ///< "--tensor"
  std::string value;  ///< empty: a flag
  Place place;
  std::string written;  ///< the key or keys of the file: "--tensor-model-parallel-size"
};

/// A whole number with its place.
struct GivenNumber {
  std::int64_t value = 0;
  Place place;
  std::string written;
};

class Facts {
 public:
  /// Throws InputError, which names both places, where the fact is given with another value.
  void give_nodes(std::int64_t value, const Place& place, const std::string& written);
  void give_gpus_per_node(std::int64_t value, const Place& place, const std::string& written);
  void give_gpus(std::int64_t value, const Place& place, const std::string& written);
  void give(const std::string& option, const std::string& value, const Place& place, const std::string& written);
  void give_flag(const std::string& option, const Place& place, const std::string& written) {
    give(option, "", place, written);
  }
  /// Sets the software's default, unless the option is given.
  void give_default(const std::string& option, const std::string& value, const std::string& why);
  /// Gives the option with the place of the setting `key`.
  void give_from(const std::string& option, const std::string& value, LaunchSettings& settings, const std::string& key);
  /// Gives the setting's number, or its flag.
  void give_whole(const std::string& option, LaunchSettings& settings, const std::string& key);
  void give_flag(const std::string& option, LaunchSettings& settings, const std::string& key);

  bool has(const std::string& option) const;
  std::int64_t number_of(const std::string& option, std::int64_t otherwise) const;
  std::optional<std::int64_t> gpus() const;

  std::optional<std::int64_t> micro_batch, global_batch, accumulation, iterations, samples;
  std::optional<double> tokens;
  std::int64_t sequence = 0;        ///< tokens of a sample; 0: not given
  bool shards_in_nodes = false;     ///< weights are sharded over a node's GPUs, and nodes hold copies
  std::int64_t sharded_copies = 1;  ///< of the sharded weights
  std::vector<std::string> notes;
  /// Whether a part of the command is open that the script sets under a test that is not known. Defaults of precision,
  /// sharding and recomputation are then no facts, and are listed in `open_options`.
  bool has_open_part = false;
  std::vector<std::string> open_options;

  /// All options, in the order of `simulate job --help`: machine, batch and length of the training follow from the above.
  /// `gpus`: of the command line, which win; empty: those of the file.
  /// `needs_global_batch`: it is listed also where its parts are given.
  std::vector<LaunchOption> options(const std::vector<int>& gpus, bool needs_global_batch = false) const;

 private:
  /// GPUs of a node, given or by the numbers of GPUs and nodes; 0: neither says it.
  std::int64_t gpus_of_node() const;
  void give_number(std::optional<GivenNumber>& fact, const std::string& what, const GivenNumber& given);
  void add_machine(std::vector<LaunchOption>& options) const;
  void add_group(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const;
  /// Returns accumulation x micro-batch x replicas, 1 for what is not given; 0: the GPUs are not known.
  std::int64_t samples_of_iteration(const std::vector<int>& gpus) const;
  void add_batch(std::vector<LaunchOption>& options, std::int64_t of_parts) const;
  void add_length(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const;

  std::optional<GivenNumber> nodes_, gpus_per_node_, gpus_;
  std::vector<LaunchOption> options_;
};

}  // namespace lockstep::sim::launch
