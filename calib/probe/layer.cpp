#include <stdexcept>

#include "calib/probe/probes.hpp"
#include "calib/probe/training.hpp"

namespace lockstep::calib {
namespace {

constexpr int kLeastPasses = 31;

Json layer_key(const std::string& model, const std::string& precision, const std::string& layer,
               const std::string& pass, int batch) {
  return {{"model", model}, {"precision", precision}, {"layer", layer}, {"pass", pass}, {"batch", batch}};
}

// All passes of a series, as times of their parts.
struct Passes {
  std::vector<std::vector<device::LayerTime>> runs;
};

double run_pass(Training& training, Passes& passes) {
  passes.runs.push_back(training.time_layers());
  double seconds = 0;
  for (const device::LayerTime& part : passes.runs.back()) seconds += part.seconds;
  if (!(seconds > 0)) throw std::runtime_error("this backend does not time single layers");
  return seconds;
}

// A part may be shorter than the clock's resolution. Samples of 0 s are omitted, and so are parts with no others.
std::vector<Sample> samples_of(const Passes& passes, const Series& series, const model::Graph& graph,
                               const std::string& precision, int batch) {
  std::vector<Sample> samples;
  const std::vector<device::LayerTime>& first = passes.runs.at(series.runs.front());
  for (std::size_t part = 0; part < first.size(); ++part) {
    Sample sample;
    sample.probe = "layer";
    sample.key = layer_key(graph.name, precision, graph.layers[static_cast<std::size_t>(first[part].layer)].name,
                           to_string(first[part].part), batch);
    for (std::size_t run : series.runs)
      if (passes.runs.at(run)[part].seconds > 0) sample.seconds.push_back(passes.runs[run][part].seconds);
    if (!sample.seconds.empty()) samples.push_back(std::move(sample));
  }
  return samples;
}

// Treats one layer's parameters as a model.
struct LayerParameters {
  LayerParameters(sync::VectorOps& operations, const model::Layer& layer)
      : ops(operations), g(ops, layer.parameter_count()), v(ops, g.size()), w(ops, g.size()) {
    std::vector<sync::Segment> segments;
    std::int64_t begin = 0;
    for (const model::Parameter& parameter : layer.parameters) {
      segments.push_back({begin, parameter.elements, parameter.role == model::ParameterRole::weight});
      begin += parameter.elements;
    }
    layout = sync::make_layout(segments);
  }
  void update() { ops.momentum_update(layout, {1e-6, 0.9, 1e-6}, g.data(), v.data(), w.data()); }

  sync::VectorOps& ops;
  sync::Layout layout;
  sync::DeviceVector g, v, w;
};

}  // namespace

Probe pass_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch) {
  return {"pass", {{"model", model.name}, {"precision", precision}, {"batch", batch}}, [=, &backend] {
            TrainingOptions options{model, precision, 1, batch, false};
            auto training = std::make_shared<Training>(backend, options);
            auto passes = std::make_shared<Passes>();
            Prepared prepared;
            prepared.timed = {[training, passes] { return run_pass(*training, *passes); },
                              [&backend] { return backend.clock_ratio(); }, [&backend] { return backend.now_s(); },
                              kLeastPasses};
            prepared.parts = [=](const Series& series) {
              return samples_of(*passes, series, training->graph(), precision, batch);
            };
            return prepared;
          }};
}

std::vector<Probe> layer_update_probes(device::Backend& backend, const model::Graph& model,
                                       const std::string& precision, int batch) {
  std::vector<Probe> probes;
  for (const model::Layer& layer : model.layers) {
    if (layer.parameters.empty()) continue;
    probes.push_back({"layer", layer_key(model.name, precision, layer.name, "update", batch), [&backend, layer] {
                        auto parameters = std::make_shared<LayerParameters>(backend.ops(), layer);
                        return device_timed_work(backend, [parameters] { parameters->update(); });
                      }});
  }
  return probes;
}

}  // namespace lockstep::calib
