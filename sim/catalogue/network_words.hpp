#pragma once
// Inside sim/catalogue: divides the text of a network into its parts, before names are looked up.
#include <optional>
#include <string>

namespace lockstep::sim {
inline namespace catalogue {

/// A number read with a unit of bits: "400 Gb/s", "100GbE".
struct WrittenRate {
  double bits_per_s = 0;
  bool is_ethernet = false;  ///< written in GbE
};

/// Holds the parts of "[COUNTx ]RATE[ KIND][ per GPU| per N GPUs| per node]".
struct NetworkWords {
  std::optional<double> count;  ///< as given, even if it is not allowed
  std::optional<WrittenRate> rate;
  std::string kind;                   ///< the other words, separated by blanks
  std::optional<double> per_gpus;     ///< "per 4 GPUs"; "per GPU" is 1
  std::optional<double> bare_number;  ///< a number without a unit that belongs to no name
  std::optional<double> bytes_per_s;  ///< a rate in bytes
  std::string wrong;                  ///< why no parts make this a network
};

/// Reads at most 200 characters.
NetworkWords cut_network(const std::string& text);

}  // namespace catalogue
}  // namespace lockstep::sim
