#include "sim/point/details.hpp"

namespace lockstep::sim::point {

Json details_json(const PointDetails& details) {
  Json json = Json::object();
  if (details.compute_slowed_by_collectives_s)
    json["compute_slowed_by_collectives_s"] = *details.compute_slowed_by_collectives_s;
  if (!details.calls.empty()) json["calls"] = fields_to_json(details.calls);
  if (details.nccl_fit) json["nccl_fit"] = fields_to_json(*details.nccl_fit);
  if (details.parameter_server) json.update(fields_to_json(*details.parameter_server));
  if (details.learners) json.update(fields_to_json(*details.learners));
  if (details.workers) json.update(fields_to_json(*details.workers));
  if (details.split) json["split"] = fields_to_json(*details.split);
  return json;
}

}  // namespace lockstep::sim::point
