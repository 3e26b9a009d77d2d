// Node power by load: the fit to MLPerf Power v4.0, its errors on held-out tasks, and laws. LOCKSTEP_UPDATE=1 rewrites
// results/validation/energy.md and the table of sim/plan/README.md.
#include "sim/plan/energy.hpp"

#include <cmath>
#include <cstdio>
#include <functional>

#include "tests/base/committed.hpp"
#include "tests/catch.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

// MLPerf Training Power v4.0, H100 SXM5, 8 GPUs to a node, wall power (AC): mean power of a node and minutes to train.
struct OneNode {
  const char* task;
  double power_w, minutes;
};
const OneNode kOneNode[] = {
    {"BERT", 6841.9, 5.45},       {"DLRM", 7086.6, 3.77},       {"Llama 2 70B LoRA", 7159.7, 28.11},
    {"ResNet-50", 7090.5, 13.37}, {"RetinaNet", 6839.3, 36.18}, {"U-Net 3D", 7216.0, 11.74}};

// The same tasks at the same global batch on several nodes. `alone` is their index above.
struct Several {
  int alone, nodes;
  double power_w, minutes;

  const OneNode& one() const { return kOneNode[alone]; }
  // Returns the work of a node over its work when alone.
  double load() const { return one().minutes / minutes / nodes; }
};
const Several kSeveral[] = {{2, 8, 5819.6, 5.31}, {3, 8, 5791.7, 2.54}, {4, 8, 6148.7, 6.31}, {5, 9, 6378.5, 1.71}};

// Least squares of power, over that of one node, by s + (1 - s) load.
double fitted_standby(const std::function<bool(int)>& is_left_out) {
  double up = 0, down = 0;
  for (int i = 0; i < 4; ++i) {
    const Several& run = kSeveral[i];
    if (is_left_out(i)) continue;
    up += (run.power_w / run.one().power_w - run.load()) * (1 - run.load());
    down += (1 - run.load()) * (1 - run.load());
  }
  return up / down;
}

double mean_busy_w(int left_out) {
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += i == left_out ? 0 : kOneNode[i].power_w;
  return sum / (left_out < 0 ? 6 : 5);
}

// Returns the error for a task whose records, on one and on several nodes, were held out of the fit.
double error_on_one(int task) {
  return mean_busy_w(task) / kOneNode[task].power_w - 1;
}
double error_on_several(int i) {
  const Several& run = kSeveral[i];
  const double standby = fitted_standby([&](int other) { return other == i; });
  return mean_busy_w(run.alone) * (standby + (1 - standby) * run.load()) / run.power_w - 1;
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string document() {
  std::string text = R"(# Power of a node as a function of its load

Source: MLPerf Training Power v4.0, nodes of eight H100 SXM5. Power is wall power (AC), averaged from the start to the
end of a run, without switches. The load of a node is the time on one node / (nodes x time on all nodes), at the same
global batch.

    power = busy power x (standby + (1 - standby) x load)

Fitted to all tasks below: busy power )" +
                     format("%.0f", mean_busy_w(-1)) + " W, standby " +
                     format("%.3f", fitted_standby([](int) { return false; })) +
                     R"(.
In the table, each prediction omits its own task from the fit. Standby, the share of power at no load, is extrapolated:
the lowest load in the fit is 0.66.

| Task | nodes | load | published | predicted without this task | error |
|---|---:|---:|---:|---:|---:|
)";
  const auto add = [&](const std::string& task, int nodes, double load, double power_w, double error) {
    text += "| " + task + " | " + std::to_string(nodes) + " | " + format("%.2f", load) + " | " +
            format("%.0f W", power_w) + " | " + format("%.0f W", power_w * (1 + error)) + " | " +
            format("%+.1f %%", 100 * error) + " |\n";
  };
  for (int i = 0; i < 6; ++i) add(kOneNode[i].task, 1, 1, kOneNode[i].power_w, error_on_one(i));
  for (int i = 0; i < 4; ++i)
    add(kSeveral[i].one().task, kSeveral[i].nodes, kSeveral[i].load(), kSeveral[i].power_w, error_on_several(i));
  return text + R"(
Two runs on 64 nodes are not in the table, because no time on one node is published at their batch: Llama 2 70B LoRA
(5,090 W) and GPT-3 (6,849 W). We know no measurements of other GPUs; give their power yourself. A plan takes the share
of time in which GPUs compute as the load.
)";
}

}  // namespace

TEST_CASE("node power is known within 8 % on tasks that were left out") {
  CHECK(sim::kBusyH100Node_w == Approx(mean_busy_w(-1)).epsilon(1e-3));
  CHECK(fitted_standby([](int) { return false; }) == Approx(0.505).epsilon(2e-3));
  for (int i = 0; i < 6; ++i) CHECK(std::abs(error_on_one(i)) < 0.04);
  for (int i = 0; i < 4; ++i) CHECK(std::abs(error_on_several(i)) < 0.08);
}

TEST_CASE("the committed tables of energy are what is computed") {
  check_committed("results/validation/energy.md", document());
  check_committed_table("sim/plan/README.md", "energy", sim::energy_format().table());
}

TEST_CASE("a node that waits takes its standby share, one that computes all of it") {
  sim::EnergySpec spec;
  spec.standby_share = 0.5;
  spec.pue = 1.2;
  sim::Outcome o;
  o.gpus = 16;
  o.nodes = 2;
  o.gpus_per_node = 8;
  o.iteration_s = 1;
  o.compute_s = 1;
  o.time_s = 3600;
  CHECK(sim::node_power_w(spec, o, 1000) == Approx(8000));
  CHECK(sim::energy_j(spec, o, 1000) == Approx(1.2 * 16000 * 3600));
  o.compute_s = 0;
  CHECK(sim::node_power_w(spec, o, 1000) == Approx(4000));
  o.compute_s = 0.5;
  CHECK(sim::node_power_w(spec, o, 1000) == Approx(6000));
  o.gpus = 8;  // half of the GPUs of two nodes
  CHECK(sim::node_power_w(spec, o, 1000) == Approx(5000));
  o.spares = 2;
  CHECK(sim::energy_j(spec, o, 1000) == Approx(1.2 * (10000 + 8000) * 3600));
}

TEST_CASE("a plan tells kWh and CO2 of each point, of a GPU whose power is stated") {
  SmallPlan files;
  files.plan["energy"] = {{"co2", 400}, {"pue", 1.5}};
  const sim::PlanSpec unknown = files.load();
  CHECK(worked_out(unknown).rows[0].money.energy_j == 0);
  files.plan["prices"]["gpu_power"] = "300 W";
  const sim::PlanSpec plan = files.load();
  for (const sim::PlanRow& row : worked_out(plan).rows) {
    const sim::Money& money = row.money;
    const double most_j = 1.5 * 300 * 2 * row.outcome.nodes * row.outcome.time_s;
    CHECK(money.energy_j < most_j);
    CHECK(money.energy_j > 0.5 * most_j);
    CHECK(money.co2_kg == Approx(money.energy_j / 3.6e6 * 0.4));
  }
}

}  // namespace lockstep::tests
