// Laws of plans, and of a job that several commands answer.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/api/answers.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

// Draws a job with a given amount of work.
CommandJob random_training(Draws& draws) {
  const bool is_split = draws.one_in(2);
  CommandJob job = is_split ? random_split(draws) : random_replicas(draws);
  const std::string model = job.value("--model");
  const bool has_tokens = is_split || model.find("gpt") == 0 || model.find("llama") == 0 || model.find("bert") == 0;
  if (has_tokens)
    job.give("--tokens", draws.of({"1B", "300B", "2T"}));
  else
    job.give("--epochs", draws.of({"1", "30", "90"}));
  return job;
}

Json plan_of(const CommandJob& job) {
  return sim::answer("plan_job", job.options(), catalogue());
}

struct Bounded {
  double value = 0, low = 0, high = 0;
};

Bounded bounded(const sim::QuantityPrediction& prediction) {
  return {prediction.predicted, prediction.low, prediction.high};
}

Bounded bounded(const Json& object, const std::string& key) {
  return {object.at(key), object.at(key + "_low"), object.at(key + "_high")};
}

// Returns the seconds of the epochs or tokens.
Bounded training_of(const sim::JobPrediction& predicted) {
  if (const auto& training = predicted.largest().training) return bounded(*training);
  return bounded(sim::job_tokens_json(predicted).back(), "training_s");
}

double largest_difference(const Bounded& a, const Bounded& b) {
  return std::max({apart(a.value, b.value), apart(a.low, b.low), apart(a.high, b.high)});
}

// Returns the plan's point for its only number of GPUs.
Json point_of(const CommandJob& job) {
  Json point = plan_of(job).at("points").at(0);
  if (point.at("status") != "ok") throw InputError(point.at("why").get<std::string>());
  return point;
}

Case plan_says_the_same(Draws& draws) {
  const CommandJob job = random_training(draws);
  const sim::JobPrediction predicted = predict(job);
  const Json point = point_of(job);
  return Compared{
      std::max(largest_difference(bounded(point, "samples_per_s"), bounded(predicted.largest().samples_per_s)),
               largest_difference(bounded(point, "time_s"), training_of(predicted))),
      {job.command(), job.command("plan job")}};
}

// Every point of a plan over two GPUs and three numbers of them says the same as `simulate job` for it alone. The plan
// searches splits for all GPUs in one software, so that the jobs name it.
Case points_say_the_same(Draws& draws) {
  CommandJob job = random_training(draws);
  const int gpus = std::stoi(job.value("--gpus"));
  if (!job.has("--software")) job.give("--software", job.has("--micro-batch") ? "megatron" : "pytorch");
  if (job.has("--micro-batch")) job.give("--global-batch", 4.0 * gpus * std::stoi(job.value("--micro-batch")));
  CommandJob plan = job;
  const std::string other = draws.of({"a100-sxm4", "v100-sxm2", "l40s"});
  plan.give("--gpu", job.value("--gpu") + "," + other);
  plan.give("--gpus", std::to_string(gpus) + "," + std::to_string(2 * gpus) + "," + std::to_string(4 * gpus));
  Json options = plan.options();
  options["gpu"] = {job.value("--gpu"), other};
  double most = -1;
  std::string worst;
  const Json answered = sim::answer("plan_job", options, catalogue());
  for (const Json& point : answered.at("points")) {
    if (point.at("status") != "ok") continue;
    job.give("--gpu", point.at("setting").at("GPU").get<std::string>()).give("--gpus", point.at("gpus").get<double>());
    const double difference =
        largest_difference(bounded(point, "samples_per_s"), bounded(predict(job).largest().samples_per_s));
    if (difference <= most) continue;
    most = difference;
    worst = job.command();
  }
  if (most < 0) return std::nullopt;
  return Compared{most, {plan.command("plan job"), worst}};
}

// One, two and four nodes in one list, whatever crosses only the network of several.
Case list_says_the_same(Draws& draws) {
  CommandJob job = random_replicas(draws);
  if (draws.one_in(2))
    job.give("--algorithm", draws.of({"parameter-server", "ps-gpu", "kvstore", "sfb", "one-bit", "tree", "baidu-ring",
                                      "halving-doubling", "theano-mpi", "cuda-aware", "sharded", "sma", "hybrid"}));
  const int node = std::stoi(job.value("--gpus-per-node"));
  CommandJob list = job;
  list.give("--gpus", "1," + (node > 1 ? std::to_string(node) + "," : "") + std::to_string(2 * node) + "," +
                          std::to_string(4 * node));
  const sim::JobPrediction predicted = predict(list);
  double most = -1;
  std::string worst;
  for (const sim::JobRow& row : predicted.rows) {
    job.give("--gpus", row.gpus);
    const double difference =
        largest_difference(bounded(row.samples_per_s), bounded(predict(job).largest().samples_per_s));
    if (difference <= most) continue;
    most = difference;
    worst = job.command();
  }
  return Compared{most, {list.command(), worst}};
}

Case json_says_the_same(Draws& draws) {
  const CommandJob job = random_training(draws);
  const sim::JobRow row = predict(job).largest();
  double most = 0;
  const Json json = sim::answer("job", job.options(), catalogue());
  for (const Json& one : json.at("predictions")) {
    const Bounded value{one.at("predicted"), one.at("low"), one.at("high")};
    if (one.at("metric") == "images_per_s")
      most = std::max(most, largest_difference(value, bounded(row.samples_per_s)));
    if (one.at("metric") == "scaling_efficiency")
      most = std::max(most, largest_difference(value, bounded(row.efficiency)));
    if (one.at("metric") == "training_time_s") most = std::max(most, largest_difference(value, bounded(*row.training)));
  }
  return Compared{most, {job.command() + " --json -"}};
}

// "1,483" -> 1483. It may differ by half a unit of its last digit.
double beyond_its_digits(std::string cell, double value) {
  cell.erase(std::remove(cell.begin(), cell.end(), ','), cell.end());
  const std::size_t point = cell.find('.');
  const double unit = point == std::string::npos ? 1 : std::pow(10, -double(cell.size() - point - 1));
  return (std::abs(std::stod(cell) - value) - 0.5 * unit) / value;
}

// The first table's row has GPUs, batch, samples/s, low and high.
Case table_says_the_same(Draws& draws) {
  const CommandJob job = random_job(draws);
  const sim::JobPrediction predicted = predict(job);
  const sim::QuantityPrediction& rate = predicted.largest().samples_per_s;
  std::istringstream table(sim::job_table(predicted, catalogue()));
  std::string line;
  while (std::getline(table, line) && line.find("samples/s") == std::string::npos) {
  }
  std::getline(table, line);
  std::istringstream cells(line);
  std::string gpus, batch, middle, low, high;
  cells >> gpus >> batch >> middle >> low >> high;
  return Compared{std::max({beyond_its_digits(middle, rate.predicted), beyond_its_digits(low, rate.low),
                            beyond_its_digits(high, rate.high)}),
                  {job.command()}};
}

Case plan_keeps_the_rate(Draws& draws) {
  CommandJob job = random_training(draws);
  if (!job.has("--batch")) return std::nullopt;
  job.leave_out("--algorithm");
  CommandJob one = job;
  one.give("--gpus", 1).give("--gpus-per-node", 1);
  const double rate = answer(one).samples_per_s;
  CommandJob with_rate = job;
  with_rate.give("--rate", rate);
  const auto width = [](const CommandJob& of) {
    const Bounded rate_of = bounded(point_of(of), "samples_per_s");
    return std::log(rate_of.high / rate_of.low);
  };
  one.give("--rate", 1.25 * rate);
  const double of_one = point_of(one).at("samples_per_s");
  return Compared{std::max(apart(of_one, 1.25 * rate), width(with_rate) - width(job)),
                  {one.command("plan job"), job.command("plan job"), with_rate.command("plan job")}};
}

Case at_least_an_iteration(Draws& draws) {
  CommandJob job = random_training(draws);
  if (job.has("--tokens"))
    job.give("--tokens", draws.of({1, 100, 5000}));
  else
    job.give("--epochs", draws.of({"0.0001", "0.001", "1"}));
  return Compared{answer(job).iteration_s() / training_of(predict(job)).value - 1, {job.command()}};
}

// Draws machines with one to four times the nodes, each with a price.
CommandJob random_plan(Draws& draws) {
  CommandJob job = random_training(draws);
  const int node = std::stoi(job.value("--gpus-per-node")), gpus = std::stoi(job.value("--gpus"));
  const std::string all = std::to_string(gpus) + "," + std::to_string(2 * gpus) + "," + std::to_string(4 * gpus);
  if (job.has("--micro-batch")) job.give("--global-batch", 4.0 * gpus * std::stoi(job.value("--micro-batch")));
  job.give("--gpus", all).give("--gpus-per-node", node);
  return job.give("--price", draws.of({"1.5/h", "4/h"}));
}

Case twice_the_price(Draws& draws) {
  CommandJob job = random_plan(draws);
  job.give("--price", "2/h");
  CommandJob dearer = job;
  dearer.give("--price", "4/h");
  const Json first = plan_of(job), second = plan_of(dearer);
  double most = -1;
  for (std::size_t i = 0; i < first.at("points").size(); ++i)
    if (first["points"][i].at("status") == "ok")
      most = std::max(
          most, apart(second["points"][i].at("cost").get<double>(), 2 * first["points"][i].at("cost").get<double>()));
  if (most < 0) return std::nullopt;
  return Compared{most, {job.command("plan job"), dearer.command("plan job")}};
}

// Returns the plan's recommendation; null: none.
Json recommended(const Json& plan) {
  const Json& id = plan.at("answer").at("recommended");
  if (id.is_null()) return {};
  for (const Json& point : plan.at("points"))
    if (point.at("id") == id) return point;
  return {};
}

// With twice the limit, the plan must still have an answer, which is no worse in the quantity that it minimises.
Case with_twice_the_limit(CommandJob job, const std::string& option, double limit, const std::string& unit,
                          const std::string& minimised) {
  job.give(option, formatted("%.9g ", limit) + unit);
  CommandJob later = job;
  later.give(option, formatted("%.9g ", 2 * limit) + unit);
  const Json first = recommended(plan_of(job)), second = recommended(plan_of(later));
  if (first.is_null()) return std::nullopt;
  const double beyond =
      second.is_null() ? 1 : second.at(minimised).get<double>() / first.at(minimised).get<double>() - 1;
  return Compared{beyond, {job.command("plan job"), later.command("plan job")}};
}

// Returns a limit that some of the plan's points meet.
double random_limit(const CommandJob& job, Draws& draws, const std::string& key) {
  const Json points = plan_of(job).at("points");
  const Json& point = points.at(static_cast<std::size_t>(draws.of({0, 1, 2})));
  if (point.at("status") != "ok") throw InputError(point.at("why").get<std::string>());
  return point.at(key).get<double>() * std::stod(draws.of({"0.6", "1.01", "1.5"}));
}

Case later_deadline(Draws& draws) {
  const CommandJob job = random_plan(draws);
  return with_twice_the_limit(job, "--deadline", random_limit(job, draws, "time_s"), "s", "cost");
}

Case more_budget(Draws& draws) {
  const CommandJob job = random_plan(draws);
  return with_twice_the_limit(job, "--budget", random_limit(job, draws, "cost"), "USD", "time_s");
}

// If a job runs, so does its point in a plan that has an impossible combination, too: a T4 holds none of these models
// with one GPU per replica.
Case impossible_combination(Draws& draws) {
  CommandJob job = random_training(draws);
  if (!job.has("--software")) job.give("--software", job.has("--micro-batch") ? "megatron" : "pytorch");
  job.leave_out("--ignore-memory");
  (void)answer(job);
  Json options = job.options();
  options["gpu"] = {"t4", job.value("--gpu")};
  CommandJob plan = job;
  plan.give("--gpu", "t4," + job.value("--gpu"));
  double beyond = 1;
  try {
    const Json answered = sim::answer("plan_job", options, catalogue());
    for (const Json& point : answered.at("points"))
      if (point.at("setting").at("GPU") == job.value("--gpu") && point.at("status") == "ok") beyond = 0;
  } catch (const InputError& refused) {
    if (std::string(refused.what()).find("the same name twice") != std::string::npos) return std::nullopt;
  }
  return Compared{beyond, {job.command(), plan.command("plan job")}};
}

// Counts the messages and steps that are replayed one by one: about 3 million a second with flows, 10 million a second
// with rounds. results/trust/time_limits.py measures the seconds.
Case bounded_work(Draws& draws) {
  constexpr double kMostEvents = 7e7;
  CommandJob job = random_replicas(draws);
  job.give("--gpus", std::stod(job.value("--gpus-per-node")) * draws.of({32, 64, 256, 1024}));
  job.give("--algorithm", draws.of({"ring", "hierarchical", "double-binary-tree", "parameter-server", "torus", "tree",
                                    "halving-doubling", "sharded", "sma", "kvstore", "one-bit", "hybrid"}));
  return Compared{static_cast<double>(replay_scenario(job).events) / kMostEvents - 1, {job.command()}};
}

}  // namespace

const std::vector<Law>& laws_of_plans() {
  static const std::vector<Law> all{
      {"job and plan say the same", 1e-9, plan_says_the_same, 2},
      {"each point of a plan and its job say the same", 1e-9, points_say_the_same, 4},
      {"each number of GPUs in a list has the answer that it has alone", 1e-9, list_says_the_same, 4},
      {"job and its JSON say the same", 1e-11, json_says_the_same},
      {"a job's table says the same to its digits", 1e-9, table_says_the_same},
      {"plan: a measured rate is predicted and widens no interval", 1e-9, plan_keeps_the_rate, 4},
      {"a training takes at least an iteration", 1e-9, at_least_an_iteration},
      {"twice the price is twice the cost", 1e-9, twice_the_price, 4},
      {"a later deadline costs no more", 1e-9, later_deadline, 6},
      {"more budget is no slower", 1e-9, more_budget, 6},
      {"an impossible combination ends no plan", 0, impossible_combination, 2},
      {"work is bounded on up to 8,192 GPUs", 0, bounded_work, 6}};
  return all;
}

}  // namespace lockstep::tests
