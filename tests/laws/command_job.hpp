#pragma once
// A job as its command line, for laws: they change it, predict it, and print it if it breaks a law.
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/point/point.hpp"

namespace lockstep::tests {

class CommandJob {
 public:
  /// Gives an option, or changes it if it is present. An empty value makes it a flag.
  CommandJob& give(const std::string& option, const std::string& value = "");
  CommandJob& give(const std::string& option, double value);
  CommandJob& leave_out(const std::string& option);
  /// Returns an option's value; empty if it is absent or a flag.
  std::string value(const std::string& option) const;
  bool has(const std::string& option) const;

  /// Returns "simulate job --model resnet50 ...", to paste into a shell. `program` is the text before the options.
  std::string command(const std::string& program = "simulate job") const;
  /// Returns the options by their keys, as answer() of sim/api expects them.
  Json options() const;
  /// Returns the question as `simulate job` reads it. Throws InputError.
  sim::JobQuestion question() const;

 private:
  std::vector<std::pair<std::string, std::string>> options_;
};

/// The answer for a job on its largest number of GPUs.
struct JobAnswer {
  int gpus = 0;
  double samples_per_s = 0, low = 0, high = 0;
  double samples_per_iteration = 0;
  double memory_bytes = 0;
  double mfu = 0;  ///< 0: the GPU's peak is unknown, or samples are not sequences

  /// GPUs whose measured laws of single kernels the prediction uses, the first one first. Empty: none.
  std::vector<std::string> kernels;
  /// Constant of the speed of this GPU, or of another one with its chip, that published results fitted. Empty: none.
  std::string speed_constant;

  double iteration_s() const { return samples_per_iteration / samples_per_s; }
};

/// Throws InputError if the job is refused, and std::runtime_error with the command for any other failure.
sim::JobPrediction predict(const CommandJob& job);
JobAnswer answer(const CommandJob& job);
/// Returns the largest relative amount by which a pass of a layer computes longer in the second job than in the first,
/// at least 0. Returns 0 if its kernels were not measured, or if attention, which stays in 16 bits, takes longer.
double slowdown_by_kernels(const CommandJob& first, const CommandJob& second);
/// Predicts the scenario that `simulate job --scenario` writes.
sim::PointResult replay_scenario(const CommandJob& job);

}  // namespace lockstep::tests
