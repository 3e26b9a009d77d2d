#include "sim/scenario/exchange_spec.hpp"

#include <algorithm>
#include <cctype>

#include "engine/base/text.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/scenario_format.hpp"

namespace lockstep::sim::scenario {

double LoadingSpec::read_s(int batch, int gpus_of_node, int gpus) const {
  const double bytes = batch * file_bytes_per_sample;
  if (nfs_bandwidth_bytes_per_s > 0) return bytes * gpus / nfs_bandwidth_bytes_per_s;
  if (disk_bandwidth_bytes_per_s <= 0) return 0;
  return bytes * gpus_of_node / disk_bandwidth_bytes_per_s;
}

const ObjectFormat<LoadingSpec>& loading_format() {
  using Spec = LoadingSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("loading");
    f.either("loading", &Spec::blocking, "parallel", "blocking")
        .otherwise("parallel")
        .means(
            "a loader reads the next batches beside the training; or: every batch is read, pre-processed "
            "and copied after the step before. `blocking` needs algorithm `s-sgd`, `local-sgd`, `sharded` "
            "or `theano-mpi`");
    f.quantity("file_bytes_per_sample", &Spec::file_bytes_per_sample, Dimension::size, kBytes)
        .optional("no reading")
        .means(
            "read from files, before the pre-processing of `samples_per_s_per_node`. Needs one of the "
            "next two");
    f.quantity("disk_bandwidth", &Spec::disk_bandwidth_bytes_per_s, Dimension::bandwidth, kRate)
        .optional()
        .means("of a node's disk; its GPUs share it");
    f.quantity("nfs_bandwidth", &Spec::nfs_bandwidth_bytes_per_s, Dimension::bandwidth, kRate)
        .optional()
        .means("of a file server; all GPUs share it");
    f.then([](const JsonNode& input, Spec&) {
      const auto disk = input.find("disk_bandwidth"), nfs = input.find("nfs_bandwidth");
      if (disk && nfs) nfs->fail("given beside \"disk_bandwidth\"", "allowed: one of the two");
      if (const auto bytes = input.find("file_bytes_per_sample"); bytes && !disk && !nfs)
        bytes->fail("nothing says how fast files are read", "allowed: with \"disk_bandwidth\" or \"nfs_bandwidth\"");
    });
    return f;
  }();
  return format;
}

namespace {

const ObjectFormat<LocalSgdSpec>& local_sgd_format() {
  static const ObjectFormat<LocalSgdSpec> format = [] {
    ObjectFormat<LocalSgdSpec> f("local_sgd");
    f.whole("period", &LocalSgdSpec::period, 1, 10000)
        .otherwise(8)
        .means("steps from one averaging to the next; 1: the time of S-SGD without overlap");
    f.whole("group_gpus", &LocalSgdSpec::group_gpus, 1, kMostGpus)
        .otherwise(1)
        .means(
            "consecutive GPUs that train one replica by S-SGD, such as a data centre's (DiLoCo); they sum their "
            "gradients at every step");
    return f;
  }();
  return format;
}

const ObjectFormat<ShardingSpec>& sharding_format() {
  static const ObjectFormat<ShardingSpec> format = [] {
    ObjectFormat<ShardingSpec> f("sharding");
    f.quantity("unit", &ShardingSpec::unit_bytes, Dimension::size, kBytes)
        .assumed("100 MB", "default: of the order of a transformer block; PyTorch wraps by parameter count")
        .means("layers collect in a unit until its parameters reach it");
    f.whole("units_ahead", &ShardingSpec::units_ahead, 0, 1000)
        .otherwise(1)
        .means("units gathered while one is computed");
    f.boolean("gathers_again", &ShardingSpec::gathers_again)
        .otherwise(true)
        .means("`false`: parameters stay from forward to backward; 2 (n-1)/n of the bytes");
    f.boolean("keeps_gradients", &ShardingSpec::keeps_gradients)
        .otherwise(false)
        .means(
            "`true`: every GPU has all gradients and exchanges them in the last micro-step; parameters are gathered in "
            "the first (ZeRO-1); with `gathers_again` of `false`");
    f.then([](const JsonNode& node, ShardingSpec& spec) {
      if (spec.keeps_gradients && spec.gathers_again)
        node.at("keeps_gradients")
            .fail("weights that are gathered again are sharded, and so are gradients",
                  "allowed: with \"gathers_again\": false");
    });
    return f;
  }();
  return format;
}

const ObjectFormat<TheanoMpiSpec>& theano_mpi_format() {
  static const ObjectFormat<TheanoMpiSpec> format = [] {
    ObjectFormat<TheanoMpiSpec> f("theano_mpi");
    f.choice("exchange", &TheanoMpiSpec::exchange)
        .otherwise("asa")
        .means(
            "`ar`: copied to the host, MPI_Allreduce there by a ring, copied back. `asa`: all-to-all, sum "
            "on the GPU, all-gather; what is staged in host memory follows from the cluster. `asa16`: the "
            "same in half precision, with conversions");
    f.quantity("staging_bandwidth", &TheanoMpiSpec::staging_bytes_per_s, Dimension::bandwidth, kRate)
        .assumed("3 GB/s", "default: copies between a GPU and pageable host memory")
        .means("`ar`: copies between a GPU and its host");
    f.quantity("host_copy_rate", &TheanoMpiSpec::host_copy_bytes_per_s, Dimension::bandwidth, kRate)
        .assumed("5 GB/s", "default: one core copying memory, servers of 2012 to 2015")
        .means("`ar`: one core copying memory; messages within a node are copied twice");
    f.quantity("host_reduction_rate", &TheanoMpiSpec::host_reduction_bytes_per_s, Dimension::bandwidth, kRate)
        .assumed("2 GB/s", "default: one core adding a vector of floats to another, by bytes of one")
        .means("`ar`: one core adding a vector to another, by bytes of one");
    return f;
  }();
  return format;
}

template <class Spec>
void add(ObjectFormat<Scenario>& format, const char* key, Algorithm algorithm, Spec ExchangeSpecs::*spec,
         const ObjectFormat<Spec>& of_spec, const std::string& of) {
  format.object(key, static_cast<Spec Scenario::*>(spec), of_spec)
      .needed_where(where_algorithm(algorithm))
      .means("[of " + of + "](#local_sgd-sharding-theano_mpi)");
}

}  // namespace

void add_exchanges(ObjectFormat<Scenario>& format) {
  add(format, "local_sgd", Algorithm::local_sgd, &ExchangeSpecs::local_sgd, local_sgd_format(), "this algorithm");
  add(format, "sharding", Algorithm::sharded, &ExchangeSpecs::sharding, sharding_format(), "the algorithm `sharded`");
  add(format, "theano_mpi", Algorithm::theano_mpi, &ExchangeSpecs::theano_mpi, theano_mpi_format(), "this algorithm");
}

std::map<std::string, std::string> exchange_tables() {
  return {{"local_sgd", local_sgd_format().table("local_sgd/")},
          {"sharding", sharding_format().table("sharding/")},
          {"theano_mpi", theano_mpi_format().table("theano_mpi/")}};
}

std::string exchange_text(const Scenario& s) {
  const CommunicationSpec& c = s.communication;
  const std::string wire = name_of(c.all_reduce) + " all-reduce, " + name_of(c.wire) + " wire";
  switch (s.algorithm) {
    case Algorithm::local_sgd:
      return "local SGD" +
             (s.local_sgd.group_gpus > 1 ? " of groups of " + std::to_string(s.local_sgd.group_gpus) + " GPUs" : "") +
             ", averaged every " + std::to_string(s.local_sgd.period) + " steps, " + wire;
    case Algorithm::sharded:
      return "sharded, units of " + format_bytes(static_cast<double>(s.sharding.unit_bytes)) +
             (s.sharding.gathers_again ? ", gathered twice" : ", gathered once") +
             (s.sharding.keeps_gradients ? ", gradients whole" : "") + ", " + name_of(c.all_reduce) + ", " +
             name_of(c.wire) + " wire";
    case Algorithm::theano_mpi: {
      std::string name = name_of(s.theano_mpi.exchange);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
      return "Theano-MPI, exchange " + name + ", after back-propagation";
    }
    case Algorithm::s_sgd:
    case Algorithm::parameter_server:
    case Algorithm::sma:
    case Algorithm::ea_sgd:
    case Algorithm::backup_workers:
    case Algorithm::async_sgd:
    case Algorithm::async_easgd:
      return "";
  }
  return "";
}

std::optional<ScenarioProblem> find_exchange_problem(int gpus, const Scenario& s) {
  const int group = s.local_sgd.group_gpus, of_node = s.cluster.gpus_per_node;
  if (s.algorithm != Algorithm::local_sgd || gpus <= group) return {};
  if (group % of_node != 0 && of_node % group != 0)
    return {{"/local_sgd/group_gpus",
             "groups of " + std::to_string(group) + " GPUs begin within nodes of " + std::to_string(of_node) + " GPUs",
             "allowed: a multiple or a divisor of /cluster/gpus_per_node"}};
  if (gpus % group == 0) return {};
  return {{"/local_sgd/group_gpus",
           "groups of " + std::to_string(group) + " GPUs do not divide " + std::to_string(gpus) + " GPUs",
           "allowed: a divisor of /gpus"}};
}

int iterations_of_round(const Scenario& scenario) {
  return scenario.algorithm == Algorithm::local_sgd ? scenario.local_sgd.period : 1;
}

}  // namespace lockstep::sim::scenario
