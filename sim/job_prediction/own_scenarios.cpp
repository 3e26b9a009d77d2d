#include "sim/job_prediction/own_scenarios.hpp"

#include <algorithm>
#include <set>

#include "sim/job_prediction/replica_search.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// Workloads of equal labels share one time, so each scenario has labels of its own: those of the k-th lie k kMostGpus
// below -1. `before`: scenarios that have labels already.
void move_labels(JobPrediction& own, int before) {
  const auto move = [&](int label) {
    if (label == 0) return 0;
    return label > 0 ? -label - before * kMostGpus : label - (before + 1) * kMostGpus;
  };
  for (JobRow& row : own.rows)
    for (QuantityPrediction* one : {&row.samples_per_s, &row.efficiency, row.training ? &*row.training : nullptr}) {
      if (one == nullptr) continue;
      for (Alternatives* runs : {&one->task.target, &one->task.baseline})
        for (Workload& run : *runs) run.label = move(run.label);
    }
}

bool has_number(const std::vector<int>& gpus, int number) {
  return std::find(gpus.begin(), gpus.end(), number) != gpus.end();
}

// Removes the numbers of GPUs that `served` has.
void remove_served(JobPrediction& own, const std::vector<int>& served) {
  std::vector<int>& gpus = own.question.gpus;
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(), [&](int number) { return has_number(served, number); }),
             gpus.end());
  own.rows.erase(
      std::remove_if(own.rows.begin(), own.rows.end(), [&](const JobRow& row) { return has_number(served, row.gpus); }),
      own.rows.end());
}

// Returns the predicted job with only the numbers of GPUs that none of its own scenarios serves.
JobPrediction with_shared_scenario(JobPrediction predicted) {
  const std::vector<JobPrediction> parts = std::move(predicted.own_scenarios);
  predicted.own_scenarios.clear();
  for (const JobPrediction& part : parts) remove_served(predicted, part.question.gpus);
  return predicted;
}

std::string kind_of(const JobPrediction& one) {
  if (one.question.largest() == 1) return "one GPU";
  return one.scenario.cluster.nodes == 1 ? "one node" : "several nodes";
}

std::string numbers_of(const JobPrediction& one) {
  std::string text;
  for (const int gpus : one.question.gpus) text += (text.empty() ? "" : ", ") + std::to_string(gpus);
  return text + " GPUs";
}

// Moves members that some scenarios lack from the file to the variants of those that have them: a variant cannot remove
// a member.
void move_partial_members(const std::vector<Json>& files, Json& file) {
  std::set<std::string> partial;
  for (const Json& one : files)
    for (const auto& member : one.items())
      if (!std::all_of(files.begin(), files.end(), [&](const Json& f) { return f.contains(member.key()); }))
        partial.insert(member.key());
  for (const std::string& key : partial) file.erase(key);
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

std::optional<JobQuestion> question_of_others(const JobQuestion& asked, const JobQuestion& answered) {
  JobQuestion others = asked;
  others.gpus.clear();
  std::copy_if(asked.gpus.begin(), asked.gpus.end(), std::back_inserter(others.gpus),
               [&](int gpus) { return !has_number(answered.gpus, gpus); });
  if (others.gpus.empty()) return std::nullopt;
  return others;
}

bool exchange_differs(const JobPrediction& in_node, const JobPrediction& predicted) {
  const Scenario &a = in_node.scenario, &b = predicted.scenario;
  if (a.algorithm != b.algorithm || !in_node.own_scenarios.empty()) return true;
  if (in_node.question.largest() == 1) return false;
  return a.cluster.intra_node.kind != b.cluster.intra_node.kind ||
         to_json(a).at("communication") != to_json(b).at("communication");
}

void add_own_scenario(JobPrediction& predicted, JobPrediction own, const std::vector<int>& gpus) {
  std::vector<JobPrediction> parts = own.own_scenarios;
  parts.insert(parts.begin(), with_shared_scenario(std::move(own)));
  const int before = static_cast<int>(predicted.own_scenarios.size());
  for (JobPrediction& part : parts) {
    move_labels(part, before);
    for (const JobRow& row : part.rows) {
      const auto is_same = [&](const JobRow& other) { return other.gpus == row.gpus; };
      const auto known = std::find_if(predicted.rows.begin(), predicted.rows.end(), is_same);
      if (known != predicted.rows.end())
        *known = row;
      else
        predicted.rows.push_back(row);
    }
    predicted.own_scenarios.push_back(std::move(part));
  }
  predicted.question.gpus = gpus;
  const auto place = [&](const JobRow& row) { return std::find(gpus.begin(), gpus.end(), row.gpus); };
  std::sort(predicted.rows.begin(), predicted.rows.end(),
            [&](const JobRow& a, const JobRow& b) { return place(a) < place(b); });
}

bool has_other_replicas(const JobPrediction& own, const JobPrediction& predicted) {
  return own.question.has_whole_replicas && predicted.question.has_whole_replicas &&
         !is_same_choice(own.question.job, predicted.question.job, !own.question.batches.empty());
}

std::vector<std::string> add_variants(const JobPrediction& predicted,
                                      const std::function<Json(const JobPrediction&)>& file_of, Json& file) {
  std::vector<JobPrediction> all = predicted.own_scenarios;
  all.push_back(with_shared_scenario(predicted));
  std::sort(all.begin(), all.end(),
            [](const JobPrediction& a, const JobPrediction& b) { return a.question.largest() < b.question.largest(); });
  std::vector<Json> files;
  std::set<std::string> kinds;
  for (const JobPrediction& one : all) {
    files.push_back(file_of(one));
    kinds.insert(kind_of(one));
  }
  move_partial_members(files, file);
  std::vector<std::string> names;
  Json variants = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Json set = Json::object();
    for (const auto& member : files[i].items())
      if (member.key() != "gpus" && member.key() != "description" && file.value(member.key(), Json()) != member.value())
        set["/" + member.key()] = member.value();
    set["/gpus"] = all[i].question.gpus;
    names.push_back(kinds.size() == all.size() ? kind_of(all[i]) : numbers_of(all[i]));
    variants.push_back({{"name", names.back()}, {"set", set}});
  }
  file["variants"] = variants;
  return names;
}

}  // namespace lockstep::sim::job_prediction
