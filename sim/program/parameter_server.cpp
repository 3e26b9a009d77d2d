#include "sim/program/parameter_server.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/collective/adam.hpp"
#include "sim/collective/one_bit.hpp"
#include "sim/collective/sufficient_factors.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim::program {
namespace {

std::int64_t inputs_of(const model::Layer& layer) {
  return layer.in.elements();
}

std::int64_t batch_of_node(const Roles& roles, int batch_per_gpu) {
  return std::int64_t{batch_per_gpu} * roles.workers_of_node(0);
}

}  // namespace

SchemeCost scheme_cost_of(const model::Layer& layer, const Roles& roles, int batch_per_gpu) {
  return scheme_cost(inputs_of(layer), layer.out.elements(), batch_of_node(roles, batch_per_gpu), roles.nodes(),
                     static_cast<int>(roles.servers.size()));
}

LayerScheme scheme_of(const Scenario& scenario, const model::Layer& layer, const Roles& roles, int batch_per_gpu) {
  const bool is_fc = layer.kind == model::LayerKind::fc;
  switch (scenario.parameter_server->scheme) {
    case ServerScheme::one_bit:
      return is_fc || layer.kind == model::LayerKind::conv || layer.kind == model::LayerKind::linear
                 ? LayerScheme::one_bit
                 : LayerScheme::server;
    case ServerScheme::adam:
      return is_fc ? LayerScheme::adam : LayerScheme::server;
    case ServerScheme::factors:
      return is_fc ? LayerScheme::factors : LayerScheme::server;
    case ServerScheme::best:
      return is_fc && scheme_cost_of(layer, roles, batch_per_gpu).takes_factors() ? LayerScheme::factors
                                                                                  : LayerScheme::server;
    case ServerScheme::server:
      break;
  }
  return LayerScheme::server;
}

namespace {

// Times of GPU work in addition to the layers' work. They follow the roofline, scaled to the scenario's rates like the
// layers.
class GpuWork {
 public:
  GpuWork(const Scenario& scenario, int batch_per_gpu)
      : device_(describe_device(scenario)),
        scale_(model_cost(scenario, batch_per_gpu).iteration_s() /
               roofline_cost(scenario, batch_per_gpu).iteration_s()) {}

  /// Returns the seconds to multiply the factors of `samples` samples. This takes 2 I O FLOP per sample, as the forward
  /// pass of such a layer.
  double multiply_out_s(const model::Layer& layer, std::int64_t samples) const {
    if (samples == 0) return 0;
    model::GraphBuilder builder("factors", "factors", {static_cast<int>(inputs_of(layer)), 1, 1});
    builder.fc("matrix", 0, static_cast<int>(layer.out.elements()), false);
    const model::Graph graph = builder.finish();
    return scale_ *
           sim::roofline_cost(graph, device_, Optimizer::sgd, static_cast<int>(samples)).layers.back().forward_s;
  }
  double memory_s(double bytes) const {
    return scale_ * (device_.launch_s + bytes / (device_.memory_bandwidth_bytes_per_s * device_.memory_efficiency));
  }

 private:
  DeviceCost device_;
  double scale_;
};

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

class ExchangeBuilder {
 public:
  ExchangeBuilder(const Scenario& scenario, const Roles& roles, int batch_per_gpu)
      : scenario_(scenario),
        spec_(*scenario.parameter_server),
        roles_(roles),
        batch_(batch_per_gpu),
        wire_bytes_(bytes_of(scenario.communication.wire)),
        gpu_(scenario, batch_per_gpu),
        dealer_(static_cast<int>(roles.servers.size())) {}

  std::vector<LayerExchange> build() {
    check_pairs();
    for (int i = static_cast<int>(scenario_.model.layers.size()) - 1; i >= 0; --i) {
      const model::Layer& layer = scenario_.model.layers[static_cast<std::size_t>(i)];
      if (layer.parameters.empty()) continue;
      switch (scheme_of(scenario_, layer, roles_, batch_)) {
        case LayerScheme::server:
          add_shards(i, layer);
          break;
        case LayerScheme::factors:
          add_factors(i, layer);
          break;
        case LayerScheme::adam:
          add_adam(i, layer);
          break;
        case LayerScheme::one_bit:
          add_one_bit(i, layer);
          break;
      }
    }
    return std::move(exchanges_);
  }

 private:
  // Counts the pairs that add_shards() would deal. 1e6 need about 10 GB and 18 s, on 512 GPUs as on 4,096.
  void check_pairs() const {
    constexpr double kMostPairs = 1e6;
    if (spec_.shards_tensors) return;
    double pairs = 0;
    for (const model::Layer& layer : scenario_.model.layers)
      if (!layer.parameters.empty() && scheme_of(scenario_, layer, roles_, batch_) == LayerScheme::server)
        pairs += std::ceil(static_cast<double>(layer.parameter_count()) * wire_bytes_ /
                           static_cast<double>(spec_.pair_bytes));
    if (pairs > kMostPairs)
      throw InputError("/parameter_server/pair_size: gradients are cut into " + short_number(pairs * 1e-6) +
                       " million pairs; allowed: 1 million, with larger pairs or fewer parameters");
  }

  // Every node sends to every server. 1e7 transfers need about 3 GB and 15 s.
  static void check_transfers(double transfers) {
    constexpr double kMostTransfers = 1e7;
    if (transfers > kMostTransfers)
      throw InputError("/parameter_server: nodes and servers exchange " + short_number(std::round(transfers * 1e-6)) +
                       " million messages for each layer; allowed: 10 million, as of 3,162 nodes with a server "
                       "each");
  }

  LayerExchange& add(int layer, const std::string& name) {
    exchanges_.emplace_back();
    exchanges_.back().layer = layer;
    exchanges_.back().name = name;
    return exchanges_.back();
  }

  double staging_s(std::int64_t bytes) const {
    return spec_.staging_bytes_per_s > 0 ? static_cast<double>(bytes) / spec_.staging_bytes_per_s : 0;
  }

  // Returns the seconds in which the server with the largest share applies the gradients of all leaders, at its rate.
  double apply_s(const std::vector<std::int64_t>& by_server) const {
    if (spec_.apply_bytes_per_s <= 0) return 0;
    const std::int64_t share = *std::max_element(by_server.begin(), by_server.end());
    return static_cast<double>(share) * roles_.nodes() / spec_.apply_bytes_per_s;
  }

  void add_by_server(int i, const std::string& name, const std::vector<std::int64_t>& by_server) {
    LayerExchange& exchange = add(i, name);
    const std::int64_t bytes = sum(by_server);
    exchange.to_host_s = staging_s(bytes);
    exchange.push = push_gradients(roles_, by_server);
    exchange.server_s = apply_s(by_server);
    exchange.pull = pull_parameters(roles_, by_server);
    exchange.to_device_s = staging_s(bytes);
  }

  // Adds whole tensors, or rounds of pairs_per_message pairs to each server. All of these are exchanged separately.
  void add_shards(int i, const model::Layer& layer) {
    if (spec_.shards_tensors) {
      for (auto p = layer.parameters.rbegin(); p != layer.parameters.rend(); ++p)
        add_by_server(i, p->name, dealer_.deal_tensor(p->elements * wire_bytes_));
      return;
    }
    const std::int64_t bytes = layer.parameter_count() * wire_bytes_;
    const std::int64_t piece =
        spec_.pair_bytes * spec_.pairs_per_message * static_cast<std::int64_t>(roles_.servers.size());
    const bool is_cut = bytes > piece;
    int number = 0;
    for (std::int64_t left = bytes; left > 0; left -= piece, ++number)
      add_by_server(i, layer.name + (is_cut ? "." + std::to_string(number) : ""),
                    dealer_.deal_pairs(std::min(left, piece), spec_.pair_bytes));
  }

  void add_factors(int i, const model::Layer& layer) {
    const std::int64_t bytes = factor_bytes(batch_, inputs_of(layer), layer.out.elements(), wire_bytes_);
    const int others = roles_.workers - 1;
    LayerExchange& exchange = add(i, layer.name);
    if (others == 0) return;
    exchange.to_host_s = staging_s(bytes);
    exchange.push = broadcast_factors(roles_, bytes);
    exchange.to_device_s = staging_s(bytes * others);
    exchange.decode_s = gpu_.multiply_out_s(layer, static_cast<std::int64_t>(batch_) * others);
  }

  // The owner multiplies the factors on its GPU. The other GPUs wait for it.
  void add_adam(int i, const model::Layer& layer) {
    const std::int64_t bytes = factor_bytes(batch_, inputs_of(layer), layer.out.elements(), wire_bytes_);
    const std::vector<std::int64_t> matrix = dealer_.deal_tensor(layer.parameter_count() * wire_bytes_);
    const int owner = static_cast<int>(std::max_element(matrix.begin(), matrix.end()) - matrix.begin());
    LayerExchange& exchange = add(i, layer.name);
    exchange.to_host_s = staging_s(bytes);
    exchange.push = push_factors(roles_, bytes, owner);
    exchange.server_s = gpu_.multiply_out_s(layer, static_cast<std::int64_t>(batch_) * roles_.workers);
    exchange.pull = pull_parameters(roles_, matrix);
    exchange.to_device_s = staging_s(sum(matrix));
  }

  // If the scenario gives a rate, it is the rate of adding decoded gradients in single precision.
  double serve_quantised_s(std::int64_t share) const {
    const std::int64_t pushes = roles_.nodes();
    if (spec_.apply_bytes_per_s <= 0)
      return gpu_.memory_s(serve_quantised_memory_bytes(share, static_cast<int>(pushes)));
    return static_cast<double>(4 * share * pushes) / spec_.apply_bytes_per_s +
           gpu_.memory_s(quantise_memory_bytes(share));
  }

  // Every server owns an equal share of the matrix's columns. Biases are sent in full precision. A single worker
  // exchanges and quantises nothing.
  void add_one_bit(int i, const model::Layer& layer) {
    std::int64_t weights = 0, others = 0;
    for (const model::Parameter& p : layer.parameters)
      (p.role == model::ParameterRole::weight ? weights : others) += p.elements;
    const std::int64_t columns = layer.out.channels;
    const auto servers = static_cast<std::int64_t>(roles_.servers.size());
    const std::int64_t bytes = one_bit_bytes(weights, columns) + others * wire_bytes_;
    const std::vector<std::int64_t> by_server(roles_.servers.size(), chunk_bytes(bytes, servers));
    LayerExchange& exchange = add(i, layer.name);
    if (roles_.workers == 1) return;
    check_transfers(double(roles_.nodes()) * static_cast<double>(servers));
    exchange.encode_s = gpu_.memory_s(quantise_memory_bytes(weights));
    exchange.to_host_s = staging_s(bytes);
    exchange.push = push_gradients(roles_, by_server);
    exchange.server_s = serve_quantised_s(chunk_bytes(weights, servers));
    exchange.pull = pull_parameters(roles_, by_server);
    exchange.to_device_s = staging_s(bytes);
    exchange.decode_s = gpu_.memory_s(dequantise_memory_bytes(weights));
  }

  const Scenario& scenario_;
  const ParameterServerSpec& spec_;
  const Roles& roles_;
  const int batch_;
  const int wire_bytes_;
  const GpuWork gpu_;
  ShardDealer dealer_;
  std::vector<LayerExchange> exchanges_;
};

// Pairs load all servers equally, so two pushes and two pulls keep the links busy in both directions. More streams
// would only prolong the simulation. Tensors load servers unequally, so each must be able to go to a free server.
int streams_of(const ParameterServerSpec& spec, int exchanges) {
  constexpr int kStreamsOfPairs = 2;
  const int asked = spec.streams > 0 ? spec.streams : spec.shards_tensors ? exchanges : kStreamsOfPairs;
  return std::max(1, std::min(asked, exchanges));
}

}  // namespace

Roles roles_of(const Scenario& scenario, int workers) {
  const ParameterServerSpec& spec = *scenario.parameter_server;
  const int of_node = scenario.cluster.gpus_per_node;
  return spec.separate ? separate_servers(workers, of_node, spec.servers)
                       : co_located_servers(workers, of_node, spec.servers);
}

int occupied_gpus(const Scenario& scenario, int workers) {
  return scenario.algorithm == Algorithm::parameter_server ? roles_of(scenario, workers).ranks : workers;
}

std::vector<LayerExchange> layer_exchanges(const Scenario& scenario, const Roles& roles, int batch_per_gpu) {
  return ExchangeBuilder(scenario, roles, batch_per_gpu).build();
}

Program parameter_server_program(const Scenario& scenario, int workers, int batch_per_gpu, int iterations) {
  const Roles roles = roles_of(scenario, workers);
  const SSgd common = s_sgd_options(scenario, workers, batch_per_gpu, iterations);
  const ParameterServerSpec& spec = *scenario.parameter_server;
  const std::vector<LayerExchange> exchanges = layer_exchanges(scenario, roles, batch_per_gpu);
  ParameterServer options;
  options.gpus = roles.ranks;
  options.iterations = iterations;
  static_cast<Loading&>(options) = common;
  options.overlap = common.overlap;
  options.launch_s = common.launch_s;
  options.streams = streams_of(spec, static_cast<int>(exchanges.size()));
  options.barrier = spec.barrier;
  options.staging_blocks = !spec.staging_overlaps;
  Program program = parameter_server(scenario.model, model_cost(scenario, batch_per_gpu), exchanges, options);
  program.fed_gpus = workers;
  return program;
}

}  // namespace lockstep::sim::program
