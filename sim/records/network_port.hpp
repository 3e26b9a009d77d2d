#pragma once
#include "sim/records/catalogue.hpp"

namespace lockstep::sim {

/// Of a line rate that an application reaches with RDMA: 11.75 of 12.5 GB/s. With TCP the constants say it.
inline constexpr double kRdmaShare = 0.94;

/// bytes/s of a port with a line rate in bit/s; 0: the network's own.
inline double port_bytes_per_s(const NetworkEntry& network, double rate_bits_per_s) {
  if (rate_bits_per_s <= 0) return network.port_bytes_per_s;
  return rate_bits_per_s / 8 * (network.rdma ? kRdmaShare : 1);
}

/// The line rate of such a port.
inline double line_rate_of(const NetworkEntry& network, double bytes_per_s) {
  return bytes_per_s * 8 / (network.rdma ? kRdmaShare : 1);
}

}  // namespace lockstep::sim
