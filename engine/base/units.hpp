#pragma once
// Quantities with units: "100 Gbit/s", "12 GB/s", "2 us", "25 MiB", "11.8 TFLOP/s". Inside the program all is SI:
// seconds, bytes, bytes per second, operations per second. Decimal (k, M, G, T) and binary (Ki, Mi, Gi, Ti) prefixes.
// A number as in JSON, at most one blank, a unit spelled exactly.
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

enum class Dimension {
  time,       ///< s: ns, us, ms, s, min, h, d, w
  size,       ///< bytes: B, kB (also KB), MB, GB, TB, KiB, MiB, GiB, TiB
  bandwidth,  ///< bytes/s: B/s .. TB/s, KiB/s .. TiB/s, bit/s .. Tbit/s (b/s, bps)
  compute,    ///< floating-point operations per second (a multiply-add is 2): FLOP/s .. PFLOP/s
  rate,       ///< per second: 1/s, images/s, samples/s
  money,      ///< in a currency: USD, kUSD, EUR, $, ...; currency_in() says which
  price,      ///< of a second: USD/h, USD/s, EUR/h, $/h, ...
  power,      ///< watts: W, kW, MW
  tariff,     ///< of a joule: USD/kWh, USD/MWh, USD/J, EUR/kWh, ...
};

/// Name of the SI unit: "s", "B", "B/s", "FLOP/s", "1/s", "USD", "USD/s", "W", "USD/J".
std::string si_unit(Dimension dimension);
/// The units that are written.
std::vector<std::string> unit_names(Dimension dimension);
/// All spellings that parse.
std::vector<std::string> unit_spellings(Dimension dimension);
/// The currency of an amount, price or tariff, by its code: "2.5 $/h" -> "USD"; empty: it is none of these.
std::string currency_in(const std::string& quantity);

/// Why a text is not a quantity; empty on success (value is set).
std::string parse_quantity(const std::string& text, Dimension dimension, double& value);

/// Readable forms for tables: 3.2 -> "3.20 s", 2e-6 -> "2.00 us"; 25e6 -> "25.0 MB"; 1.25e10 -> "12.5 GB/s".
std::string format_seconds(double seconds);
std::string format_bytes(double bytes);
std::string format_bandwidth(double bytes_per_s);

/// A count as people write it, above 0: "300B", "1.5T", "2e9", "40M", "64k". Nothing for another text.
std::optional<double> parse_count(const std::string& text);
/// 3e11 -> "300B", 7.24e9 -> "7.24B", 512 -> "512"; four significant digits.
std::string format_count(double count);

}  // namespace lockstep
