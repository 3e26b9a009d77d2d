// One job in four forms: its facts, its scenario, a point of a plan, a record. Random jobs from a seed give the same
// numbers to 1e-9.
#include <algorithm>
#include <map>
#include <set>

#include "sim/api/job_command.hpp"
#include "sim/api/plan_options.hpp"
#include "sim/job/field_reader.hpp"
#include "sim/job_plan/machines.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/report/result.hpp"
#include "tests/base/draws.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

constexpr double kSame = 1e-9;

sim::JobQuestion drawn(Draws& draws) {
  using Texts = std::vector<std::string>;
  sim::JobQuestion job;
  job.job.model.stated =
      draws.of(Texts{"resnet50", "vgg16", "alexnet", "inception_v3", "bert_large", "gpt2", "resnet50_v15"});
  job.job.gpu.stated = draws.of(Texts{"H100", "A100", "V100", "P100", "t4", "titanx-maxwell", "a100-pcie"});
  job.job.gpus_per_node = draws.of(std::vector<int>{1, 2, 4, 4, 8});
  job.gpus = {job.job.gpus_per_node * draws.of(std::vector<int>{1, 2, 4})};
  if (job.gpus.front() == 1) job.gpus = {2};
  job.job.batch_per_gpu = draws.of(std::vector<int>{4, 16, 32});
  job.job.network.stated = draws.of(Texts{"", "100 GbE", "2x 100 GbE", "8x NDR", "25 GbE", "200 Gb/s per GPU",
                                          "4x 100 Gb/s RoCE", "8x 100 Gb/s EFA", "40 Gb/s", "aws-p4d"});
  job.job.precision = sim::find_choice_in_words<sim::RecordPrecision>(draws.of(Texts{"", "fp32", "mixed"}));
  job.job.exchange = draws.of(
      Texts{"",        "",        "",       "ring",    "hierarchical", "halving-doubling", "double-binary-tree",
            "tree",    "torus",   "hybrid", "FSDP",    "sma",          "ea-sgd",           "PS",
            "kvstore", "hybcomm", "sfb",    "one-bit", "theano-mpi",   "CUDA-aware MPI",   "baidu-ring"});
  job.job.software.stated =
      draws.of(Texts{"pytorch", "tensorflow", "mxnet", "horovod", "poseidon", "mlperf", "caffe2"});
  if (draws.of(std::vector<int>{0, 1, 2}) == 0) job.rate_samples_per_s = 3.5;  // a rate that every GPU reaches
  const bool has_epochs = job.job.model.stated != "bert_large" && job.job.model.stated != "gpt2";
  if (has_epochs) job.job.epochs = draws.of(std::vector<double>{1, 30, 90});
  job.ignores_memory = true;
  return job;
}

std::string text_of(const sim::JobQuestion& job) {
  return job.job.model.stated + " on " + std::to_string(job.gpus.front()) + " " + job.job.gpu.stated + ", " +
         std::to_string(job.job.gpus_per_node) + " per node, network \"" + job.job.network.stated + "\", " +
         job.job.exchange + ", " + job.job.software.stated + ", " +
         (job.job.precision ? name_of(*job.job.precision) : "") + ", batch " + std::to_string(job.job.batch_per_gpu) +
         ", rate " + std::to_string(job.rate_samples_per_s);
}

struct Bounded {
  double value = 0, low = 0, high = 0;
};

struct Answer {
  Bounded samples_per_s, training_s;
};

Bounded bounded(const sim::QuantityPrediction& prediction) {
  return {prediction.predicted, prediction.low, prediction.high};
}

Answer of_row(const sim::JobRow& row) {
  return {bounded(row.samples_per_s), row.training ? bounded(*row.training) : Bounded{}};
}

Answer as_scenario(const Json& file) {
  const TemporaryFolder folder;
  const sim::Report report = sim::predict(sim::load_scenario(folder.write("job.json", file.dump()), {}), 1, {});
  const sim::PointResult& point = report.points[0].point;
  const sim::TimeToAccuracy& time = report.points[0].accuracy;
  const double rate = point.samples_per_s();
  return {{rate, rate / point.interval.high, rate / point.interval.low}, {time.seconds, time.low_s, time.high_s}};
}

Answer as_plan_point(const Json& file) {
  const TemporaryFolder folder;
  Json plan = Json::parse(R"({"schema": "lockstep/plan/1", "name": "one", "axes": [], "prices": {"gpu": "1 USD/h"},
    "objective": {"kind": "least-cost"}})");
  plan["axes"] = Json::array({{{"name", "GPUs"}, {"pointer", "/gpus"}, {"values", file.at("gpus")}}});
  plan["scenario"] = file;
  if (!file.contains("convergence")) plan["work"] = {{"samples", 1e6}};
  const std::string path = folder.write("plan.json", plan.dump());
  const sim::PlanSpec spec = sim::load_plan(path);
  sim::Task task;
  task.fidelity = sim::Fidelity::fast;
  const sim::Outcome outcome = sim::evaluate(spec, task);
  REQUIRE(outcome.status == "ok");
  const double rate = outcome.global_batch / outcome.iteration_s;
  const Bounded time{outcome.time_s, outcome.time_s_low, outcome.time_s_high};
  return {{rate, rate / outcome.relative_high, rate / outcome.relative_low},
          file.contains("convergence") ? time : Bounded{}};
}

Bounded predicted_record(Json record, const Json& given) {
  Json all = Json::array({std::move(record)});
  if (!given.is_null()) all.push_back(given);
  const std::vector<sim::Record> records = records_from(all.dump());
  sim::MapOptions options;
  options.fidelity = sim::Fidelity::fast;
  const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1, options);
  INFO(predictions.at(0).task.unmapped);
  CHECK(predictions.at(0).is_mapped());
  return bounded(predictions.at(0));
}

Json keys_of_record(const sim::JobQuestion& job) {
  Json keys{{"id", "a"},
            {"group", "g"},
            {"metric", "images_per_s"},
            {"software", job.job.software.stated},
            {"model", job.job.model.stated},
            {"gpu", job.job.gpu.stated},
            {"gpus", job.gpus.front()},
            {"gpus_per_node", std::min(job.gpus.front(), job.job.gpus_per_node)},
            {"batch_per_gpu", job.job.batch_per_gpu}};
  if (!job.job.network.stated.empty()) keys["network"] = job.job.network.stated;
  if (job.job.precision) keys["precision"] = name_of(*job.job.precision);
  if (!job.job.exchange.empty()) keys["algorithm"] = job.job.exchange;
  if (job.job.epochs > 0) keys["epochs"] = job.job.epochs;
  return keys;
}

Answer as_record(const sim::JobQuestion& job) {
  const Json keys = keys_of_record(job);
  Json given;
  if (job.rate_samples_per_s > 0) {
    given = keys;
    given.update({{"id", "one"}, {"role", "input"}, {"gpus", 1}, {"value", job.rate_samples_per_s}});
  }
  Json training = keys;
  training["metric"] = "training_time_s";
  return {predicted_record(keys, given), job.job.epochs > 0 ? predicted_record(training, given) : Bounded{}};
}

// The parts of a scenario that a job's facts determine. Names, numbers of GPUs and the work are those of the question.
Json parts_of(const sim::Scenario& scenario) {
  const Json whole = sim::to_json(scenario);
  Json parts = Json::object();
  for (const char* part : {"cluster", "model", "algorithm", "compute", "communication", "parallel", "sharding",
                           "parameter_server", "learners", "theano_mpi", "input"})
    if (whole.contains(part)) parts[part] = whole.at(part);
  parts.at("cluster").erase("name");
  return parts;
}

void check_same(const Bounded& a, const Bounded& b) {
  CHECK(a.value == Approx(b.value).epsilon(kSame));
  CHECK(a.low == Approx(b.low).epsilon(kSame));
  CHECK(a.high == Approx(b.high).epsilon(kSame));
}

void check_same(const Answer& a, const Answer& b) {
  check_same(a.samples_per_s, b.samples_per_s);
  check_same(a.training_s, b.training_s);
}

}  // namespace

TEST_CASE("a job, its scenario, a point of a plan and a record of it are predicted alike", "[job]") {
  Draws draws(18);
  for (int i = 0; i < 30; ++i) {
    const sim::JobQuestion job = drawn(draws);
    INFO(i << ": " << text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const Answer answer = of_row(predicted.rows.front());
    const Json file = sim::job_scenario(predicted, catalogue());
    REQUIRE(answer.samples_per_s.value > 0);
    {
      INFO("scenario");
      check_same(as_scenario(file), answer);
    }
    {
      INFO("plan");
      check_same(as_plan_point(file), answer);
    }
    {
      INFO("record");
      check_same(as_record(job), answer);
    }
  }
}

TEST_CASE("a job's scenario has the same parts after reading, and as a record makes it", "[job]") {
  Draws draws(22);
  for (int i = 0; i < 30; ++i) {
    sim::JobQuestion job = drawn(draws);
    job.rate_samples_per_s = 0;
    INFO(i << ": " << text_of(job));
    const sim::JobPrediction predicted = sim::prepare_job(job, catalogue());
    const Json parts = parts_of(predicted.scenario);
    const TemporaryFolder folder;
    const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
    CHECK(parts_of(sim::load_scenario(path, {}).variants.front()).dump() == parts.dump());
    const std::vector<sim::Record> records = records_from(Json::array({keys_of_record(job)}).dump());
    sim::MapOptions options;
    options.fidelity = sim::Fidelity::fast;
    const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1, options);
    REQUIRE(predictions.at(0).is_mapped());
    CHECK(parts_of(predictions[0].task.target.front().scenario).dump() == parts.dump());
  }
}

TEST_CASE("every row of a job is a point of its scenario", "[job]") {
  Draws draws(19);
  for (int i = 0; i < 6; ++i) {
    sim::JobQuestion job = drawn(draws);
    job.job.gpus_per_node = 8;
    job.gpus = {1, 4, 8, 16};
    INFO(text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const TemporaryFolder folder;
    const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
    const sim::Report report = sim::predict(sim::load_scenario(path, {}), 1, {});
    REQUIRE(report.points.size() == job.gpus.size());
    for (std::size_t i_row = 0; i_row < report.points.size(); ++i_row) {
      const sim::JobRow& row = predicted.rows[i_row];
      CHECK(row.samples_per_s.predicted == Approx(report.points[i_row].point.samples_per_s()).epsilon(kSame));
      CHECK(row.efficiency.predicted == Approx(report.points[i_row].scaling_efficiency).epsilon(kSame));
      if (row.training) CHECK(row.training->predicted == Approx(report.points[i_row].accuracy.seconds).epsilon(kSame));
    }
  }
}

namespace {

// Facts by their keys in records, and the command-line words that give the same. `unlisted` have no option.
struct SameFacts {
  Json keys = Json::object(), unlisted = Json::object();
  std::vector<std::string> words;

  void give(const std::string& key, const std::string& option, const Json& value) {
    (option.empty() ? unlisted : keys)[key] = value;
    if (option.empty()) return;
    words.push_back(value == Json(false) ? "--no-" + option.substr(2) : option);
    if (value.is_boolean()) return;
    if (value.is_array())
      words.push_back(joined_names(value));
    else
      words.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }

 private:
  static std::string joined_names(const Json& list) {
    std::string all;
    for (const Json& one : list) all += (all.empty() ? "" : ",") + one.get<std::string>();
    return all;
  }
};

// Draws a value for about half of the facts of a table of fields, by the type of each.
class FactDrawer {
 public:
  FactDrawer(Draws& draws, SameFacts& facts) : draws_(draws), facts_(facts) {}

  template <class Field, class... Limits>
  void operator()(const sim::FieldName& name, const Field& field, const Field&, Limits... limits) {
    const std::string key = name.key;
    const bool is_needed = key == "model" || key == "gpu";
    if (!is_needed && draws_.one_in(2)) return;
    if (const Json value = drawn(key, field, limits...); !value.is_null())
      facts_.give(key, name.option == nullptr ? "" : name.option, value);
  }

  void draw_split() {
    const std::vector<const FieldText*> fields = sim::parallel_format().texts();
    const std::vector<sim::SplitFieldName>& names = sim::split_fields();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].record.empty() || draws_.one_in(2)) continue;
      const Json& whole = fields[i]->schema;
      const Json value = of_schema(whole.contains("anyOf") ? whole.at("anyOf").at(0) : whole);
      if (!value.is_null()) facts_.give(names[i].record, names[i].option, value);
    }
  }

 private:
  using Texts = std::vector<std::string>;

  Json drawn(const std::string& key, const sim::NamedFact&) {
    static const std::map<std::string, Texts> names{{"model", {"llama3_8b", "GPT-2", "resnet50", "Mixtral 8x7B"}},
                                                    {"gpu", {"H100", "A100 40GB", "B200"}},
                                                    {"software", {"NeMo", "PyTorch FSDP", "torchtitan"}},
                                                    {"link", {"NVLink 4", "PCIe 5"}}};
    return draws_.of(names.at(key));
  }
  Json drawn(const std::string&, const sim::NetworkStated&) { return draws_.of({"8x 400 Gb/s", "25 GbE", "2x HDR"}); }
  Json drawn(const std::string&, const std::optional<Algorithm>&) {
    return draws_.of({"ring", "FSDP", "hierarchical", "sma", "PS"});
  }
  Json drawn(const std::string& key, const std::string&) {
    if (key == "task") return draws_.of({sim::kAdapters, sim::kAllWeights});
    return key == "other_algorithm" ? Json("gossip") : Json();
  }
  Json drawn(const std::string&, const std::map<std::string, std::string>&) {
    return {{"precision", "the paper does not give it"}};
  }
  Json drawn(const std::string&, const bool&) { return true; }
  Json drawn(const std::string&, const std::optional<bool>&) { return draws_.one_in(2); }
  Json drawn(const std::string&, const double&, Range limits) { return number({"number", limits.low, limits.high}); }
  template <class I>
  std::enable_if_t<std::is_integral_v<I>, Json> drawn(const std::string&, const I&, Range limits) {
    return number({"integer", limits.low, limits.high});
  }
  Json drawn(const std::string&, const std::optional<int>&, Range limits) {
    return number({"integer", limits.low, limits.high});
  }
  template <class E>
  std::enable_if_t<std::is_enum_v<E>, Json> drawn(const std::string&, const E&) {
    Texts names;
    for (const Choice<E>& choice : choices_of(E())) names.push_back(choice.name);
    return draws_.of(names);
  }
  template <class E>
  std::enable_if_t<std::is_enum_v<E>, Json> drawn(const std::string& key, const std::optional<E>&) {
    return drawn(key, E());
  }

  struct Limits {
    std::string type;
    double low, high;
  };
  Json number(const Limits& limits) {
    const double low = std::max(1.0, limits.low), value = std::min(limits.high, low * draws_.of({1, 2, 4}));
    return limits.type == "integer" ? Json(static_cast<std::int64_t>(value))
                                    : Json(value + 0.25 * (limits.high - value) / limits.high);
  }
  Json of_schema(const Json& schema) {
    const std::string type = schema.value("type", "");
    if (type == "boolean") return draws_.one_in(2);
    if (type == "array") {
      Texts names = schema.at("items").at("enum").get<Texts>();
      const int first = draws_.of({0, 1, 2});
      std::rotate(names.begin(), names.begin() + first % static_cast<int>(names.size()), names.end());
      names.resize(schema.at("minItems").get<std::size_t>());
      return names;
    }
    if (type == "integer" || type == "number") return number({type, schema.at("minimum"), schema.at("maximum")});
    return schema.contains("enum") ? Json(draws_.of(schema.at("enum").get<Texts>())) : Json();
  }

  Draws& draws_;
  SameFacts& facts_;
};

SameFacts drawn_facts(Draws& draws) {
  SameFacts facts;
  FactDrawer drawer(draws, facts);
  const sim::Job job;
  sim::visit_job_fields(drawer, job, job);
  drawer.draw_split();
  return facts;
}

sim::Job job_of_record(const Json& keys) {
  Json record = keys;
  record.update({{"id", "a"}, {"metric", "images_per_s"}});
  return records_from(Json::array({record}).dump()).at(0);
}

void parse(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  app.parse(words);
}

sim::Job job_of_simulate_job(const std::vector<std::string>& words) {
  CLI::App app;
  sim::JobCommand command;
  sim::declare_job_command(app, command);
  parse(app, words);
  return command.question.job;
}

sim::Job job_of_plan_job(const std::vector<std::string>& words) {
  CLI::App app;
  sim::JobPlan plan;
  sim::declare_plan_words(app, plan);
  parse(app, words);
  const std::vector<sim::Machine> machines = sim::list_machines(plan, catalogue());
  REQUIRE(machines.size() == 1);
  return machines.front().question.job;
}

// Lists every fact, field by field. `exchange` and the network's text have no keys of their own in a job.
Json all_facts(const sim::Job& job) {
  Json facts = sim::job_json(job);
  facts["algorithm"] = job.exchange;
  facts["network"] = job.network.stated;
  return facts;
}

}  // namespace

TEST_CASE("simulate job, plan job and a record read the same job from the same facts", "[job]") {
  Draws draws(20);
  std::set<std::string> drawn;
  for (int i = 0; i < 200; ++i) {
    const SameFacts facts = drawn_facts(draws);
    INFO(facts.keys.dump());
    const Json of_record = all_facts(job_of_record(facts.keys));
    CHECK(all_facts(job_of_simulate_job(facts.words)).dump() == of_record.dump());
    CHECK(all_facts(job_of_plan_job(facts.words)).dump() == of_record.dump());
    for (const auto& [key, value] : facts.keys.items()) drawn.insert(key);
    for (const auto& [key, value] : facts.unlisted.items()) drawn.insert(key);
  }
  sim::FieldKeys fields;
  const sim::Job job;
  sim::visit_job_fields(fields, job, job);
  for (const sim::SplitFieldName& name : sim::split_fields())
    if (!name.option.empty()) fields.names.push_back(name.record);
  for (const std::string& key : fields.names) {
    INFO(key);
    CHECK(drawn.count(key) == 1);
  }
}

TEST_CASE("a job that is written reads as itself, with facts that only records give", "[job]") {
  Draws draws(21);
  for (int i = 0; i < 200; ++i) {
    SameFacts facts = drawn_facts(draws);
    facts.unlisted.update(facts.keys);
    for (const char* name : {"network", "algorithm"}) facts.unlisted.erase(name);
    INFO(facts.unlisted.dump());
    const Json written = sim::job_json(job_of_record(facts.unlisted));
    CHECK(sim::job_json(job_of_record(written)).dump() == written.dump());
    // The rank of adapters says that they are trained.
    for (const auto& [key, value] : written.items()) CHECK((facts.unlisted.contains(key) || key == "task"));
  }
}

}  // namespace lockstep::tests
