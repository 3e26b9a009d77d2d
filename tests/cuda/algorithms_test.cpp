// Runs the synchronisation algorithms on a noisy quadratic. A GPU's vector operations give the same run as the host's.
#include <map>

#include "engine/sync/ea_sgd.hpp"
#include "engine/sync/moving_average.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/sharded.hpp"
#include "engine/sync/sma.hpp"
#include "engine/sync/stale_gradients.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::int64_t kParameters = 1003;
constexpr int kSteps = 60;

sync::Layout small_layout() {
  return sync::make_layout({{0, 700, true}, {700, 3, false}, {703, 300, true}});
}

/// The gradients of one Quadratic, computed on the host, for learners whose parameters are on any device.
class Gradients {
 public:
  Gradients(sync::VectorOps& ops, std::function<int(int)> device_of_learner)
      : ops_(ops), device_of_learner_(std::move(device_of_learner)), quadratic_(kParameters, 1, 1, 0.5) {}

  sync::GradientFunction function() {
    return [this](int learner, const float* w, std::int64_t step) {
      Floats host(kParameters);
      ops_.download(kParameters, w, host.data());
      const float* g = quadratic_.gradient()(learner, host.data(), step);
      if (buffers_.count(learner) == 0)
        buffers_.emplace(learner, sync::DeviceVector(ops_, kParameters, device_of_learner_(learner)));
      ops_.upload(kParameters, g, buffers_.at(learner).data());
      return static_cast<const float*>(buffers_.at(learner).data());
    };
  }

 private:
  sync::VectorOps& ops_;
  std::function<int(int)> device_of_learner_;
  sync::Quadratic quadratic_;
  std::map<int, sync::DeviceVector> buffers_;
};

using Run = std::function<std::vector<Floats>(sync::VectorOps&)>;

std::vector<Floats> run_sma(sync::VectorOps& ops, const sync::SmaOptions& options) {
  Gradients gradients(ops, [&](int j) { return j / options.learners_per_gpu; });
  sync::Sma sma(ops, small_layout(), random_floats(kParameters, 5), options);
  for (int t = 0; t < kSteps; ++t) sma.step(t < kSteps / 2 ? 0.1 : 0.01, gradients.function());
  std::vector<Floats> models = {sma.average().to_host(), sma.corrections().to_host()};
  for (int j = 0; j < sma.learners(); ++j) models.push_back(sma.replica(j).to_host());
  return models;
}

std::vector<Floats> run_ea_sgd(sync::VectorOps& ops, int workers, bool is_asynchronous) {
  Gradients gradients(ops, [](int j) { return j; });
  sync::EaSgdOptions options;
  options.workers = workers;
  options.weight_decay = 1e-3;
  options.tau = 2;
  sync::EaSgd ea_sgd(ops, small_layout(), random_floats(kParameters, 5), options);
  for (int t = 0; t < kSteps; ++t) {
    if (is_asynchronous)
      ea_sgd.async_step(t * 7 % workers, 0.1, gradients.function());
    else
      ea_sgd.step(0.1, gradients.function());
  }
  std::vector<Floats> models = {ea_sgd.center().to_host()};
  for (int j = 0; j < workers; ++j) models.push_back(ea_sgd.worker(j).to_host());
  return models;
}

std::vector<Floats> run_s_sgd(sync::VectorOps& ops, int replicas, const sync::UpdateOptions& options) {
  Gradients gradients(ops, [](int j) { return j; });
  sync::SSgd s_sgd(ops, small_layout(), random_floats(kParameters, 5), replicas, options);
  sync::MovingAverage average(ops, s_sgd.parameters(0), 0.9);
  for (int t = 0; t < kSteps; ++t) {
    s_sgd.step(0.05, gradients.function());
    average.add(s_sgd.parameters(0));
  }
  std::vector<Floats> models = {average.value().to_host()};
  for (int j = 0; j < replicas; ++j) models.push_back(s_sgd.parameters(j).to_host());
  return models;
}

std::vector<Floats> run_sharded(sync::VectorOps& ops, int replicas, const sync::UpdateOptions& options) {
  Gradients gradients(ops, [](int j) { return j; });
  sync::Sharded sharded(ops, small_layout(), random_floats(kParameters, 5), replicas, 0, options);
  for (int t = 0; t < kSteps; ++t) sharded.step(0.05, gradients.function());
  std::vector<Floats> models;
  for (int j = 0; j < replicas; ++j) models.push_back(sharded.parameters(j).to_host());
  return models;
}

std::vector<Floats> run_stale(sync::VectorOps& ops, int replicas) {
  Gradients gradients(ops, [](int j) { return j; });
  sync::StalenessOptions staleness;
  staleness.staleness = 3;
  staleness.replicas = replicas;
  sync::StaleGradients stale(ops, small_layout(), random_floats(kParameters, 5), staleness);
  for (int t = 0; t < kSteps; ++t) stale.step(0.02, gradients.function());
  std::vector<Floats> models;
  for (int j = 0; j < replicas; ++j) models.push_back(stale.parameters(j).to_host());
  return models;
}

/// Compares the host's run with one on device 0, and with one on two devices of GPU 0. The latter shows that arrays of
/// several devices are brought together, and that the devices wait for each other.
void check_run(const Run& run, double tolerance) {
  sync::HostVectorOps host;
  const std::vector<Floats> expected = run(host);
  CudaVectorOps one_device({0});
  check_same(run(one_device), expected, tolerance);
  CudaVectorOps two_devices({0, 0});
  check_same(run(two_devices), expected, tolerance);
}

sync::SmaOptions sma_options(int gpus, int learners_per_gpu, sync::Averaging averaging) {
  sync::SmaOptions options;
  options.gpus = gpus;
  options.learners_per_gpu = learners_per_gpu;
  options.averaging = averaging;
  options.weight_decay = 1e-3;
  return options;
}

}  // namespace

TEST_CASE("SMA on a GPU is the host's run") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const int learners : {1, 2, 5}) {
    INFO(learners << " learners");
    const sync::SmaOptions options = sma_options(1, learners, sync::Averaging::kOneAverage);
    check_run([&](sync::VectorOps& ops) { return run_sma(ops, options); }, kSameBits);
  }
}

TEST_CASE("SMA on two devices of a GPU is the host's run, with one average model and with references") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const auto averaging : {sync::Averaging::kOneAverage, sync::Averaging::kReferencePerGpu}) {
    const sync::SmaOptions options = sma_options(2, 3, averaging);
    check_run([&](sync::VectorOps& ops) { return run_sma(ops, options); }, kSameBits);
  }
}

TEST_CASE("EA-SGD on a GPU is the host's run, synchronous and asynchronous") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const bool is_asynchronous : {false, true}) {
    check_run([&](sync::VectorOps& ops) { return run_ea_sgd(ops, 4, is_asynchronous); }, kSameBits);
  }
}

TEST_CASE("S-SGD on a GPU is the host's run, with momentum and with LARS") {
  LOCKSTEP_NEEDS_GPUS(1);
  sync::UpdateOptions momentum;
  momentum.weight_decay = 1e-3;
  check_run([&](sync::VectorOps& ops) { return run_s_sgd(ops, 3, momentum); }, kSameBits);
  sync::UpdateOptions lars = momentum;
  lars.lars = sync::LarsOptions{0.01, 0};
  check_run([&](sync::VectorOps& ops) { return run_s_sgd(ops, 3, lars); }, 1e-5);
}

TEST_CASE("S-SGD by Adam, whole and sharded, on a GPU is the host's run") {
  LOCKSTEP_NEEDS_GPUS(1);
  sync::UpdateOptions adam;
  adam.rule = sync::UpdateRule::adamw;
  adam.weight_decay = 1e-3;
  check_run([&](sync::VectorOps& ops) { return run_s_sgd(ops, 3, adam); }, kSameBits);
  check_run([&](sync::VectorOps& ops) { return run_sharded(ops, 3, adam); }, kSameBits);
}

TEST_CASE("Stale gradients on a GPU are the host's run") {
  LOCKSTEP_NEEDS_GPUS(1);
  for (const int replicas : {1, 3}) {
    check_run([&](sync::VectorOps& ops) { return run_stale(ops, replicas); }, kSameBits);
  }
}

// NCCL sums in another order: one rounding per step, which the quadratic's contraction keeps small.
TEST_CASE("SMA, EA-SGD, S-SGD and stale gradients on two GPUs are the host's runs to rounding") {
  LOCKSTEP_NEEDS_GPUS(2);
  sync::HostVectorOps host;
  CudaVectorOps gpus({0, 1});
  for (const auto averaging : {sync::Averaging::kOneAverage, sync::Averaging::kReferencePerGpu}) {
    const sync::SmaOptions options = sma_options(2, 3, averaging);
    check_same(run_sma(gpus, options), run_sma(host, options), 1e-5);
  }
  check_same(run_ea_sgd(gpus, 4, true), run_ea_sgd(host, 4, true), 1e-5);
  check_same(run_s_sgd(gpus, 4, {}), run_s_sgd(host, 4, {}), 1e-5);
  check_same(run_stale(gpus, 4), run_stale(host, 4), 1e-5);
}

}  // namespace lockstep::cuda
