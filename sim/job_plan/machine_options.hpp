#pragma once
// Reads the machines of `plan job --options`. They may differ in number of GPUs, GPU, price and network together:
//
//   NUMBER GPU[ PRICE][ over NETWORK]      "64 H100 2.2/h", "128 A100 at 1.3", "72 GB200 4 EUR/h over 18x 400 Gb/s"
//
// PRICE is per GPU-hour, in the format of --price. If it lacks "/h", the word "at" must precede it.
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim::job_plan {

struct MachineOption {
  int gpus = 0;
  std::string gpu;
  std::string price;    ///< a quantity, "2.2 USD/h"; empty: not given
  std::string network;  ///< as written; empty: not given
};

/// Throws InputError that quotes the option and names the invalid part.
MachineOption read_machine_option(const std::string& written);

/// Reads --options, in their order. Throws InputError for an invalid option, and if only some have prices while --price
/// is not given.
std::vector<MachineOption> read_machine_options(const JobPlan& words);

/// Returns the text of option `i` without leading and trailing blanks.
std::string trim_option(const JobPlan& words, std::size_t i);

/// True if --price or an option gives a price.
bool has_prices(const JobPlan& words);

}  // namespace lockstep::sim::job_plan
