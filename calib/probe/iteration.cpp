#include <algorithm>

#include "calib/probe/probes.hpp"
#include "calib/probe/sizes.hpp"
#include "calib/probe/training.hpp"

namespace lockstep::calib {
namespace {

// A sample with an input pipeline has several iterations. Otherwise the pipeline would get ahead between samples.
constexpr double kShortestWithInput_s = 0.03;

Window window_of(device::Backend& backend, bool has_input) {
  Window window = iteration_window(backend);
  if (has_input) window.shortest_s = std::max(window.shortest_s, kShortestWithInput_s);
  return window;
}

}  // namespace

Probe iteration_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                      int batch, bool has_input) {
  Json key{
      {"model", model.name}, {"precision", precision}, {"learners", learners}, {"devices", count_devices(backend)}};
  if (has_input) key["input"] = "synthetic";
  key["batch"] = batch;
  return {"iteration", key, [=, &backend] {
            auto training =
                std::make_shared<Training>(backend, TrainingOptions{model, precision, learners, batch, has_input});
            return timed_work(
                backend, [training] { training->iterate(); }, window_of(backend, has_input));
          }};
}

Probe input_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                  int batch) {
  const Json key{{"source", "synthetic"},
                 {"model", model.name},
                 {"learners", learners},
                 {"devices", count_devices(backend)},
                 {"batch", batch}};
  return {
      "input", key, [=, &backend] {
        auto training = std::make_shared<Training>(backend, TrainingOptions{model, precision, learners, batch, false});
        return timed_work(backend, [training] { training->prepare_batches(); });
      }};
}

}  // namespace lockstep::calib
