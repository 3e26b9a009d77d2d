#pragma once
// The facts that a launch script or configuration of any format gives about a job. They become options of `simulate
// job`.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

/// An option of `simulate job`; place and key say where its value was read.
struct LaunchOption {
  std::string name;   ///< "--tensor"
  std::string value;  ///< empty: a flag
  Place place;
  std::string written;  ///< the key or keys of the file: "--tensor-model-parallel-size"
};

/// An integer with its place.
struct GivenNumber {
  std::int64_t value = 0;
  Place place;
  std::string written;
};

class Facts {
 public:
  /// Throws InputError with both places if the fact was given with another value.
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
  /// Gives the option the number of the setting, or sets it as a flag.
  void give_whole(const std::string& option, LaunchSettings& settings, const std::string& key);
  void give_flag(const std::string& option, LaunchSettings& settings, const std::string& key);

  /// Removes the option. Returns the key that gave it; none: it is not given.
  std::optional<std::string> drop(const std::string& option);

  bool has(const std::string& option) const;
  /// Empty: the option is not given, or is a flag.
  std::string value_of(const std::string& option) const;
  std::int64_t number_of(const std::string& option, std::int64_t otherwise) const;
  std::optional<std::int64_t> gpus() const;
  /// GPUs per node: as given, or GPUs / nodes; 0: unknown.
  std::int64_t gpus_of_node() const;
  bool has_gpus_per_node() const { return gpus_of_node() > 0; }
  /// Whether the nodes, or all GPUs, are given.
  bool has_size() const { return nodes_.has_value() || gpus_.has_value(); }

  std::optional<std::int64_t> micro_batch, global_batch, accumulation, iterations, samples;
  std::optional<double> tokens;
  std::string rampup;  ///< START+STEP of a batch that grows, and the samples until it is the global batch
  std::int64_t rampup_samples = 0;
  std::int64_t given_gpus = 0;      ///< on the command line, which overrides the file; 0: none, or several numbers
  std::int64_t sequence = 0;        ///< tokens per sample; 0: not given
  bool has_unknown_nodes = false;   ///< a number of nodes is given, but not a fixed one: "2-4"
  bool shards_in_nodes = false;     ///< weights are sharded within a node; each node has a copy
  std::int64_t sharded_copies = 1;  ///< number of copies of the sharded weights
  std::vector<std::string> notes;
  /// Whether the command has an unknown part, which the script sets under a test that cannot be evaluated. Then
  /// defaults of precision, sharding and recomputation are not certain, and are listed in `open_options`.
  bool has_open_part = false;
  /// Whether that part is the output of a program, which may give any argument. Then ranks are not certain either.
  bool has_open_output = false;
  std::vector<std::string> open_options;
  /// Options that a recipe sets, and recipes are not read. So give_default() does not give the software's default.
  std::set<std::string> options_of_recipe;

  /// Returns all options in the order of `simulate job --help`. Machine, batch and length of the training are included.
  /// `gpus`: numbers on the command line, which override the file's; empty: none.
  /// `needs_global_batch`: list it even if the file gives its parts.
  std::vector<LaunchOption> options(const std::vector<int>& gpus, bool needs_global_batch = false) const;

 private:
  void give_number(std::optional<GivenNumber>& fact, const std::string& what, const GivenNumber& given);
  void add_machine(std::vector<LaunchOption>& options) const;
  void add_group(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const;
  /// Returns accumulation x micro-batch x replicas; values that are not given count as 1. 0: the GPUs are unknown.
  std::int64_t samples_of_iteration(const std::vector<int>& gpus) const;
  void add_batch(std::vector<LaunchOption>& options, std::int64_t of_parts) const;
  void add_length(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const;

  std::optional<GivenNumber> nodes_, gpus_per_node_, gpus_;
  std::vector<LaunchOption> options_;
};

}  // namespace lockstep::sim::launch
