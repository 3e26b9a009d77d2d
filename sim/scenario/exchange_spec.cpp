#include "sim/scenario/exchange_spec.hpp"

namespace lockstep::sim {
namespace {

const Range kRate{1e3, 1e14};
const Range kBytes{1, 1e12};

Json assumed(const char* value, const char* why) {
  return {{"value", value}, {"kind", "assumed"}, {"source", why}};
}

}  // namespace

double LoadingSpec::read_s(int batch, int gpus_of_node, int gpus) const {
  if (file_bytes_per_sample <= 0) return 0;
  const double bytes = batch * file_bytes_per_sample;
  if (nfs_bandwidth_bytes_per_s > 0) return bytes * gpus / nfs_bandwidth_bytes_per_s;
  return bytes * gpus_of_node / disk_bandwidth_bytes_per_s;
}

LocalSgdSpec read_local_sgd(const JsonNode& node) {
  node.keys({"period"});
  return {static_cast<int>(node.at("period").integer(1, 10000))};
}

ShardingSpec read_sharding(const JsonNode& node) {
  node.keys({"unit", "units_ahead", "gathers_again"});
  return {static_cast<std::int64_t>(node.at("unit").sourced_quantity(Dimension::size, kBytes)),
          static_cast<int>(node.at("units_ahead").integer(0, 1000)), node.at("gathers_again").boolean()};
}

TheanoMpiSpec read_theano_mpi(const JsonNode& node) {
  node.keys({"exchange", "staging_bandwidth", "host_copy_rate", "host_reduction_rate"});
  return {read_choice<ParameterExchange>(node.at("exchange")),
          node.at("staging_bandwidth").sourced_quantity(Dimension::bandwidth, kRate),
          node.at("host_copy_rate").sourced_quantity(Dimension::bandwidth, kRate),
          node.at("host_reduction_rate").sourced_quantity(Dimension::bandwidth, kRate)};
}

LoadingSpec read_loading(const JsonNode& input) {
  LoadingSpec loading;
  loading.blocking = input.at("loading").choice({"parallel", "blocking"}) == "blocking";
  const auto bytes = input.find("file_bytes_per_sample");
  const auto disk = input.find("disk_bandwidth"), nfs = input.find("nfs_bandwidth");
  if (disk && nfs) nfs->fail("given beside \"disk_bandwidth\"", "allowed: one of the two");
  if (bytes) loading.file_bytes_per_sample = bytes->sourced_quantity(Dimension::size, kBytes);
  if (disk) loading.disk_bandwidth_bytes_per_s = disk->sourced_quantity(Dimension::bandwidth, kRate);
  if (nfs) loading.nfs_bandwidth_bytes_per_s = nfs->sourced_quantity(Dimension::bandwidth, kRate);
  if (bytes && !disk && !nfs)
    bytes->fail("nothing says how fast files are read", "allowed: with \"disk_bandwidth\" or \"nfs_bandwidth\"");
  return loading;
}

Json local_sgd_defaults() {
  return {{"period", 8}};
}

Json sharding_defaults() {
  return {{"unit", assumed("100 MB", "default: of the order of a transformer block; PyTorch wraps by parameter count")},
          {"units_ahead", 1},
          {"gathers_again", true}};
}

Json theano_mpi_defaults() {
  return {{"exchange", "asa"},
          {"staging_bandwidth", assumed("3 GB/s", "default: copies between a GPU and pageable host memory")},
          {"host_copy_rate", assumed("5 GB/s", "default: one core copying memory, servers of 2012 to 2015")},
          {"host_reduction_rate",
           assumed("2 GB/s", "default: one core adding a vector of floats to another, by bytes of one")}};
}

}  // namespace lockstep::sim
