// Times training steps through the interfaces that `train` uses (engine/device, engine/sync). Depends only on Lockstep,
// so that it runs on a bare GPU machine.
//
//   build/bench_cuda --model resnet50 --batch 64,256 --precision bf16,tf32 --seconds 5
//   build/bench_cuda --model resnet32 --batch 16 --learners 1,2,4,8 --algorithm sma --precision fp32
//
// Prints one line of JSON per configuration: images/s over windows of at least a tenth of --seconds each (median, low,
// high and all), after a warm-up. The device is idle at both ends of a window. Every step reads its images from host
// memory, as in training. The images are noise: two alternating batches per learner, made in advance. If a
// configuration fails (memory), its line has "error" instead, and the exit status is 1.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/version.hpp"
#include "engine/device/backend.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/sma.hpp"
#ifdef LOCKSTEP_WITH_CUDA
#include "engine/cuda/cuda_backend.hpp"
#endif

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

constexpr double kLearningRate = 1e-3;
constexpr double kLossScale = 128;  // for half precision: keeps small gradients, without overflow for noise
constexpr int kWindows = 10;

struct Request {
  std::string device = "cuda";
  std::string model = "resnet50";
  std::vector<int> batches = {64};
  std::vector<std::string> precisions;  ///< empty: device::usual_precision()
  std::vector<int> learners = {1};
  std::string algorithm = "ssgd";
  int gpus = 1;
  double seconds = 5;
  bool is_self_checked = true;
  std::int64_t bucket_bytes = device::kGradientBucketBytes;  ///< of S-SGD's gradients
  std::string wire = "fp32";
};

struct Configuration {
  int batch;
  device::Precision precision;
  int learners_per_gpu;
};

/// Holds random images and labels of one batch.
struct NoiseBatch {
  NoiseBatch(const model::Graph& graph, int batch, std::uint64_t stream)
      : images(static_cast<std::size_t>(graph.input.elements() * batch)), labels(static_cast<std::size_t>(batch)) {
    const auto classes = static_cast<std::uint64_t>(graph.layers.back().in.elements());
    for (std::size_t i = 0; i < images.size(); ++i)
      images[i] = static_cast<float>(3.4 * random_uniform(1, stream, i) - 1.7);
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(random_bits(2, stream, i) % classes);
  }
  device::HostBatch view() const { return {images.data(), labels.data()}; }

  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

/// Runs learners with their replicas and an algorithm.
class Training {
 public:
  Training(device::Backend& backend, const model::Graph& graph, const Request& request, const Configuration& c) {
    const int all = request.gpus * c.learners_per_gpu;
    for (int j = 0; j < all; ++j) {
      device::ReplicaOptions options;
      options.batch = c.batch;
      options.device = j / c.learners_per_gpu;
      options.precision = c.precision;
      options.seed = static_cast<std::uint64_t>(j + 1);
      options.learners = all;
      options.is_self_checked = request.is_self_checked;
      if (request.algorithm == "ssgd") options.bucket_bytes = request.bucket_bytes;
      replicas_.push_back(backend.make_replica(graph, options));
      if (c.precision == device::Precision::fp16) replicas_.back()->set_loss_scale(kLossScale);
    }
    // Learners may share a batch: they do not see the others' images, and host memory is not measured.
    for (std::uint64_t k = 0; k < 2; ++k) batches_.emplace_back(graph, c.batch, k);
    const sync::Layout layout = device::layout_of(graph);
    const std::vector<float> initial = device::initial_parameters(graph, 1);
    if (request.algorithm == "sma") {
      sync::SmaOptions options;
      options.gpus = request.gpus;
      options.learners_per_gpu = c.learners_per_gpu;
      sma_ = std::make_unique<sync::Sma>(backend.ops(), layout, initial, options);
    } else {
      s_sgd_ = std::make_unique<sync::SSgd>(backend.ops(), layout, initial, all);
    }
  }

  void step() {
    const auto gradient = [this](int j, const float* parameters, std::int64_t iteration) {
      const NoiseBatch& batch = batches_[static_cast<std::size_t>((iteration + j) % 2)];
      return replicas_[static_cast<std::size_t>(j)]->gradient(parameters, batch.view(),
                                                              static_cast<std::uint64_t>(iteration));
    };
    if (sma_)
      sma_->step(kLearningRate, gradient);
    else
      s_sgd_->step(kLearningRate, gradient);
  }
  double loss() { return replicas_.front()->loss(); }
  std::vector<std::string> fallbacks() const { return replicas_.front()->fallbacks(); }
  std::string self_check_text() const { return replicas_.front()->self_check_text(); }
  std::int64_t memory_bytes() const {
    std::int64_t sum = 0;
    for (const auto& replica : replicas_) sum += replica->memory_bytes();
    return sum;
  }

 private:
  std::vector<std::unique_ptr<device::Replica>> replicas_;
  std::vector<NoiseBatch> batches_;
  std::unique_ptr<sync::Sma> sma_;
  std::unique_ptr<sync::SSgd> s_sgd_;
};

double seconds_of_steps(device::Backend& backend, Training& training, int steps) {
  const auto start = Clock::now();
  for (int k = 0; k < steps; ++k) training.step();
  backend.synchronise();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Finds the number of steps of a window. The steps that it runs also warm up.
int warm_up(device::Backend& backend, Training& training, double window_s, int& warm_up_steps) {
  warm_up_steps = 5;
  seconds_of_steps(backend, training, warm_up_steps);
  int steps = 1;
  for (;;) {
    const double seconds = seconds_of_steps(backend, training, steps);
    warm_up_steps += steps;
    if (seconds >= window_s) return steps;
    steps = std::max(steps + 1, static_cast<int>(std::min(4.0, 1.1 * window_s / seconds) * steps));
  }
}

Json measure(device::Backend& backend, const model::Graph& graph, const Request& request, const Configuration& c) {
  const auto start = Clock::now();
  Training training(backend, graph, request, c);
  backend.synchronise();
  const double setup_s = std::chrono::duration<double>(Clock::now() - start).count();
  int warm_up_steps = 0;
  const int steps = warm_up(backend, training, request.seconds / kWindows, warm_up_steps);
  const double images = static_cast<double>(c.batch) * c.learners_per_gpu * request.gpus * steps;
  std::vector<double> rates;
  for (int window = 0; window < kWindows; ++window)
    rates.push_back(images / seconds_of_steps(backend, training, steps));
  const double loss = training.loss();
  Json json = Json::object();
  json["images_per_s"] = {{"median", median(rates)},
                          {"low", *std::min_element(rates.begin(), rates.end())},
                          {"high", *std::max_element(rates.begin(), rates.end())},
                          {"samples", rates}};
  json["step_s"] = images / steps / median(rates);
  json["steps_per_window"] = steps;
  json["warm_up_steps"] = warm_up_steps;
  json["setup_s"] = setup_s;
  json["replica_memory_bytes"] = training.memory_bytes();
  json["slow_paths"] = training.fallbacks();
  json["self_check"] = training.self_check_text();
  json["loss"] = std::isfinite(loss) ? Json(loss) : Json("not finite");
  return json;
}

/// Prints the configuration's line. Returns false if the configuration failed.
bool report(device::Backend& backend, const model::Graph& graph, const Request& request, const Configuration& c) {
  Json json = Json::object();
  json["schema"] = "lockstep/bench/1";
  json["program"] = "lockstep " + version() + " " + git_revision();
  json["device"] = backend.description();
  json["model"] = graph.name;
  json["algorithm"] = request.algorithm;
  json["precision"] = device::to_string(c.precision);
  json["batch"] = c.batch;
  json["learners_per_gpu"] = c.learners_per_gpu;
  json["gpus"] = request.gpus;
  if (request.gpus > 1 && request.algorithm == "ssgd") {
    json["bucket_bytes"] = request.bucket_bytes;
    json["wire"] = request.wire;
  }
  bool done = true;
  try {
    json.update(measure(backend, graph, request, c));
  } catch (const std::runtime_error& error) {
    json["error"] = error.what();
    done = false;
  }
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
  return done;
}

std::unique_ptr<device::Backend> make_backend(const Request& request) {
  if (request.device == "host") return device::make_host_backend(request.gpus, 0);
#ifdef LOCKSTEP_WITH_CUDA
  return cuda::make_cuda_backend(request.gpus);
#else
  throw std::runtime_error("--device cuda: this build has no CUDA");
#endif
}

int run(Request request) {
  if (request.precisions.empty()) request.precisions = {device::to_string(device::usual_precision(request.device))};
  const bool has_several = *std::max_element(request.learners.begin(), request.learners.end()) > 1;
  if (request.algorithm == "ssgd" && has_several)
    throw InputError("--learners: ssgd takes 1 per GPU; allowed: --algorithm sma for more");
  const std::unique_ptr<device::Backend> backend = make_backend(request);
  backend->set_gradient_wire(device::precision_from(request.wire));
  const model::Graph graph = model::zoo_graph(request.model);
  bool done = true;
  for (const std::string& precision : request.precisions) {
    for (const int batch : request.batches) {
      for (const int learners : request.learners)
        done = report(*backend, graph, request, {batch, device::precision_from(precision), learners}) && done;
    }
  }
  return done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Images/s of training steps; a line of JSON per configuration"};
  Request request;
  app.add_option("--device", request.device, "cuda or host (cuda)")->check(CLI::IsMember({"cuda", "host"}));
  app.add_option("--model", request.model, "A network of the zoo (resnet50)");
  app.add_option("--batch", request.batches, "Images per learner (64)")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--precision", request.precisions, "fp32, tf32, fp16, bf16 (host: fp32; cuda: tf32)")->delimiter(',');
  app.add_option("--learners", request.learners, "Per GPU (1)")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--algorithm", request.algorithm, "ssgd or sma (ssgd)")->check(CLI::IsMember({"ssgd", "sma"}));
  app.add_option("--gpus", request.gpus, "(1)")->check(CLI::PositiveNumber);
  app.add_flag_callback(
      "--no-self-check", [&] { request.is_self_checked = false; }, "Library engines are used as they are");
  app.add_option("--bucket-bytes", request.bucket_bytes,
                 "ssgd: gradients are averaged so many bytes at a time while the pass goes on; 0: after it (26214400)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--wire", request.wire, "ssgd: precision of gradients between GPUs (fp32)")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  app.add_option("--seconds", request.seconds, "Of measuring, per configuration (5)")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(request);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
