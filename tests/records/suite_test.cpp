// Suites of published results, and errors for held-out sources. fit_test.cpp tests the fit.
#include "sim/validation/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/quantity/calendar.hpp"
#include "sim/validation/scoring.hpp"
#include "sim/validation/sources.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
TEST_CASE("fit and test records are disjoint and as the rule says") {
  std::set<std::string> fit, test;
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    if (record.use == sim::Use::given || record.use == sim::Use::apart) continue;
    (record.use == sim::Use::fit ? fit : test).insert(record.id);
    CHECK(record.use == sim::use_by_rule(record.group));
  }
  CHECK(fit.size() > 250);
  CHECK(test.size() > 250);
  for (const std::string& id : fit) CHECK(test.count(id) == 0);
}

TEST_CASE(
    "records that are scored apart are targets; of these, only whole trainings fit a constant, one of their own") {
  const std::vector<sim::Suite> suites = committed_suites();
  const std::vector<sim::Record> to_fit = sim::records_to_fit(suites);
  std::set<std::string> apart, sources;
  const auto is_whole = [](const sim::Record& record) { return record.metric.find("_tokens") != std::string::npos; };
  for (const sim::Record& record : sim::records_of(suites))
    if (record.use == sim::Use::apart && !is_whole(record)) apart.insert(record.id);
  CHECK(apart.size() > 40);
  CHECK(to_fit.size() + apart.size() == sim::records_of(suites).size());
  for (const sim::Record& record : to_fit) {
    CHECK(apart.count(record.id) == 0);
    sources.insert(record.source);
  }
  for (const char* release : {"25.09", "25.11", "26.02", "26.02.01"})
    CHECK(sources.count(std::string("NVIDIA Megatron-Bridge performance summary ") + release + " (Pre-Training)") == 1);
  const sim::Constant& fitted = catalogue().constants.at(sim::kTrainingOverFastest);
  CHECK(fitted.sources.size() >= 3);
  for (const auto& [name, constant] : catalogue().constants)
    if (name != sim::kTrainingOverFastest && name.rfind("bounds", 0) != 0)
      for (const std::string& source : fitted.sources)
        CHECK(std::count(constant.sources.begin(), constant.sources.end(), source) == 0);
  // One job ran twice as fast in the releases before and after it. A B300 trained another more slowly than a B200.
  CHECK(apart.count("L-0454") == 1);
  CHECK(apart.count("L-0386") == 1);
}

TEST_CASE("a bad record costs itself, never its suite, and no committed record is bad") {
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    INFO(record.refused);
    CHECK(record.refused.empty());
  }
  const TemporaryFolder folder;
  const std::string good = R"("role": "target", "use": "apart", "metric": "images_per_s", "unit": "images/s",
      "software": "pytorch", "model": "resnet50", "gpu": "V100", "gpus": 1, "batch_per_gpu": 64, "value": 400)";
  folder.write("one.json", R"({"schema": "lockstep/suite/1", "name": "one",
    "description": "d", "tolerances": {"median_error": 1, "coverage": 0, "median_width": 9}, "records": [
      {"id": "good", )" + good +
                               R"(}, {"id": "key", "colour": "red", )" + good + R"(},
      {"id": "schedule", "schedule": "pipedream", )" +
                               good + R"(}, {"id": "fact", "colour": "red", "role": "input",
       "use": "given", "metric": "epochs", "value": 3}, {"id": "good", )" +
                               good + "}]}");
  const std::vector<sim::Suite> suites = sim::load_suites(folder.path("."));
  const std::vector<sim::Record> all = sim::records_of(suites);
  REQUIRE(all.size() == 5);
  const auto results = sim::validate_suites(suites, all, catalogue(), 1);
  CHECK(results.at(0).apart.predicted == 1);
  CHECK(results.at(0).apart.unmapped == 3);
  const std::string table = sim::validation_table(results, true);
  for (const char* reason :
       {"unknown key \"colour\"", "\"pipedream\" is unknown", "a second record with the id \"good\""})
    CHECK_THAT(table, Contains(reason));
}

TEST_CASE("software of an unknown name costs its record alone") {
  const std::string rest = R"("metric": "images_per_s", "model": "resnet50", "gpu": "V100", "gpus": 1,
      "batch_per_gpu": 64)";
  const auto predictions = predict(records_from(R"([{"id": "a", "software": "meta", )" + rest +
                                                R"(}, {"id": "b", "software": "acme-trainer", )" + rest +
                                                R"(}, {"id": "c", "software": "other", )" + rest + "}]"));
  CHECK_THAT(predictions.at(0).task.unmapped, Contains("software \"meta\" is not in the catalogue"));
  CHECK_THAT(predictions.at(1).task.unmapped, Contains("software \"acme-trainer\" is not in the catalogue"));
  CHECK(predictions.at(2).is_mapped());
}

TEST_CASE("a record may say why it is not predicted, in a sentence") {
  const auto records = records_from(R"([{"id": "a", "role": "target", "metric": "step_time", "value": 1, "unit": "s",
    "model": "llama2_7b", "gpu": "TPU v5e", "gpus": 8, "not_predicted": "A TPU is no GPU."}])");
  CHECK(predict(records).at(0).task.unmapped == "A TPU is no GPU.");
  int with_reason = 0;
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    if (record.not_predicted.empty()) continue;
    INFO(record.id << ": " << record.not_predicted);
    CHECK(record.role == sim::Role::target);
    CHECK(record.not_predicted.back() == '.');
    ++with_reason;
  }
  CHECK(with_reason > 100);
}

TEST_CASE("no figure of the catalogue is from a source whose results are predicted") {
  const std::vector<sim::Record> records = sim::records_of(committed_suites());
  for (const std::string& line : sim::figures_of_targets(catalogue(), records)) FAIL_CHECK(line);
  // A GPU's memory bandwidth has that source.
  std::vector<sim::Record> one(1);
  one[0].role = sim::Role::target;
  one[0].source = "a page of Hugging Face: Hugging Face hardware catalogue";
  CHECK(sim::figures_of_targets(catalogue(), one).empty());
  one[0].source = "Hugging Face hardware catalogue";
  CHECK_FALSE(sim::figures_of_targets(catalogue(), one).empty());
}

TEST_CASE("a whole source is a paper with its repository, and all rounds of MLPerf") {
  const sim::SourceTable sources = sim::load_sources(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites").value();
  CHECK(sources.at("MLPerf Training v0.5 closed/open division ResNet-50 logs") ==
        sources.at("MLPerf Training v4.0 closed/open division ResNet-50 logs"));
  CHECK(sources.at("Theano-MPI repository README, 2016-2017") ==
        sources.at("Ma, Mao, Taylor, Theano-MPI, 2016 (arXiv 1605.08325)"));
  CHECK(sources.at("AlexaTM 20B paper 2022 (arXiv 2208.01448)") == "AlexaTM 20B paper 2022 (arXiv 2208.01448)");
  std::set<std::string> cited, names;
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    cited.insert(record.source);
    names.insert(record.whole_source);
  }
  CHECK(names.size() < cited.size());
  for (const auto& [citation, name] : sources) {
    INFO(citation);
    CHECK(cited.count(citation) == 1);
  }
  for (const std::string& name : sim::sources_in_series()) CHECK(names.count(name) == 1);
}

TEST_CASE("a citation that the table of sources does not have is refused, and without a table it is a source") {
  const auto suite_of = [](const std::string& source) {
    return R"({"schema": "lockstep/suite/1", "name": "one", "description": "d",
      "tolerances": {"median_error": 1, "coverage": 0, "median_width": 9}, "records": [{"id": "a", "role": "target",
      "use": "apart", "metric": "images_per_s", "unit": "images/s", "value": 400, "source": ")" +
           source + "\"}]}";
  };
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("suites"));
  folder.write("suites/one.json", suite_of("a paper, its repository"));
  CHECK(sim::load_suites(folder.path("suites")).at(0).records.at(0).whole_source == "a paper, its repository");
  const auto write_sources = [&](const std::string& sources) {
    folder.write("sources.json",
                 R"({"schema": "lockstep/sources/1", "description": "d", "sources": [)" + sources + "]}");
  };
  write_sources(R"({"name": "a paper", "citations": ["a paper, its repository", "a paper, its text"]}, {"name": "b"})");
  CHECK(sim::load_suites(folder.path(".")).at(0).records.at(0).whole_source == "a paper");
  CHECK(sim::load_suites(folder.path("suites")).at(0).records.at(0).whole_source == "a paper");
  folder.write("suites/one.json", suite_of("a paper, its Repository"));
  const std::string refused = error_of([&] { (void)sim::load_suites(folder.path(".")); });
  CHECK_THAT(refused, Contains("/records/0: the source \"a paper, its Repository\" is not in sources.json"));
  write_sources(R"({"name": "a"}, {"name": "b", "citations": ["a"]})");
  CHECK_THAT(error_of([&] { (void)sim::load_suites(folder.path(".")); }), Contains("is listed twice"));
}

TEST_CASE("of a vendor's series of summaries the older ones predict the newer, never the other way") {
  const std::vector<std::string> summaries = sim::sources_in_series();
  REQUIRE(summaries.size() == 4);
  for (std::size_t i = 0; i < summaries.size(); ++i)
    for (std::size_t j = 0; j < summaries.size(); ++j) CHECK(sim::may_predict(summaries[i], summaries[j]) == (i < j));
  CHECK(sim::may_predict(summaries[3], "another paper"));
  CHECK(sim::may_predict("another paper", summaries[0]));
}

TEST_CASE("every committed constant says how well it is known, and from which sources") {
  REQUIRE_FALSE(catalogue().constants.empty());
  for (const auto& [name, constant] : catalogue().constants) {
    INFO(name);
    CHECK(constant.records >= static_cast<int>(constant.sources.size()));
    CHECK_FALSE(constant.sources.empty());
    if (name.rfind("bounds", 0) != 0) CHECK(constant.deviation > 0);
  }
}

TEST_CASE("baselines: a rate scaled, a line through given all-reduces, the nearest of other sources") {
  const auto records = records_from(R"([
   {"id": "one", "role": "input", "use": "given", "group": "g", "source": "A", "metric": "images_per_s", "value": 380,
    "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64},
   {"id": "many", "role": "target", "use": "fit", "group": "g", "source": "A", "metric": "images_per_s", "value": 5500,
    "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 16, "gpus_per_node": 8, "network": "100 Gb/s RoCE",
    "precision": "fp32", "batch_per_gpu": 64},
   {"id": "else", "role": "target", "use": "fit", "group": "h", "source": "B", "metric": "images_per_s", "value": 2800,
    "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 8, "gpus_per_node": 8, "precision": "fp32", "batch_per_gpu": 64}])");
  const sim::FittedConstants fitted{without_constants(), {}, {}};
  const auto left_out = sim::predict_left_out(fitted, records, sim::targets_of(records), 1);
  REQUIRE(left_out.size() == 3);  // both by facts, then that with a given rate
  CHECK(left_out[0].baselines.nearest.value_or(0) == Approx(2800 * 2));
  CHECK_FALSE(left_out[0].baselines.linear);
  CHECK(left_out[2].track == sim::Track::results);
  CHECK(left_out[2].prediction.record->id == "many");
  CHECK(left_out[2].baselines.linear.value_or(0) == Approx(380 * 16));
}

TEST_CASE("baselines: a transformer's rate at the median share of the peak that other sources have had") {
  // Llama-2-7B has 6,738,415,616 parameters, an A100 312 TFLOP/s; 4,096 tokens a sequence.
  const auto records = records_from(R"([
   {"id": "tokens", "role": "target", "use": "fit", "group": "a", "source": "A", "metric": "throughput_per_gpu",
    "value": 3000, "unit": "tokens/s/GPU", "model": "llama2_7b", "gpu": "a100-sxm4-80gb", "gpus": 8, "gpus_per_node": 8,
    "seq": 4096, "software": "megatron-lm", "microbatch": 1, "global_batch": 128, "tp": 1, "dp": 8, "precision": "bf16"},
   {"id": "mfu", "role": "target", "use": "fit", "group": "b", "source": "B", "metric": "mfu", "value": 60, "unit": "%",
    "model": "llama2_7b", "gpu": "a100-sxm4-80gb", "gpus": 8, "gpus_per_node": 8,
    "seq": 4096, "software": "megatron-lm", "microbatch": 1, "global_batch": 128, "tp": 1, "dp": 8, "precision": "bf16"},
   {"id": "image", "role": "target", "use": "fit", "group": "d", "source": "D", "metric": "images_per_s", "value": 380,
    "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64},
   {"id": "time", "role": "target", "use": "fit", "group": "c", "source": "C", "metric": "step_time", "value": 5,
    "unit": "s", "model": "llama2_7b", "gpu": "a100-sxm4-80gb", "gpus": 64, "gpus_per_node": 8,
    "network": "8x InfiniBand HDR", "seq": 4096, "software": "megatron-lm", "microbatch": 1, "global_batch": 32,
    "tp": 8, "dp": 8, "precision": "bf16"},
   {"id": "again", "role": "target", "use": "fit", "group": "c", "source": "C", "metric": "achieved_flops_per_gpu",
    "value": 150, "unit": "TFLOP/s", "model": "llama2_7b", "gpu": "a100-sxm4-80gb", "gpus": 64, "gpus_per_node": 8,
    "network": "8x InfiniBand HDR", "seq": 4096, "software": "megatron-lm", "microbatch": 1, "global_batch": 32,
    "tp": 8, "dp": 8, "precision": "bf16", "recompute": "full"}])");
  const double operations_per_token = 6 * 6738415616., peak_flops = 312e12;
  const double of_a = 3000 * operations_per_token / peak_flops, of_b = 0.6;
  const double of_both = (of_a + of_b) / 2;
  const auto left_out = sim::predict_left_out({without_constants(), {}, {}}, records, sim::targets_of(records), 1);
  REQUIRE(left_out.size() == 5);
  // Source C's own records say nothing; an iteration has 32 sequences, half a one for each GPU.
  CHECK(left_out[3].baselines.mfu.value_or(0) ==
        Approx(32 * 4096 * operations_per_token / (64 * of_both * peak_flops)));
  // FLOP/s that count the forward pass twice: 8 operations for 6.
  CHECK(left_out[4].baselines.mfu.value_or(0) == Approx(of_both * 312 * 4 / 3));
  CHECK_FALSE(left_out[2].baselines.mfu);
  // C's median is of a time and of FLOP/s that count the forward pass twice.
  const double of_c = (32 * 4096 * operations_per_token / (64 * 5 * peak_flops) + 150. / 312 * 3 / 4) / 2;
  CHECK(left_out[0].baselines.mfu.value_or(0) == Approx((of_b + of_c) / 2 * peak_flops / operations_per_token));
  CHECK(left_out[1].baselines.mfu.value_or(0) == Approx(100 * (of_a + of_c) / 2));
}

TEST_CASE("scores are medians and shares over the mapped records of one use") {
  // Errors 10, 20 and 30 per cent, the last one outside its bounds.
  std::vector<sim::Prediction> predictions;
  for (int i = 0; i < 4; ++i) {
    sim::Record record;
    record.id = std::string(1, static_cast<char>('a' + i));
    record.value = 100;
    record.use = sim::Use::test;
    sim::Prediction p;
    p.record = std::make_shared<const sim::Record>(record);
    p.predicted = 100 + 10 * (i + 1);
    p.low = i == 2 ? 110 : 95;
    p.high = 150;
    if (i == 3) p.task.unmapped = "why";
    predictions.push_back(p);
  }
  const sim::Score score = sim::score_of(predictions, sim::Use::test);
  CHECK(score.predicted == 3);
  CHECK(score.unmapped == 1);
  CHECK(score.median == Approx(0.2));
  CHECK(score.worst == Approx(0.3));
  CHECK(score.worst_id == "c");
  CHECK(score.coverage == Approx(2.0 / 3));
  CHECK(sim::score_of(predictions, sim::Use::fit).predicted == 0);
}

}  // namespace lockstep::tests
