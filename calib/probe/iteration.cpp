#include "calib/probe/probes.hpp"
#include "engine/data/synthetic.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::calib {
namespace {

// Images that can be learnt, so that activations and gradients keep sizes as in training.
struct Images {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

Images synthetic_batch(const model::Graph& graph, int batch, int learner) {
  const data::ImageShape shape{graph.input.channels, graph.input.height, graph.input.width};
  const int classes = static_cast<int>(graph.layers.back().out.elements());
  const data::SyntheticImages source(shape, classes, batch, 1, std::int64_t{learner} * batch);
  Images images;
  images.images.resize(static_cast<std::size_t>(shape.elements() * batch));
  for (int i = 0; i < batch; ++i) {
    source.image(i, images.images.data() + i * shape.elements());
    images.labels.push_back(source.label(i));
  }
  return images;
}

struct Learner {
  std::unique_ptr<device::Replica> replica;
  sync::DeviceVector parameters, velocity;
  Images images;
};

// Every learner of every device, with parameters of its own.
class Training {
 public:
  Training(device::Backend& backend, const model::Graph& graph, const std::string& precision, int learners, int batch)
      : backend_(backend), layout_(device::layout_of(graph)) {
    const std::vector<float> initial = device::initial_parameters(graph, 1);
    for (int device = 0; device < backend.devices(); ++device)
      for (int l = 0; l < learners; ++l) {
        device::ReplicaOptions options;
        options.batch = batch;
        options.device = device;
        options.precision = device::precision_from(precision);
        options.learners = backend.devices() * learners;
        learners_.push_back({backend.make_replica(graph, options),
                             sync::DeviceVector(backend.ops(), layout_.count, device),
                             sync::DeviceVector(backend.ops(), layout_.count, device),
                             synthetic_batch(graph, batch, static_cast<int>(learners_.size()))});
        backend.ops().upload(layout_.count, initial.data(), learners_.back().parameters.data());
      }
  }

  // The rate is so low that parameters stay where they are reasonable, whatever the model.
  void iterate() {
    std::vector<const float*> gradients;
    for (Learner& learner : learners_)
      gradients.push_back(learner.replica->gradient(
          learner.parameters.data(), {learner.images.images.data(), learner.images.labels.data()}, step_));
    for (std::size_t l = 0; l < learners_.size(); ++l)
      backend_.ops().momentum_update(layout_, {1e-6, 0.9, 0}, gradients[l], learners_[l].velocity.data(),
                                     learners_[l].parameters.data());
    ++step_;
  }

 private:
  device::Backend& backend_;
  sync::Layout layout_;
  std::vector<Learner> learners_;
  std::uint64_t step_ = 0;
};

}  // namespace

Probe iteration_probe(device::Backend& backend, const std::string& model, const std::string& precision, int learners,
                      int batch) {
  const Json key{{"model", model},
                 {"precision", precision},
                 {"learners", learners},
                 {"devices", backend.devices()},
                 {"batch", batch}};
  return {"iteration", key, [=, &backend] {
            auto training = std::make_shared<Training>(backend, model::zoo_graph(model), precision, learners, batch);
            return Timed{timed_work(backend, [training] { training->iterate(); }), {}, {}};
          }};
}

}  // namespace lockstep::calib
