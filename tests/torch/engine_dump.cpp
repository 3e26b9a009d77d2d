// Prints results of the engine, which engine_test.py compares with PyTorch.
//
//   engine_dump graph MODEL                       the zoo's network as lockstep/model/1, on stdout
//   engine_dump gradients MODEL.json BATCH OUT    one training pass in double from a fixed seed
//   engine_dump trajectory ALGORITHM MODEL.json BATCH STEPS OUT
//                                                 an algorithm of engine/sync in float on gradients in double; S-SGD
//                                                 by a rule of updates is ALGORITHM "adam", say
//
// The OUT of a trajectory is JSON; that of gradients is a line of JSON and then doubles. Layouts are those of
// engine/host/network.hpp.
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/host/network.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/sync/backup_workers.hpp"
#include "engine/sync/ea_sgd.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/sma.hpp"
#include "engine/sync/stale_gradients.hpp"
#include "tests/host/helpers.hpp"

namespace {

using namespace lockstep;

constexpr int kLearners = 3;
constexpr double kLearningRate = 0.05, kMomentum = 0.9, kWeightDecay = 1e-3;

template <typename Values>
Json list_of(const Values& values) {
  Json list = Json::array();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) list.push_back(values[i]);
  return list;
}

model::Graph graph_in(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  return model::graph_from_json(document.root());
}

// Initial values of biases, gamma and beta would hide where they are used.
void spread_parameters(Eigen::Ref<host::Vector<double>> parameters) {
  const std::vector<double> noise = host::random_values<double>(parameters.size(), 5);
  for (Eigen::Index i = 0; i < parameters.size(); ++i) parameters[i] += 0.05 * noise[static_cast<std::size_t>(i)];
}

// A line of JSON with the number of elements of each array, then the arrays' bytes: millions of doubles.
std::string gradients(const std::string& model, int batch) {
  host::Subject<double> subject(graph_in(model), batch);
  spread_parameters(subject.network.parameters());
  const double loss = subject.loss_and_gradients();
  const auto parameters = subject.network.parameters(), gradients = subject.network.gradients();
  const Json head{{"images", subject.images.size()},
                  {"parameters", parameters.size()},
                  {"gradients", gradients.size()},
                  {"labels", subject.labels},
                  {"loss", loss}};
  std::string text = head.dump() + "\n";
  const auto append = [&](const double* values, std::size_t count) {
    text.append(reinterpret_cast<const char*>(values), count * sizeof(double));
  };
  append(subject.images.data(), subject.images.size());
  append(parameters.data(), static_cast<std::size_t>(parameters.size()));
  append(gradients.data(), static_cast<std::size_t>(gradients.size()));
  return text;
}

// Every learner has its own batch of every step; gradients are taken in double at the algorithm's float parameters.
class Learners {
 public:
  Learners(const model::Graph& graph, int batch) : graph_(graph), batch_(batch), network_(graph, batch) {
    network_.initialise(7);
    spread_parameters(network_.parameters());
    for (Eigen::Index i = 0; i < network_.parameters().size(); ++i)
      initial_.push_back(static_cast<float>(network_.parameters()[i]));
  }

  std::int64_t count() { return network_.parameters().size(); }
  const std::vector<float>& initial() const { return initial_; }

  sync::GradientFunction gradient() {
    return [this](int learner, const float* parameters, std::int64_t step) {
      const std::uint64_t stream = 100 + static_cast<std::uint64_t>(step) * 16 + static_cast<std::uint64_t>(learner);
      const std::vector<double> images = host::random_values<double>(graph_.input.elements() * batch_, stream);
      std::vector<int> labels;
      for (int i = 0; i < batch_; ++i)
        labels.push_back(static_cast<int>(random_bits(97, stream, static_cast<std::uint64_t>(i)) %
                                          static_cast<std::uint64_t>(graph_.layers.back().out.elements())));
      for (std::int64_t i = 0; i < count(); ++i) network_.parameters()[i] = static_cast<double>(parameters[i]);
      network_.loss_and_gradients(images.data(), labels.data());
      std::vector<float>& of_learner = gradient_of_[learner];
      of_learner.resize(static_cast<std::size_t>(count()));
      for (std::int64_t i = 0; i < count(); ++i)
        of_learner[static_cast<std::size_t>(i)] = static_cast<float>(network_.gradients()[i]);
      batches_[std::to_string(step) + " " + std::to_string(learner)] = {{"images", list_of(images)},
                                                                        {"labels", labels}};
      return static_cast<const float*>(of_learner.data());
    };
  }

  const Json& batches() const { return batches_; }

 private:
  model::Graph graph_;
  int batch_;
  host::Network<double> network_;
  std::vector<float> initial_;
  std::map<int, std::vector<float>> gradient_of_;
  Json batches_ = Json::object();
};

sync::UpdateOptions update_options(sync::UpdateRule rule = sync::UpdateRule::momentum) {
  sync::UpdateOptions options;
  options.rule = rule;
  options.momentum = kMomentum;
  options.weight_decay = kWeightDecay;
  return options;
}

// Returns the trained parameters after the steps. `extra` has values that PyTorch cannot draw itself.
std::vector<float> run(const std::string& algorithm, Learners& learners, int steps, Json& extra) {
  sync::HostVectorOps ops;
  const sync::Layout layout = sync::plain_layout(learners.count());
  const sync::GradientFunction gradient = learners.gradient();
  const std::vector<float>& initial = learners.initial();
  const std::optional<sync::UpdateRule> rule = find_choice<sync::UpdateRule>(algorithm);
  if (algorithm == "s-sgd" || rule) {
    sync::SSgd s(ops, layout, initial, kLearners, update_options(rule.value_or(sync::UpdateRule::momentum)));
    for (int t = 0; t < steps; ++t) s.step(kLearningRate, gradient);
    return s.parameters(0).to_host();
  }
  if (algorithm == "sma") {
    sync::SmaOptions options;
    options.learners_per_gpu = kLearners;
    options.momentum = kMomentum;
    options.weight_decay = kWeightDecay;
    options.tau = 2;
    sync::Sma s(ops, layout, initial, options);
    for (int t = 0; t < steps; ++t) s.step(kLearningRate, gradient);
    return s.average().to_host();
  }
  if (algorithm == "ea-sgd") {
    sync::EaSgdOptions options;
    options.workers = kLearners;
    options.weight_decay = kWeightDecay;
    options.tau = 2;
    sync::EaSgd s(ops, layout, initial, options);
    for (int t = 0; t < steps; ++t) s.step(kLearningRate, gradient);
    return s.center().to_host();
  }
  if (algorithm == "backup-workers") {
    sync::BackupOptions options;
    options.workers = 2;
    options.backups = 1;
    options.delay.shape = 0.5;
    sync::BackupWorkers s(ops, layout, initial, options, update_options());
    for (int t = 0; t < steps; ++t) extra["used"].push_back(s.step(kLearningRate, gradient).used);
    return s.parameters().to_host();
  }
  if (algorithm == "async-sgd") {
    sync::StalenessOptions options;
    options.staleness = 3;
    options.replicas = 2;
    sync::StaleGradients s(ops, layout, initial, options, update_options());
    for (int t = 0; t < steps; ++t) s.step(kLearningRate, gradient);
    return s.parameters().to_host();
  }
  throw std::invalid_argument("no algorithm " + algorithm);
}

Json trajectory(const std::string& algorithm, const std::string& model, int batch, int steps) {
  Learners learners(graph_in(model), batch);
  Json result{{"learners", kLearners},
              {"learning_rate", kLearningRate},
              {"momentum", kMomentum},
              {"weight_decay", kWeightDecay},
              {"initial", list_of(learners.initial())}};
  Json extra = Json::object();
  result["trained"] = list_of(run(algorithm, learners, steps, extra));
  result["batches"] = learners.batches();
  result.update(extra);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "graph") {
      std::printf("%s\n", model::to_json(model::zoo_graph(words[1])).dump().c_str());
    } else if (words.size() == 4 && words[0] == "gradients") {
      write_file_atomically(words[3], gradients(words[1], std::stoi(words[2])));
    } else if (words.size() == 6 && words[0] == "trajectory") {
      write_file_atomically(words[5], trajectory(words[1], words[2], std::stoi(words[3]), std::stoi(words[4])).dump());
    } else {
      std::fprintf(stderr,
                   "usage: engine_dump graph MODEL | gradients MODEL.json BATCH OUT | "
                   "trajectory ALGORITHM MODEL.json BATCH STEPS OUT\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "engine_dump: %s\n", error.what());
    return 1;
  }
  return 0;
}
