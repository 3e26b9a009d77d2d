#include <stdexcept>

#include "engine/base/json_fields.hpp"
#include "engine/base/process_pool.hpp"
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

std::vector<PointResult> predict_points(const std::vector<PointJob>& points, int jobs) {
  const auto work = [&](std::size_t i) {
    try {
      return fields_to_json(predict_point(*points[i].scenario, points[i].request)).dump();
    } catch (const std::exception& error) {
      const std::string& variant = points[i].scenario->variant;
      throw std::runtime_error((variant.empty() ? "" : variant + ", ") + std::to_string(points[i].request.gpus) +
                               " GPUs: " + error.what());
    }
  };
  std::vector<PointResult> results;
  if (jobs == 0) {
    for (const PointJob& point : points) results.push_back(predict_point(*point.scenario, point.request));
    return results;
  }
  for (const std::string& text : in_processes(points.size(), jobs, work, "points"))
    results.push_back(fields_from_json<PointResult>(Json::parse(text)));
  return results;
}

}  // namespace lockstep::sim::point
