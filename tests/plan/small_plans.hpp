#pragma once
// A plan over the smallest scenario, as files in a folder of their own: GPUs 1, 2, 4 on two nodes of two, two batches,
// two networks. A test changes the JSON and loads it.
#include "sim/plan/planner.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {

inline Json small_plan() {
  Json plan = Json::parse(R"({
    "schema": "lockstep/plan/1", "name": "small",
    "axes": [{"name": "GPUs", "pointer": "/gpus", "values": [1, 2, 4]},
             {"name": "batch", "pointer": "/batch_per_gpu", "values": [16, 64]},
             {"name": "network", "values": [
               {"name": "slow", "set": {"/cluster/nic/bandwidth": "1 Gbit/s"}, "prices": {"nic": "0.01 USD/h"}},
               {"name": "fast", "set": {"/cluster/nic/bandwidth": "100 Gbit/s"}, "prices": {"nic": "0.5 USD/h"}}]}],
    "work": {"samples": 1e6},
    "prices": {"gpu": "1 USD/h"},
    "limits": {"reserved_memory": "1 GB"},
    "objective": {"kind": "least-cost"}})");
  plan["scenario"] = small_scenario();
  plan["scenario"]["compute"]["rates"] = Json::parse(R"([{"batch": 16, "rate": "1000 images/s"}])");
  plan["scenario"]["iterations"] = 2;
  return plan;
}

class SmallPlan {
 public:
  SmallPlan() : plan(small_plan()), cluster(small_cluster()) {}

  Json plan;
  Json cluster;
  const TemporaryFolder folder;

  std::string write() const {
    folder.write("cluster.json", cluster.dump());
    return folder.write("plan.json", plan.dump());
  }
  sim::PlanSpec load() const { return sim::load_plan(write()); }
};

/// Runs a plan on `jobs` processes, without a journal.
inline sim::PlanResult worked_out(const sim::PlanSpec& plan, int jobs = 2, sim::RunTask run = {}) {
  const auto workers = sim::local_workers(jobs, run ? run : sim::plan_runner(plan));
  sim::Journal journal;
  sim::Evaluation evaluation(plan, *workers, journal);
  return sim::work_out(plan, evaluation);
}

}  // namespace lockstep::tests
