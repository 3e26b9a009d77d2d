#pragma once
#include "sim/catalogue/network_grammar.hpp"
#include "sim/job/job.hpp"

namespace lockstep::sim::job {

/// Returns the bytes/s of a port with a line rate in bit/s; 0: of a port of the network's own rate.
inline double port_bytes_per_s(const NetworkEntry& network, double rate_bits_per_s) {
  if (rate_bits_per_s <= 0) return network.port_bytes_per_s;
  return rate_bits_per_s / 8 * (network.rdma ? kRdmaShare : 1);
}

/// Returns the line rate, in bits/s, of a port that carries `bytes_per_s`.
inline double line_rate_of(const NetworkEntry& network, double bytes_per_s) {
  return bytes_per_s * 8 / (network.rdma ? kRdmaShare : 1);
}

/// Describes a found network. Its rate is given only if it is not the catalogue's.
inline NetworkStated network_stated(const NetworkFound& found) {
  NetworkStated network;
  network.id = found.entry->id;
  network.count = found.ports;
  network.is_count_stated = found.ports_stated;
  network.is_stated = true;
  if (found.port_bytes_per_s == found.entry->port_bytes_per_s) return network;
  const bool is_of_line = port_bytes_per_s(*found.entry, found.line_bits_per_s) == found.port_bytes_per_s;
  network.rate_bits_per_s = is_of_line ? found.line_bits_per_s : line_rate_of(*found.entry, found.port_bytes_per_s);
  return network;
}

/// Reverses network_stated(), for a network in the catalogue.
inline NetworkFound network_found(const NetworkStated& network, const NetworkEntry& entry) {
  NetworkFound found{&entry, network.count, network.is_count_stated};
  found.port_bytes_per_s = port_bytes_per_s(entry, network.rate_bits_per_s);
  found.line_bits_per_s = network.rate_bits_per_s > 0 ? network.rate_bits_per_s : entry.line_bits_per_s;
  return found;
}

}  // namespace lockstep::sim::job
