#include "sim/schedule/parameter_server.hpp"

#include <map>

namespace lockstep::sim::schedule {
namespace {

constexpr int kToHost = kOwnStreams, kToDevice = kToHost + 1, kServer = kToHost + 2, kSynchronised = kToHost + 3,
              kFirstExchange = kToHost + 4;

std::vector<std::string> stream_names(int exchange_streams) {
  std::vector<std::string> names{"input", "copy", "compute", "to host", "to device", "server", "synchronised"};
  for (const char* way : {"push ", "pull "})
    for (int i = 0; i < exchange_streams; ++i) names.push_back(way + std::to_string(i));
  return names;
}

// Compute work of neighbouring layers, extended until it must wait for other work or other work must wait for it.
struct Stretch {
  double seconds = 0;
  std::vector<Part> layers;

  Parts parts() const { return layers.empty() ? nullptr : std::make_shared<const std::vector<Part>>(layers); }
  void add(const std::string& name, double layer_s) {
    if (layer_s <= 0) return;
    seconds += layer_s;
    layers.push_back({name, layer_s});
  }
};

// An exchange in progress. `last` is the last work that it has enqueued so far.
struct Pending {
  std::size_t exchange;
  int last;
};

class Builder {
 public:
  Builder(const model::Graph& graph, const ModelCost& cost, const std::vector<LayerExchange>& exchanges,
          const ParameterServer& options)
      : graph_(graph),
        cost_(cost),
        exchanges_(exchanges),
        options_(options),
        gpu_(options.gpus, stream_names(options.streams)),
        of_layer_(graph.layers.size()) {
    for (std::size_t e = 0; e < exchanges.size(); ++e) {
      of_layer_[static_cast<std::size_t>(exchanges[e].layer)].push_back(e);
      push_.push_back(gpu_.add_plan(exchanges[e].push));
      pull_.push_back(gpu_.add_plan(exchanges[e].pull));
    }
  }

  Program build() {
    for (int iteration = 0; iteration < options_.iterations; ++iteration) {
      gpu_.begin_iteration();
      forward(input(iteration));
      backward();
      synchronise();
    }
    return gpu_.finish();
  }

 private:
  int input(int iteration) {
    std::vector<int> buffer_free;
    if (iteration >= options_.prefetch)
      buffer_free.push_back(used_[static_cast<std::size_t>(iteration - options_.prefetch)]);
    return enqueue_batch(gpu_, options_, "load", kInput, kCopy, buffer_free);
  }

  // A layer computes when its own parameters are there. By then, those of the layers below have been used.
  void forward(int copied) {
    std::vector<int> after{copied};
    Stretch segment;
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      if (const auto arrived = arrived_.find(static_cast<int>(i)); arrived != arrived_.end()) {
        if (segment.seconds > 0) gpu_.compute(kCompute, "forward", segment.seconds, after, segment.parts());
        if (segment.seconds > 0) after.clear();
        segment = {};
        after.insert(after.end(), arrived->second.begin(), arrived->second.end());
        const double update_s = update_share(static_cast<int>(i)) + decode_s(static_cast<int>(i));
        if (update_s > 0) {
          gpu_.compute(kCompute, "update", update_s, after);
          after.clear();
        }
      }
      segment.add(graph_.layers[i].name, cost_.layers[i].forward_s);
    }
    used_.push_back(gpu_.compute(kCompute, "forward", segment.seconds, after, segment.parts()));
    arrived_.clear();
  }

  void backward() {
    Stretch segment;
    int computed = -1;
    for (int i = static_cast<int>(graph_.layers.size()) - 1; i >= 0; --i) {
      segment.add(graph_.layers[static_cast<std::size_t>(i)].name,
                  cost_.layers[static_cast<std::size_t>(i)].backward_s);
      const std::vector<std::size_t>& mine = of_layer_[static_cast<std::size_t>(i)];
      if (mine.empty()) continue;
      for (std::size_t e : mine)
        if (exchanges_[e].encode_s > 0) segment.add("encode " + exchanges_[e].name, exchanges_[e].encode_s);
      computed = gpu_.compute(kCompute, "backward", segment.seconds, {}, segment.parts());
      segment = {};
      for (std::size_t e : mine) {
        if (options_.overlap) start(e, computed);
        if (!options_.overlap) pending_.push_back({e, computed});
      }
    }
    if (segment.seconds > 0) computed = gpu_.compute(kCompute, "backward", segment.seconds, {}, segment.parts());
    if (options_.overlap) return;
    std::vector<Pending> waiting;
    waiting.swap(pending_);
    for (Pending& exchange : waiting) exchange.last = to_host(exchange.exchange, computed);
    // Blocking copies finish before any message is sent.
    if (options_.staging_blocks)
      for (Pending& exchange : waiting) exchange.last = waiting.back().last;
    for (const Pending& exchange : waiting) send(exchange.exchange, exchange.last);
  }

  void start(std::size_t e, int computed) { send(e, to_host(e, computed)); }

  int to_host(std::size_t e, int after) {
    const double seconds = exchanges_[e].to_host_s;
    const int stream = options_.staging_blocks ? kCompute : kToHost;
    return seconds > 0 ? gpu_.host(stream, "to host " + exchanges_[e].name, seconds, {after}) : after;
  }

  void send(std::size_t e, int after) {
    const LayerExchange& exchange = exchanges_[e];
    const int push_stream = kFirstExchange + static_cast<int>(e) % options_.streams;
    int last = after;
    if (!exchange.push.phases.empty())
      last = gpu_.collective(push_stream, "push " + exchange.name, push_[e], options_.launch_s, {last});
    if (exchange.server_s > 0) last = gpu_.host(kServer, "serve " + exchange.name, exchange.server_s, {last});
    if (!exchange.pull.phases.empty())
      last = gpu_.collective(push_stream + options_.streams, "pull " + exchange.name, pull_[e], 0, {last});
    if (!options_.staging_blocks) last = to_device(e, last);
    pending_.push_back({e, last});
  }

  int to_device(std::size_t e, int after) {
    const double seconds = exchanges_[e].to_device_s;
    return seconds > 0 ? gpu_.host(kToDevice, "to device " + exchanges_[e].name, seconds, {after}) : after;
  }

  // Adds copies that block computation, after the backward pass. With wait-free back-propagation each follows its
  // exchange. Otherwise they start when all exchanges have ended.
  void copy_back() {
    std::vector<int> all;
    for (const Pending& exchange : pending_) all.push_back(exchange.last);
    for (Pending& exchange : pending_) {
      const LayerExchange& e = exchanges_[exchange.exchange];
      if (e.to_device_s <= 0) continue;
      const std::vector<int> after = options_.overlap ? std::vector<int>{exchange.last} : all;
      exchange.last = gpu_.host(kCompute, "to device " + e.name, e.to_device_s, after);
    }
  }

  // Ends an iteration: every layer's parameters have arrived on this GPU. Without a barrier, decoding and update follow
  // only before the layer's next forward pass.
  void synchronise() {
    if (options_.staging_blocks) copy_back();
    std::vector<int> all;
    for (Pending& exchange : pending_) {
      const LayerExchange& e = exchanges_[exchange.exchange];
      if (options_.barrier && e.decode_s > 0)
        exchange.last = gpu_.compute(kCompute, "decode " + e.name, e.decode_s, {exchange.last});
      all.push_back(exchange.last);
      if (!options_.barrier) arrived_[e.layer].push_back(exchange.last);
    }
    pending_.clear();
    if (options_.barrier)
      gpu_.end_iteration(gpu_.compute(kCompute, "update", cost_.update_s, all));
    else
      gpu_.end_iteration(gpu_.host(kSynchronised, "synchronised", 0, all));
  }

  double decode_s(int layer) const {
    double seconds = 0;
    for (std::size_t e : of_layer_[static_cast<std::size_t>(layer)]) seconds += exchanges_[e].decode_s;
    return seconds;
  }

  double update_share(int layer) const {
    const auto parameters = static_cast<double>(graph_.layers[static_cast<std::size_t>(layer)].parameter_count());
    return cost_.update_s * parameters / static_cast<double>(graph_.parameter_count());
  }

  const model::Graph& graph_;
  const ModelCost& cost_;
  const std::vector<LayerExchange>& exchanges_;
  const ParameterServer& options_;
  Enqueue gpu_;
  std::vector<std::vector<std::size_t>> of_layer_;  // indices of exchanges, by layer
  std::vector<int> push_, pull_;                    // indices of plans, by exchange
  std::vector<int> used_;                           // per iteration: the forward pass that frees the batch's buffer
  std::vector<Pending> pending_;
  std::map<int, std::vector<int>> arrived_;  // by layer: work for which its next forward pass waits
};

}  // namespace

Program parameter_server(const model::Graph& graph, const ModelCost& cost, const std::vector<LayerExchange>& exchanges,
                         const ParameterServer& options) {
  return Builder(graph, cost, exchanges, options).build();
}

}  // namespace lockstep::sim::schedule
