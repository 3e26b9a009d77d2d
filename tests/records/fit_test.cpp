// The fit of constants, and the errors for held-out sources: laws on small cases, then the committed constants.
#include "sim/validation/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/validation/scoring.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

// A rate of one GPU that is to be predicted.
std::string rate(const std::string& id, const std::string& source, double images_per_s, const std::string& gpu = "K80",
                 const std::string& model = "ResNet-50", int batch = 64, const std::string& precision = "fp32") {
  return R"({"id": ")" + id + R"(", "source": ")" + source + R"(", "metric": "images_per_s", "gpu": ")" + gpu +
         R"(", "gpus": 1, "software": "other", "model": ")" + model + R"(", "batch_per_gpu": )" +
         std::to_string(batch) + R"(, "precision": ")" + precision + R"(", "role": "target", "use": "fit", "value": )" +
         std::to_string(images_per_s) + "}";
}

// An NCCL all-reduce between two nodes of eight GPUs, in seconds.
std::string between_nodes(const std::string& id, const std::string& source, const std::string& gpu,
                          const std::string& link, const std::string& network, double bytes) {
  return R"({"id": ")" + id + R"(", "source": ")" + source +
         R"(", "metric": "allreduce_seconds", "unit": "s", "gpu": ")" + gpu +
         R"(", "gpus": 16, "gpus_per_node": 8, "link": ")" + link + R"(", "network": )" + network +
         R"(, "software": "collective", "precision": "fp32", "bytes": )" + std::to_string(bytes) +
         R"(, "role": "target", "use": "fit", "value": 1})";
}

std::vector<sim::Record> records_of_all(const std::vector<std::string>& all) {
  std::string json;
  for (const std::string& one : all) json += (json.empty() ? "[" : ", ") + one;
  return records_from(json + "]");
}

// Checks predictions with the shipped constants.
void check_as_published(const std::set<std::string>& ids, double epsilon) {
  std::vector<sim::Record> records;
  for (const sim::Record& record : sim::records_of(committed_suites()))
    if (ids.count(record.id) > 0) records.push_back(record);
  REQUIRE(records.size() == ids.size());
  for (const sim::Prediction& p : predict(records)) {
    INFO(p.record->id);
    CHECK(p.predicted == Approx(*p.record->value).epsilon(epsilon));
  }
}

}  // namespace

TEST_CASE("a source left out is predicted without its results, those of others decide") {
  // Two papers with three rates each of a GPU that is twice as fast in one of them.
  std::vector<std::string> rates;
  for (int i = 0; i < 6; ++i) rates.push_back(rate(std::to_string(i), i < 3 ? "A" : "B", i < 3 ? 20 + i : 40 + i));
  const auto records = records_of_all(rates);
  const auto targets = sim::targets_of(records);
  const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records, 1);
  const auto left_out = sim::predict_left_out(fitted, records, targets, 1);
  REQUIRE(left_out.size() == 6);  // nothing is given, so there are only facts
  const auto usual = sim::predict_records(targets, {}, without_constants(), 1);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(left_out[i].track == sim::Track::facts);
    // The prediction is between the prior and the other paper's value, and nearer to the latter than the prior is.
    const double other = i < 3 ? 44 : 21;
    const double before = std::abs(std::log(usual[i].predicted / other));
    CHECK(std::abs(std::log(left_out[i].prediction.predicted / other)) < 0.6 * before);
  }
  // Constants without a source equal those of a fit that never saw it.
  const std::vector<sim::Record> others(records.begin() + 3, records.end());
  const sim::FittedConstants without = sim::fit_constants(without_constants(), others, 1);
  for (const auto& [name, constant] : without.all.constants) {
    INFO(name);
    CHECK(fitted.without.at("A").constants.at(name).value == Approx(constant.value).epsilon(0.12));
  }
}

TEST_CASE("what more sources say is believed more") {
  const auto speed_from = [](int sources) {
    std::vector<std::string> rates;
    for (int i = 0; i < sources; ++i) rates.push_back(rate(std::to_string(i), "paper " + std::to_string(i), 25));
    const auto records = records_of_all(rates);
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
  // Each of three papers has two networks on a P100, with prior rates, and on an H100, with rates slower than the
  // prior.
  const std::map<std::string, double> of_h100{{"A", 0.5}, {"B", 0.6}, {"C", 0.7}};
  std::vector<std::string> rates;
  for (const auto& [paper, share] : of_h100)
    for (const char* gpu : {"P100-SXM2", "H100 SXM5"})
      for (const char* model : {"ResNet-50", "VGG-16"})
        for (const int batch : {32, 64, 128})
          rates.push_back(rate(paper + gpu + model + std::to_string(batch), paper, 1, gpu, model, batch, "mixed"));
  auto records = records_of_all(rates);
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

TEST_CASE("an all-reduce that NCCL's tables hold up says nothing of its network, one at the turn half") {
  // By NCCL's tables, two nodes of H100 reach 461 GB/s, for which 246 GB/s per node suffice. Eight nodes reach 364
  // GB/s, which is what eight ports of NDR carry with the prior. Rings over two nodes of A100 are limited by their
  // network.
  const std::string ndr = R"({"id": "ib-ndr", "count": 8})", hdr = R"({"id": "ib-hdr", "count": 8})";
  std::string eight_nodes = between_nodes("turn", "A", "H100 SXM5", "nvlink4", ndr, 16e9);
  eight_nodes.replace(eight_nodes.find("\"gpus\": 16"), 10, "\"gpus\": 64");
  const auto records = records_of_all({between_nodes("held", "A", "H100 SXM5", "nvlink4", ndr, 16e9), eight_nodes,
                                       between_nodes("free", "A", "A100 SXM4 80GB", "nvlink3", hdr, 16e9)});
  sim::FitRows rows(without_constants(), records, 1);
  rows.linearise(without_constants());
  std::map<std::string, double> slopes;
  for (const sim::FitRow& row : rows.all())
    for (const auto& [chain, slope] : row.slopes)
      if (chain.back() == "network share/rdma") slopes[row.job->id] = -slope;
  CHECK(slopes.at("held") == Approx(0).margin(0.02));
  CHECK(slopes.at("turn") == Approx(0.5).margin(0.1));
  CHECK(slopes.at("free") > 0.55);  // up to 192 GB/s, 5 % more than is usual of HDR, and all the way down
  CHECK(slopes.at("free") < 1);
}

TEST_CASE("GPUs whose memory NICs do not reach have a share of the network of their own, and so has a cloud's plugin") {
  const std::string ib = R"({"id": "ib-fdr"})";
  const auto asked = [](const std::string& record) {
    const std::vector<sim::Record> records = records_of_all({record});
    const auto predictions = predict(records, without_constants());
    std::string names;
    for (const auto& [specific, chain] : predictions.at(0).task.asked_for)
      if (chain.back().rfind("network share", 0) == 0) names = specific;
    return names;
  };
  CHECK(asked(between_nodes("a", "A", "GTX 1080 Ti", "pcie", ib, 1e8)) == "network share/rdma/nccl/by host memory");
  CHECK(asked(between_nodes("a", "A", "Tesla P100 PCIe", "pcie", ib, 1e8)) == "network share/rdma/nccl");
  CHECK(asked(between_nodes("a", "A", "H100 SXM5", "nvlink4", R"({"id": "aws-p5", "count": 1})", 1e8)) ==
        "network share/rdma/nccl/plugin/aws-p5");
}

TEST_CASE("trainings without a rate of their own are as much longer than benchmarks say as those of others were") {
  const auto training = [](const std::string& id, const std::string& source) {
    return R"({"id": ")" + id + R"(", "source": ")" + source + R"(", "metric": "training_time_s", "unit": "s",
      "software": "pytorch", "model": "resnet50", "gpu": "v100-sxm2", "gpus": 64, "gpus_per_node": 8, "batch_per_gpu": 64,
      "epochs": 90, "role": "target", "use": "fit", "value": 1})";
  };
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) all.push_back(training(std::to_string(i), "paper " + std::to_string(i)));
  auto records = records_of_all(all);
  const double usual = predict(records, without_constants()).at(0).predicted;
  for (sim::Record& record : records) record.value = 1.4 * usual;
  const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records, 1);
  const auto left_out = sim::predict_left_out(fitted, records, sim::targets_of(records), 1);
  CHECK(left_out.at(0).prediction.predicted == Approx(1.4 * usual).epsilon(0.05));
  // The constant for a training's time beyond its iterations differs from that of a training with known speed.
  CHECK(fitted.all.constants.count(sim::kTrainingOverBenchmark) == 1);
  CHECK(fitted.all.constants.count(sim::kEvaluationShare) == 0);
}

TEST_CASE("sensitivity: what left-out sources are off by, and what another noise would make of them") {
  // Ten sources have one equal rate each: with twice the noise they have less weight, with half of it more.
  std::vector<std::string> rates;
  for (int i = 0; i < 10; ++i) rates.push_back(rate(std::to_string(i), "paper " + std::to_string(i), 25));
  const sim::FittedConstants fitted = sim::fit_constants(without_constants(), records_of_all(rates), 1, {}, true);
  REQUIRE_FALSE(fitted.sensitivities.empty());
  std::map<std::pair<std::string, double>, double> medians;
  for (const sim::FitSensitivity& one : fitted.sensitivities) {
    const sim::LeftOutErrors& errors = one.errors.at("throughput");
    CHECK(errors.sources == 10);
    CHECK(errors.median >= 0);
    medians[{one.of, one.factor}] = errors.median;
  }
  const double as_it_is = medians.at({"", 1});
  CHECK(medians.at({"noise of a record", 2}) > as_it_is);
  CHECK(medians.at({"noise of a record", 0.5}) < as_it_is);
  CHECK(medians.at({"records by which a source counts", 2}) == Approx(as_it_is));  // none has more than one
  // The residual of a record in the solution is the error of its prediction.
  const auto records = records_of_all(rates);
  const auto left_out = sim::predict_left_out(fitted, records, sim::targets_of(records), 1);
  CHECK(std::abs(left_out.at(0).prediction.predicted / 25 - 1) == Approx(as_it_is).margin(0.01));
  const std::string table = sim::sensitivity_table(fitted.sensitivities);
  CHECK(table.find("throughput, 10") != std::string::npos);
  CHECK(table.find("twice, noise of a record") != std::string::npos);
  CHECK(table.find("records by which") == std::string::npos);  // it changes nothing
}

TEST_CASE("large all-reduces in one node of A100, H100, H200 are as published") {
  // NCCL rounds a link's bandwidth to steps of a fifth, between which nothing changes. A fit that could not see this
  // lost NVLink 4's own constant, and rings on eight H200 were predicted 20 % too slow.
  CHECK(catalogue().constants.count("link share/nccl/nvlink4") == 1);
  check_as_published({"STAS-A100-17179869184", "AZ-H100-8G", "STAS-H200-nvls-8-ring", "STAS-H200-nvls-8-default"}, 0.1);
}

TEST_CASE("large all-reduces over InfiniBand and RoCE are as published") {
  // They reach what their ports carry. One share stood for clouds' plugins and GPUs without GPUDirect too, so
  // these were 13 to 27 % too slow, though the fit had them.
  check_as_published(
      {"CW-H100-64-8589934592", "DO-A100-2n-4294967296", "DO-A100-4n-4294967296", "DST-lambda-B200-2n-2147483648",
       "DST-gcp-a4-B200-2n-8589934592", "NEB-H200-2n-17179869184", "OKE-A100-B4-2n-2026-8589934592"},
      0.08);
}

TEST_CASE("bounds hold four of five, and follow how far sources are apart") {
  // Twenty sources with a rate each, between 30 and 30 times `ratio`.
  const auto predicted = [](double ratio) {
    std::vector<std::string> rates;
    for (int i = 0; i < 20; ++i)
      rates.push_back(rate(std::to_string(i), "paper " + std::to_string(i), 30 * std::pow(ratio, i / 19.0)));
    return records_of_all(rates);
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

}  // namespace lockstep::tests
