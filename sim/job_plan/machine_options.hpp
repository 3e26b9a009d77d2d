#pragma once
// Machines as `plan job --options` takes them, which may differ in number of GPUs, GPU, price and network at once:
//
//   NUMBER GPU[ PRICE][ over NETWORK]      "64 H100 2.2/h", "128 A100 at 1.3", "72 GB200 4 EUR/h over 18x 400 Gb/s"
//
// PRICE is of a GPU-hour, as --price takes it; without "/h" it follows the word "at".
#include "sim/job_plan/job_plan.hpp"

namespace lockstep::sim::job_plan {

struct MachineOption {
  int gpus = 0;
  std::string gpu;
  std::string price;    ///< a quantity, "2.2 USD/h"; empty: not given
  std::string network;  ///< as written; empty: not given
};

/// Throws InputError, which quotes the option and says which part is wrong.
MachineOption read_machine_option(const std::string& written);

/// Reads --options, in their order. Throws InputError, also if prices are given for only some of them and no --price is.
std::vector<MachineOption> read_machine_options(const JobPlan& words);

/// The text of option `i`, without blanks at its ends.
std::string trim_option(const JobPlan& words, std::size_t i);

/// Whether a price is given, by --price or in an option.
bool has_prices(const JobPlan& words);

}  // namespace lockstep::sim::job_plan
