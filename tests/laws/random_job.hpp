#pragma once
// Random jobs over the catalogue's GPUs, models, networks and software.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/laws/command_job.hpp"

namespace lockstep::tests {

class Draws {
 public:
  explicit Draws(unsigned seed) : generator_(seed) {}
  template <class Value>
  Value of(const std::vector<Value>& all) {
    return all[generator_() % all.size()];
  }
  std::string of(std::initializer_list<const char*> all) { return std::data(all)[generator_() % all.size()]; }
  int of(std::initializer_list<int> all) { return std::data(all)[generator_() % all.size()]; }
  bool one_in(unsigned n) { return generator_() % n == 0; }

 private:
  std::mt19937 generator_;
};

/// Whole replicas at a stated batch per GPU: images or sequences.
CommandJob random_replicas(Draws& draws);
/// A transformer with its split, its micro-batch and its global batch stated.
CommandJob random_split(Draws& draws);
/// A transformer of whose split little or nothing is stated.
CommandJob random_open_job(Draws& draws);

/// The job's precisions from wide to narrow for which its GPU has units, and single precision.
std::vector<std::string> precisions_of(const std::string& gpu);

/// "8x 100 Gb/s InfiniBand" -> "8x 200 Gb/s InfiniBand"; nullopt: the job states no rate.
std::optional<std::string> with_double_rate(const std::string& network);

}  // namespace lockstep::tests
