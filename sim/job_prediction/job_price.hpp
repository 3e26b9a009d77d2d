#pragma once
// Reads amounts of money as people write them on command lines.
#include <string>

namespace lockstep::sim::job_prediction {

/// Returns the price of renting GPUs for this time.
inline double rent_usd(double seconds, int gpus, double usd_per_gpu_hour) {
  return seconds / 3600 * gpus * usd_per_gpu_hour;
}

/// Moves the currency behind the amount: "$2000" -> "2000 $".
std::string money_text(const std::string& written);
/// Completes a price per hour: "2.5", "2.5/h", "$2.5/h" and "2.5 USD/h" all become "2.5 USD/h", because dollars and
/// hours are the defaults. Other texts are returned unchanged.
std::string price_text(const std::string& written);
/// Replaces the text of a price by its USD per hour. Returns the error in the text; empty if it is valid.
std::string to_usd_per_hour(std::string& text, double least, double most);

}  // namespace lockstep::sim::job_prediction
