#include "sim/job_prediction/node_exchange.hpp"

#include <algorithm>

#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// Workloads of equal labels share one time, so those of another scenario get labels of their own. Within a node they are
// negative. The single GPU of a node has a scenario of its own again, and still smaller labels.
void mark_as_in_node(QuantityPrediction& prediction) {
  for (Alternatives* runs : {&prediction.task.target, &prediction.task.baseline})
    for (Workload& run : *runs) run.label = run.label > 0 ? -run.label : run.label < 0 ? run.label - kMostGpus : 0;
}

}  // namespace

std::optional<JobQuestion> question_in_node(const JobQuestion& question, const Catalogue& catalogue) {
  const int of_node = joined_gpus_of(question, catalogue), most = question.largest() > of_node ? of_node : 1;
  JobQuestion in_node = question;
  in_node.gpus.clear();
  std::copy_if(question.gpus.begin(), question.gpus.end(), std::back_inserter(in_node.gpus),
               [&](int gpus) { return gpus <= most; });
  if (in_node.gpus.empty() || in_node.gpus.size() == question.gpus.size()) return std::nullopt;
  return in_node;
}

bool exchange_differs(const JobPrediction& in_node, const JobPrediction& predicted) {
  const Scenario &a = in_node.scenario, &b = predicted.scenario;
  if (a.algorithm != b.algorithm || in_node.in_node) return true;
  if (in_node.question.largest() == 1) return false;
  return a.cluster.intra_node.kind != b.cluster.intra_node.kind ||
         to_json(a).at("communication") != to_json(b).at("communication");
}

void replace_rows_in_node(JobPrediction& predicted, JobPrediction in_node) {
  for (JobRow& own : in_node.rows) {
    for (QuantityPrediction* one : {&own.samples_per_s, &own.efficiency, own.training ? &*own.training : nullptr})
      if (one != nullptr) mark_as_in_node(*one);
    for (JobRow& row : predicted.rows)
      if (row.gpus == own.gpus) row = own;
  }
  predicted.in_node = std::make_shared<const JobPrediction>(std::move(in_node));
}

std::vector<std::string> add_node_variants(const JobPrediction& predicted,
                                           const std::function<Json(const JobPrediction&)>& file_of, Json& file) {
  std::vector<std::string> names;
  std::vector<Json> variants;
  for (const JobPrediction* one = &predicted; one != nullptr; one = one->in_node.get()) {
    Json set = Json::object(), gpus = Json::array();
    const Json own = one == &predicted ? file : file_of(*one);
    for (const auto& member : own.items())
      if (member.key() != "gpus" && member.key() != "description" && file.value(member.key(), Json()) != member.value())
        set["/" + member.key()] = member.value();
    for (const int number : one->question.gpus)
      if (!one->in_node || number > one->in_node->question.largest()) gpus.push_back(number);
    set["/gpus"] = gpus;
    names.push_back(one->question.largest() == 1       ? "one GPU"
                    : one->scenario.cluster.nodes == 1 ? "one node"
                                                       : "several nodes");
    variants.push_back({{"name", names.back()}, {"set", set}});
  }
  file["variants"] = std::vector<Json>(variants.rbegin(), variants.rend());
  return names;
}

}  // namespace lockstep::sim::job_prediction
