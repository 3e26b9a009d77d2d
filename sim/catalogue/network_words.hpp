#pragma once
// Inside sim/catalogue: the text of a network cut into its parts, before anything is looked up.
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
  std::optional<double> count;  ///< as written, also where it is no allowed one
  std::optional<WrittenRate> rate;
  std::string kind;                   ///< the other words, with a blank between
  std::optional<double> per_gpus;     ///< "per 4 GPUs"; "per GPU" is 1
  std::optional<double> bare_number;  ///< one without a unit, which no name has in it
  std::optional<double> bytes_per_s;  ///< a rate in bytes
  std::string wrong;                  ///< why it is no network whatever its parts are
};

/// Reads at most 200 characters.
NetworkWords cut_network(const std::string& text);

}  // namespace catalogue
}  // namespace lockstep::sim
