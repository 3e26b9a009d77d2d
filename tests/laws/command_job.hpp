#pragma once
// A job as its command line: what a law changes, asks, and prints where it is broken.
#include <string>
#include <utility>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::tests {

class CommandJob {
 public:
  /// Gives an option; one that is there already changes. An empty value: a flag.
  CommandJob& give(const std::string& option, const std::string& value = "");
  CommandJob& give(const std::string& option, double value);
  CommandJob& leave_out(const std::string& option);
  /// Empty: it is not there, or a flag.
  std::string value(const std::string& option) const;
  bool has(const std::string& option) const;

  /// Writes "simulate job --model resnet50 ...", to paste into a shell.
  std::string command() const;
  /// As `simulate job` reads it. Throws CLI::ParseError.
  sim::JobQuestion question() const;

 private:
  std::vector<std::pair<std::string, std::string>> options_;
};

/// Holds an answer to a job at its largest number of GPUs.
struct JobAnswer {
  int gpus = 0;
  double samples_per_s = 0, low = 0, high = 0;
  double samples_per_iteration = 0;
  double memory_bytes = 0;
  double mfu = 0;  ///< 0: its peak is not known

  double iteration_s() const { return samples_per_iteration / samples_per_s; }
};

/// Throws InputError where the job is refused, std::runtime_error with the command where it fails otherwise.
sim::JobPrediction predict(const CommandJob& job);
JobAnswer answer(const CommandJob& job);

}  // namespace lockstep::tests
