#include "sim/job_plan/machine_options.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_plan {
namespace {

constexpr const char *kBlanks = " \t", *kDigits = "0123456789";

[[noreturn]] void refuse(const std::string& written, const std::string& wrong) {
  throw InputError("--options " + in_quotes(trimmed(written)) + ": " + wrong +
                   "; write NUMBER GPU PRICE, such as \"64 H100 2.2/h\", with \" over NETWORK\" behind it if needed");
}

// Removes the last `word` (in upper or lower case) and the text after it. Returns that text; empty if the word is
// missing.
std::string cut_behind(const std::string& word, std::string& text) {
  const std::size_t at = lower_case(text).rfind(" " + word + " ");
  if (at == std::string::npos) return "";
  const std::string behind = trimmed(text.substr(at + word.size() + 2));
  text = trimmed(text.substr(0, at));
  return behind;
}

bool is_price(const std::string& text) {
  double usd_per_s = 0;
  return parse_quantity_or_explain(job_prediction::price_text(text), Dimension::price, usd_per_s).empty() &&
         usd_per_s > 0;
}

// Removes a price ("2.2/h", "$2.2/h" or "2.2 EUR/h") from the end of the text. Returns it; empty if there is none.
std::string cut_price(std::string& text) {
  for (std::size_t at = text.size(); (at = text.find_last_of(kBlanks, at - 1)) != std::string::npos && at > 0;) {
    const std::string end = text.substr(at + 1);
    if (end.find('/') == std::string::npos || !is_price(end)) continue;
    text = trimmed(text.substr(0, at));
    return end;
  }
  return "";
}

}  // namespace

MachineOption read_machine_option(const std::string& written) {
  MachineOption option;
  std::string rest = trimmed(written);
  option.network = cut_behind("over", rest);
  std::string price = cut_behind("at", rest);
  if (price.empty()) price = cut_price(rest);
  if (!price.empty() && !is_price(price)) refuse(written, in_quotes(price) + " is no price of a GPU-hour");
  if (!price.empty()) option.price = job_prediction::price_text(price);
  const std::size_t end = rest.find_first_not_of(kDigits);
  const std::string count = rest.substr(0, end);
  if (count.empty() || count.size() > 7 || std::stoi(count) < 1 || std::stoi(count) > kMostGpus)
    refuse(written, "it does not begin with a number of GPUs from 1 to " + std::to_string(kMostGpus));
  option.gpus = std::stoi(count);
  rest = end == std::string::npos ? "" : rest.substr(end);
  if (rest.size() > 1 && (rest[0] == 'x' || rest[0] == 'X') && rest[1] == ' ') rest = rest.substr(1);
  option.gpu = trimmed(rest);
  if (option.gpu.empty()) refuse(written, "no GPU is named");
  return option;
}

std::string trim_option(const JobPlan& words, std::size_t i) {
  return trimmed(words.options[i]);
}

std::vector<MachineOption> read_machine_options(const JobPlan& words) {
  std::vector<MachineOption> options;
  for (const std::string& written : words.options) options.push_back(read_machine_option(written));
  const auto has_price = [](const MachineOption& option) { return !option.price.empty(); };
  if (words.prices.empty() && std::any_of(options.begin(), options.end(), has_price))
    for (std::size_t i = 0; i < options.size(); ++i)
      if (!has_price(options[i]))
        refuse(words.options[i], "other options have a price, and this one has none; give one here or by --price");
  return options;
}

bool has_prices(const JobPlan& words) {
  const std::vector<MachineOption> options = read_machine_options(words);
  return !words.prices.empty() ||
         std::any_of(options.begin(), options.end(), [](const MachineOption& o) { return !o.price.empty(); });
}

}  // namespace lockstep::sim::job_plan
