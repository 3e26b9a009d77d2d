#pragma once
// Amounts of money as people write them on command lines.
#include <string>

namespace lockstep::sim::job_prediction {

/// The amount with its currency behind it: "$2000" -> "2000 $".
std::string money_text(const std::string& written);
/// A price per hour as a quantity: "2.5", "2.5/h", "$2.5/h" and "2.5 USD/h" are "2.5 USD/h", the first two of them because
/// dollars and hours are the default. Other texts stay as they are.
std::string price_text(const std::string& written);
/// Replaces the text of a price by its USD per hour. Returns what is wrong with it; empty: nothing.
std::string to_usd_per_hour(std::string& text, double least, double most);

}  // namespace lockstep::sim::job_prediction
