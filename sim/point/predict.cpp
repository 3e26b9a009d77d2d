#include <stdexcept>

#include "engine/base/process_pool.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim {
inline namespace point {
namespace {

// Doubles survive JSON exactly: the library prints the shortest text that reads back as the same number.
std::string to_text(const PointResult& p) {
  const Json json{{"gpus", p.gpus},
                  {"nodes", p.nodes},
                  {"batch_per_gpu", p.batch_per_gpu},
                  {"samples_per_iteration", p.samples_per_iteration},
                  {"iteration_s", p.iteration_s},
                  {"compute_s", p.compute_s},
                  {"exposed_communication_s", p.exposed_communication_s},
                  {"input_wait_s", p.input_wait_s},
                  {"relative_low", p.relative_low},
                  {"relative_high", p.relative_high},
                  {"spread", {p.spread.compute, p.spread.bandwidth, p.spread.latency}},
                  {"bytes_sent_per_gpu", p.bytes_sent_per_gpu},
                  {"messages", p.messages},
                  {"fidelity", p.fidelity},
                  {"method", p.method},
                  {"wall_s", p.wall_s},
                  {"events", p.events},
                  {"details", p.details},
                  {"notes", p.notes}};
  return json.dump();
}

PointResult from_text(const std::string& text) {
  const Json json = Json::parse(text);
  PointResult p;
  p.gpus = json["gpus"];
  p.nodes = json["nodes"];
  p.batch_per_gpu = json["batch_per_gpu"];
  p.samples_per_iteration = json["samples_per_iteration"];
  p.iteration_s = json["iteration_s"].get<std::vector<double>>();
  p.compute_s = json["compute_s"];
  p.exposed_communication_s = json["exposed_communication_s"];
  p.input_wait_s = json["input_wait_s"];
  p.relative_low = json["relative_low"];
  p.relative_high = json["relative_high"];
  p.spread = {json["spread"][0], json["spread"][1], json["spread"][2]};
  p.bytes_sent_per_gpu = json["bytes_sent_per_gpu"];
  p.messages = json["messages"];
  p.fidelity = json["fidelity"];
  p.method = json["method"];
  p.wall_s = json["wall_s"];
  p.events = json["events"];
  p.details = json["details"];
  p.notes = json["notes"].get<std::vector<std::string>>();
  return p;
}

}  // namespace

std::vector<PointResult> predict_points(const std::vector<PointJob>& points, int jobs,
                                        const std::function<void(std::size_t done)>& progress) {
  const auto work = [&](std::size_t i) {
    try {
      return to_text(predict_point(*points[i].scenario, points[i].request));
    } catch (const std::exception& error) {
      const std::string& variant = points[i].scenario->variant;
      throw std::runtime_error((variant.empty() ? "" : variant + ", ") + std::to_string(points[i].request.gpus) +
                               " GPUs: " + error.what());
    }
  };
  std::vector<PointResult> results;
  for (const std::string& text : in_processes(points.size(), jobs, work, progress)) results.push_back(from_text(text));
  return results;
}

}  // namespace point
}  // namespace lockstep::sim
