#pragma once
// Writes numbers as text for a plan's tables and answers.
#include <string>

#include "sim/modules.hpp"

namespace lockstep::sim::plan {

std::string signed_percent_text(double fraction);                    ///< "+12.3 %"
std::string money_text(double amount, const std::string& currency);  ///< "1,234 USD", "12.30 EUR"
std::string time_text(double seconds);                               ///< "58.3 min", "2.10 h"

}  // namespace lockstep::sim::plan
