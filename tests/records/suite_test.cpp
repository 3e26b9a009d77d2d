// Suites of published results, the fit of constants, and what predictions of sources left out are worth.
#include "sim/records/suite.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/records/scoring.hpp"
#include "sim/records/sources.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::vector<sim::Suite> committed_suites() {
  return sim::load_suites(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites");
}

sim::Catalogue without_constants() {
  sim::Catalogue bare = catalogue();
  bare.constants.clear();
  return bare;
}

}  // namespace

TEST_CASE("fit and test records are disjoint and as the rule says") {
  std::set<std::string> fit, test;
  for (const sim::Record& record : sim::records_of(committed_suites())) {
    if (record.use == sim::Use::given) continue;
    (record.use == sim::Use::fit ? fit : test).insert(record.id);
    CHECK(record.use == sim::use_by_rule(record.group));
  }
  CHECK(fit.size() > 250);
  CHECK(test.size() > 250);
  for (const std::string& id : fit) CHECK(test.count(id) == 0);
}

TEST_CASE("no figure of the catalogue is from a source whose results are predicted") {
  const std::vector<sim::Record> records = sim::records_of(committed_suites());
  for (const std::string& line : sim::figures_of_targets(catalogue(), records)) FAIL_CHECK(line);
  // A GPU's memory bandwidth is from there.
  std::vector<sim::Record> one(1);
  one[0].role = sim::Role::target;
  one[0].source = "a page of Hugging Face: Hugging Face hardware catalogue";
  CHECK(sim::figures_of_targets(catalogue(), one).empty());
  one[0].source = "Hugging Face hardware catalogue";
  CHECK_FALSE(sim::figures_of_targets(catalogue(), one).empty());
}

TEST_CASE("a whole source is a paper with its repository, and all rounds of MLPerf") {
  CHECK(sim::whole_source("MLPerf Training v0.5 closed/open division ResNet-50 logs") ==
        sim::whole_source("MLPerf Training v4.0 closed/open division ResNet-50 logs"));
  CHECK(sim::whole_source("Theano-MPI repository README, 2016-2017") ==
        sim::whole_source("Ma, Mao, Taylor, Theano-MPI, 2016 (arXiv 1605.08325)"));
  CHECK(sim::whole_source("stas00/ml-engineering network/README.md") ==
        sim::whole_source("stas00/ml-engineering, network/README.md: bus bandwidth"));
  CHECK(sim::whole_source("stas00/ml-engineering, compute/accelerator/README.md") !=
        sim::whole_source("stas00/ml-engineering network/README.md"));
  CHECK(sim::whole_source("a paper") == "a paper");
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

TEST_CASE("a source left out is predicted without its results, those of others decide") {
  // Two papers with three rates each of a GPU that is twice as fast in one of them.
  std::string json;
  for (int i = 0; i < 6; ++i)
    json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + std::to_string(i) + R"(", "source": ")" +
            (i < 3 ? "A" : "B") + R"(", "metric": "images_per_s", "gpu": "K80", "gpus": 1, "model": "ResNet-50",
            "batch_per_gpu": 64, "precision": "fp32", "role": "target", "use": "fit", "value": )" +
            std::to_string(i < 3 ? 20 + i : 40 + i) + "}";
  const auto records = records_from(json + "]");
  const auto targets = sim::targets_of(records);
  const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records, 1);
  const auto left_out = sim::predict_left_out(fitted, records, targets, 1);
  REQUIRE(left_out.size() == 6);  // nothing is given: facts alone
  const auto usual = sim::predict_records(targets, {}, without_constants(), 1);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(left_out[i].track == sim::Track::facts);
    // Between what is usual and what the other paper has, and nearer to that one than what is usual is.
    const double other = i < 3 ? 44 : 21;
    const double before = std::abs(std::log(usual[i].predicted / other));
    CHECK(std::abs(std::log(left_out[i].prediction.predicted / other)) < 0.6 * before);
  }
  // The left-out constants are those of a fit that never saw the source.
  const std::vector<sim::Record> others(records.begin() + 3, records.end());
  const sim::FittedConstants without = sim::fit_constants(without_constants(), others, 1);
  for (const auto& [name, constant] : without.all.constants) {
    INFO(name);
    CHECK(fitted.without.at("A").constants.at(name).value == Approx(constant.value).epsilon(0.12));
  }
}

TEST_CASE("what more sources say is believed more") {
  const auto speed_from = [](int sources) {
    std::string json;
    for (int i = 0; i < sources; ++i)
      json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + std::to_string(i) + R"(", "source": "paper )" +
              std::to_string(i) + R"(", "metric": "images_per_s", "gpu": "K80", "gpus": 1, "model": "ResNet-50",
              "batch_per_gpu": 64, "precision": "fp32", "role": "target", "use": "fit", "value": 25})";
    const auto records = records_from(json + "]");
    const sim::Catalogue fitted = sim::fit_constants(without_constants(), records, 1).all;
    return std::make_pair(sim::predict_records({&records[0]}, {}, fitted, 1)[0].predicted,
                          fitted.constants.at("speed/kepler/fp32").deviation);
  };
  const auto [of_one, one_off] = speed_from(1);
  const auto [of_eight, eight_off] = speed_from(8);
  CHECK(std::abs(std::log(of_eight / 25)) < std::abs(std::log(of_one / 25)));
  CHECK(of_eight == Approx(25).epsilon(0.05));
  CHECK(eight_off < one_off);
}

TEST_CASE("what two sources say of a generation is what the third is predicted by") {
  // Of each of three papers: two networks on a P100, as usual, and on an H100, which each has slower than usual.
  const std::map<std::string, double> of_h100{{"A", 0.5}, {"B", 0.6}, {"C", 0.7}};
  std::string json;
  for (const auto& [paper, share] : of_h100)
    for (const char* gpu : {"P100-SXM2", "H100 SXM5"})
      for (const char* model : {"ResNet-50", "VGG-16"})
        for (const int batch : {32, 64, 128})
          json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + paper + gpu + model + std::to_string(batch) +
                  R"(", "source": ")" + paper + R"(", "metric": "images_per_s", "gpu": ")" + gpu +
                  R"(", "gpus": 1, "model": ")" + model + R"(", "batch_per_gpu": )" + std::to_string(batch) +
                  R"(, "precision": "mixed", "role": "target", "use": "fit", "value": 1})";
  auto records = records_from(json + "]");
  const auto usual = sim::predict_records(sim::targets_of(records), {}, without_constants(), 1);
  const auto is_h100 = [](const sim::Record& record) { return record.id.find("H100") != std::string::npos; };
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i].value = usual[i].predicted * (is_h100(records[i]) ? of_h100.at(records[i].source) : 1);
  const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records, 1);
  const auto left_out = sim::predict_left_out(fitted, records, sim::targets_of(records), 1);
  REQUIRE(left_out.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    INFO(records[i].id);
    double others = 1;  // their geometric mean
    for (const auto& [paper, share] : of_h100)
      if (paper != records[i].source && is_h100(records[i])) others *= std::sqrt(share);
    CHECK(left_out[i].prediction.predicted == Approx(usual[i].predicted * others).epsilon(0.1));
  }
}

TEST_CASE("large all-reduces in one node of A100, H100, H200 are as published") {
  // NCCL takes a link's bandwidth in steps of a fifth, on which nothing moves: a fit that saw none of that lost NVLink 4's
  // own constant, and rings on eight H200 were 20 % too slow.
  CHECK(catalogue().constants.count("link share/nccl/nvlink4") == 1);
  std::vector<sim::Record> largest;
  for (const sim::Record& record : sim::records_of(committed_suites()))
    for (const char* id : {"STAS-A100-17179869184", "AZ-H100-8G", "STAS-H200-nvls-8-ring", "STAS-H200-nvls-8-default"})
      if (record.id == id) largest.push_back(record);
  REQUIRE(largest.size() == 4);
  for (const sim::Prediction& p : predict(largest)) {
    INFO(p.record->id);
    CHECK(p.predicted == Approx(*p.record->value).epsilon(0.1));
  }
}

TEST_CASE("bounds hold four of five, and follow how far sources are apart") {
  // Twenty sources with a rate each, between 30 and 30 times `ratio`.
  const auto predicted = [](double ratio) {
    std::string json;
    for (int i = 0; i < 20; ++i)
      json += std::string(json.empty() ? "[" : ", ") + R"({"id": ")" + std::to_string(i) + R"(", "source": "paper )" +
              std::to_string(i) + R"(", "metric": "images_per_s", "gpu": "K80", "gpus": 1, "model": "ResNet-50",
              "batch_per_gpu": 64, "precision": "fp32", "role": "target", "use": "fit", "value": )" +
              std::to_string(30 * std::pow(ratio, i / 19.0)) + "}";
    return records_from(json + "]");
  };
  double narrower = 0;
  for (const double ratio : {1.1, 2.0}) {
    const auto records = predicted(ratio);
    const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records, 1);
    int inside = 0;
    double width = 0;
    for (const sim::LeftOut& one : sim::predict_left_out(fitted, records, sim::targets_of(records), 1)) {
      const sim::Prediction& p = one.prediction;
      inside += p.low <= *p.record->value && *p.record->value <= p.high;
      width += p.high / p.low / 20;
    }
    CHECK(inside >= 14);
    CHECK(inside <= 18);
    CHECK(width > narrower);
    CHECK(width < ratio * ratio);
    narrower = width;
  }
}

TEST_CASE("the fit is the same whatever the order of records") {
  std::vector<sim::Record> few;
  for (const sim::Record& record : sim::records_of(committed_suites()))
    if (record.id.rfind("MXP-K80-ResNet", 0) == 0 || record.id.rfind("MXP-K80-AlexNet", 0) == 0) few.push_back(record);
  REQUIRE(few.size() >= 6);
  const sim::Catalogue one = sim::fit_constants(without_constants(), few, 1).all;
  std::reverse(few.begin(), few.end());
  const sim::Catalogue other = sim::fit_constants(without_constants(), few, 1).all;
  CHECK(one.constants.count("kernel launch/mxnet") == 1);
  REQUIRE(one.constants.size() == other.constants.size());
  for (const auto& [name, constant] : one.constants) {
    INFO(name);
    CHECK(other.constants.at(name).value == Approx(constant.value).epsilon(1e-9));
  }
}

TEST_CASE("baselines: a rate scaled, a line through given all-reduces, the nearest of other sources") {
  const auto records = records_from(R"([
   {"id": "one", "role": "input", "use": "given", "group": "g", "source": "A", "metric": "images_per_s", "value": 380,
    "model": "ResNet-50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64},
   {"id": "many", "role": "target", "use": "fit", "group": "g", "source": "A", "metric": "images_per_s", "value": 5500,
    "model": "ResNet-50", "gpu": "V100", "gpus": 16, "gpus_per_node": 8, "network": "100 Gb/s RoCE",
    "precision": "fp32", "batch_per_gpu": 64},
   {"id": "else", "role": "target", "use": "fit", "group": "h", "source": "B", "metric": "images_per_s", "value": 2800,
    "model": "ResNet-50", "gpu": "V100", "gpus": 8, "gpus_per_node": 8, "precision": "fp32", "batch_per_gpu": 64}])");
  const sim::FittedConstants fitted{without_constants(), {}};
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
    "model": "ResNet-50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64},
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
  const auto left_out = sim::predict_left_out({without_constants(), {}}, records, sim::targets_of(records), 1);
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
  std::vector<sim::Record> records(4);
  std::vector<sim::Prediction> predictions;
  for (int i = 0; i < 4; ++i) {
    sim::Record& record = records[static_cast<std::size_t>(i)];
    record.id = std::string(1, static_cast<char>('a' + i));
    record.value = 100;
    record.use = sim::Use::test;
    sim::Prediction p{&record, {}};
    p.predicted = 100 + 10 * (i + 1);
    p.low = i == 2 ? 110 : 95;
    p.high = 150;
    if (i == 3) p.mapped.unmapped = "why";
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
