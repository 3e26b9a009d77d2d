// Predictions of records: laws and bounds first, then values that follow from given ones, then unmapped records.
#include "sim/validation/predict.hpp"
#include "sim/point/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/quantity/workload_time.hpp"
#include "sim/validation/record.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

double predicted_of_record(const std::string& json) {
  const auto records = records_from(json);
  const auto predictions = predict(records);
  REQUIRE(predictions.size() == 1);
  INFO(predictions[0].task.unmapped);
  REQUIRE(predictions[0].is_mapped());
  CHECK(predictions[0].low <= predictions[0].predicted);
  CHECK(predictions[0].predicted <= predictions[0].high);
  return predictions[0].predicted;
}

std::string why_not(const std::string& json) {
  const auto records = records_from(json);
  return predict(records).at(0).task.unmapped;
}

std::string all_reduce(const std::string& metric, const std::string& unit, double bytes, int gpus) {
  return R"([{"id": "a", "metric": ")" + metric + R"(", "unit": ")" + unit + R"(", "gpu": "A100 SXM4", "gpus": )" +
         std::to_string(gpus) +
         R"(, "gpus_per_node": 8, "link": "nvlink3", "network": "8x HDR", "software": "collective",
         "bytes": )" +
         std::to_string(static_cast<std::int64_t>(bytes)) + "}]";
}

std::string other_metric(const std::string& metric) {
  std::string json = two_servers("100 Gb/s RoCE");
  const std::size_t at = json.rfind("\"metric\": \"images_per_s\", \"unit\": \"images/s\"");
  const std::size_t length = std::string("\"metric\": \"images_per_s\", \"unit\": \"images/s\"").size();
  return json.replace(at, length, "\"metric\": \"" + metric + "\"");
}

}  // namespace

TEST_CASE("a faster network never slows training down") {
  double before = 0;
  for (const char* network : {"10 GbE", "20 GbE", "40 GbE", "80 GbE", "160 GbE"}) {
    const double now = predicted_of_record(two_servers(network));
    CHECK(now >= before);
    before = now;
  }
}

TEST_CASE("many GPUs train no faster than as many times one") {
  // The given rate of one GPU is 380 images/s.
  CHECK(predicted_of_record(two_servers("100 Gb/s RoCE")) <= 16 * 380 * (1 + 1e-9));
  CHECK(predicted_of_record(other_metric("speedup")) <= 16 * (1 + 1e-9));
  CHECK(predicted_of_record(other_metric("scaling_efficiency")) <= 1 + 1e-9);
}

TEST_CASE("speed-up and efficiency say the same as the rates") {
  const double rate = predicted_of_record(two_servers("100 Gb/s RoCE"));
  CHECK(predicted_of_record(other_metric("speedup")) == Approx(rate / 380));
  CHECK(predicted_of_record(other_metric("scaling_efficiency")) == Approx(rate / 380 / 16));
  CHECK(predicted_of_record(other_metric("iteration_s")) == Approx(16 * 64 / rate));
  // An epoch of ImageNet has 1,281,167 images.
  CHECK(predicted_of_record(other_metric("epoch_seconds")) == Approx(1281167 / rate));
}

TEST_CASE("bus bandwidth is 2(n-1)/n of the size over the time") {
  const double seconds = predicted_of_record(all_reduce("allreduce_seconds", "s", 1 << 28, 8));
  CHECK(predicted_of_record(all_reduce("allreduce_seconds", "us", 1 << 28, 8)) == Approx(1e6 * seconds));
  CHECK(predicted_of_record(all_reduce("allreduce_seconds", "ms", 1 << 28, 8)) == Approx(1e3 * seconds));
  CHECK(predicted_of_record(all_reduce("allreduce_busbw", "GB/s", 1 << 28, 8)) ==
        Approx(2.0 * 7 / 8 * (1 << 28) / seconds / 1e9));
}

TEST_CASE("an all-reduce takes longer with more bytes and stays below the links") {
  double before = 0;
  for (double bytes = 1024; bytes < 1e10; bytes *= 8) {
    const double now = predicted_of_record(all_reduce("allreduce_seconds", "s", bytes, 8));
    CHECK(now > before);
    before = now;
    CHECK(predicted_of_record(all_reduce("allreduce_busbw", "GB/s", bytes, 8)) < 300);
  }
}

TEST_CASE("a given all-reduce of the group is met and corrects its neighbours") {
  const auto with_input = [](double bytes) {
    std::string target = all_reduce("allreduce_seconds", "s", bytes, 8);
    const std::string group = R"("group": "g", "role": "target", )";
    target.insert(2, group);
    std::string input = all_reduce("allreduce_seconds", "s", 1 << 24, 8);
    input.insert(2, R"("group": "g", "role": "input", "value": 0.0123, )");
    input.replace(input.find("\"a\""), 3, "\"given\"");
    return input.substr(0, input.size() - 1) + ", " + target.substr(1);
  };
  CHECK(predicted_of_record(with_input(1 << 24)) == Approx(0.0123));
  const double alone = predicted_of_record(all_reduce("allreduce_seconds", "s", 1 << 24, 8));
  const double larger = predicted_of_record(all_reduce("allreduce_seconds", "s", 1 << 26, 8));
  // Four times the size: the correction counts exp(-ln 4 / 2.1) = 0.517 in the logarithm.
  const double correction = std::pow(0.0123 / alone, std::exp(-std::log(4.0) / 2.1));
  CHECK(predicted_of_record(with_input(1 << 26)) == Approx(larger * correction));
}

// A target, together with an all-reduce of 16 MiB on eight GPUs of a node that is given, or not (0).
double beside_given(double given_s, const std::string& target) {
  const std::string input = R"([{"id": "given", "role": "input", "group": "g", "metric": "allreduce_seconds",
      "gpu": "GTX 1080 Ti", "gpus": 8, "gpus_per_node": 8, "link": "pcie", "software": "collective",
      "bytes": 16777216, "value": )" +
                            std::to_string(given_s) + "}, ";
  return predicted_of_record((given_s > 0 ? input : "[") + R"({"id": "a", "role": "target", "group": "g",
      "metric": "allreduce_seconds", "gpu": "GTX 1080 Ti", "gpus_per_node": 8, "software": "collective",
      "link": "pcie", "network": "InfiniBand FDR", "bytes": )" +
                             target + "}]");
}

TEST_CASE("a given all-reduce says much of fewer GPUs on the same links and nothing of the network") {
  const double alone = beside_given(0, R"(16777216, "gpus": 8)");
  const double four = beside_given(0, R"(16777216, "gpus": 4)");
  // The correction of 2 counts exp(-ln 2 / 8) = 0.917 in the logarithm.
  CHECK(beside_given(2 * alone, R"(16777216, "gpus": 4)") / four ==
        Approx(std::pow(2, std::exp(-std::log(2.0) / 8))).epsilon(1e-3));
  CHECK(beside_given(2 * alone, R"(16777216, "gpus": 16)") == Approx(beside_given(0, R"(16777216, "gpus": 16)")));
}

TEST_CASE("latencies and times per byte are in the record's unit") {
  const auto line = [](const std::string& metric, const std::string& unit) {
    return predicted_of_record(R"([{"id": "a", "metric": ")" + metric + R"(", "unit": ")" + unit + R"(",
        "gpu": "GTX 1080 Ti", "gpus": 8, "gpus_per_node": 4, "network": "10 GbE", "software": "collective"}])");
  };
  CHECK(line("alpha_s", "us") == Approx(1e6 * line("alpha_s", "s")));
  CHECK(line("beta_s_per_B", "ns/B") == Approx(1e9 * line("beta_s_per_B", "s/B")));
  CHECK(line("beta_s_per_B", "us/MB") == Approx(1e12 * line("beta_s_per_B", "s/B")));
}

TEST_CASE("epochs are less sure the nearer the batch is to the critical one") {
  const auto width = [](const std::string& global_batch) {
    const auto records = records_from(R"([{"id": "a", "metric": "epochs_to_accuracy", "model": "resnet50",
        "gpu": "A100", "gpus": 64, "software": "mlperf-0.7", "global_batch": )" +
                                      global_batch + "}]");
    const auto predictions = predict(records);
    return std::log(predictions.at(0).high / predictions.at(0).low);
  };
  CHECK(width("65536") > width("32768"));
  CHECK(width("32768") > width("1632"));
}

TEST_CASE("epochs below MLPerf's smallest reference batch are those at it, which is said") {
  const auto is_said = [](int batch) {
    const auto records = records_from(R"([{"id": "a", "metric": "time_to_accuracy_s", "model": "resnet50",
        "gpu": "A100", "gpus": 8, "software": "mlperf", "global_batch": )" +
                                      std::to_string(batch) + "}]");
    const auto assumptions = predict(records).at(0).task.assumptions;
    return std::any_of(assumptions.begin(), assumptions.end(), [](const Assumption& a) {
      return a.source.find("taken from the smallest global batch of these, 1632") != std::string::npos;
    });
  };
  CHECK(is_said(512));
  CHECK_FALSE(is_said(1632));
}

TEST_CASE("epochs beyond the largest published batch are extrapolated, said, and little sure") {
  const auto trained = [](const std::string& software, const std::string& global_batch) {
    const auto records = records_from(R"([{"id": "a", "metric": "time_to_accuracy_s", "model": "resnet50",
        "gpu": "A100", "gpus": 64, "gpus_per_node": 8, "network": "8x HDR", "software": ")" +
                                      software + R"(", "global_batch": )" + global_batch + "}]");
    return predict(records).at(0);
  };
  const auto is_said = [](const sim::Prediction& p) {
    return std::any_of(p.task.assumptions.begin(), p.task.assumptions.end(),
                       [](const Assumption& a) { return a.source.find("extrapolated") != std::string::npos; });
  };
  for (const char* software : {"mlperf", "other"}) {
    INFO(software);
    const sim::Prediction within = trained(software, "65536"), beyond = trained(software, "262144");
    CHECK_FALSE(is_said(within));
    CHECK(is_said(beyond));
    CHECK(beyond.task.epochs > within.task.epochs);
    CHECK(beyond.task.epochs_uncertainty > within.task.epochs_uncertainty + 0.5);
  }
  CHECK(trained("other", "65536").task.epochs == 90);
}

namespace {

sim::Prediction trained_to_target(const std::string& model, int batch) {
  const auto records = records_from(R"([{"id": "a", "metric": "time_to_accuracy_s", "model": ")" + model + R"(",
      "gpu": "A100", "gpus": 64, "software": "mlperf", "global_batch": )" +
                                    std::to_string(batch) + "}]");
  return predict(records).at(0);
}

}  // namespace

TEST_CASE("samples to MLPerf's target of BERT by the reference's convergence points, of others no law is made up") {
  const sim::Prediction small = trained_to_target("BERT-large", 256), large = trained_to_target("BERT-large", 8192);
  REQUIRE(small.is_mapped());
  // Near the points at 256 and 8,192, and between those at 1,536 and 3,072.
  CHECK(small.task.epochs == Approx(2.552704).epsilon(0.02));
  CHECK(large.task.epochs == Approx(4.191437).epsilon(0.02));
  CHECK(trained_to_target("BERT-large", 2304).task.epochs == Approx((2.777588 + 2.768215) / 2).epsilon(0.03));
  CHECK(large.predicted < small.predicted);
  // Beyond the largest batch of the reference runs, the law's whole increase is uncertain.
  const sim::Prediction beyond = trained_to_target("BERT-large", 65536);
  CHECK(beyond.task.epochs == Approx(5.504307 * (1 + 65536 / 12720.) / (1 + 16384 / 12720.)).epsilon(0.1));
  CHECK(beyond.task.epochs_uncertainty > 1);
  CHECK_FALSE(trained_to_target("GNMT", 4096).task.unmapped.empty());
}

TEST_CASE("GPUs that do not fill the last node still train") {
  const std::string sixteen = two_servers("100 Gb/s RoCE");
  std::string twelve = sixteen;
  twelve.replace(twelve.find("\"gpus\": 16"), 10, "\"gpus\": 12");
  CHECK(predicted_of_record(twelve) < predicted_of_record(sixteen));
  CHECK(predicted_of_record(twelve) > 0.5 * predicted_of_record(sixteen));
}

TEST_CASE("what is missing is assumed and said") {
  const auto records = records_from(
      R"([{"id": "a", "metric": "images_per_s", "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 8}])");
  const auto predictions = predict(records);
  REQUIRE(predictions.size() == 1);
  REQUIRE(predictions[0].is_mapped());
  std::set<std::string> assumed;
  for (const Assumption& a : predictions[0].task.assumptions)
    if (a.kind == "assumed") assumed.insert(a.pointer);
  for (const char* key : {"precision", "batch_per_gpu", "gpus_per_node", "intra_node_link"})
    CHECK(assumed.count(key) == 1);
}

TEST_CASE("records without a place in the catalogue are unmapped with the reason") {
  const auto why = [](const std::string& keys) {
    return why_not(R"([{"id": "a", "software": "other", )" + keys + "}]");
  };
  CHECK(why(R"("metric": "colour", "gpu": "V100")") == "metric \"colour\" is not predicted from records");
  CHECK_THAT(why(R"("metric": "images_per_s", "gpu": "TPU v3", "model": "resnet50", "gpus": 1)"),
             Contains("gpu \"TPU v3\" is not in the catalogue: a TPU is no GPU"));
  CHECK_THAT(why(R"("metric": "images_per_s", "gpu": "V100", "model": "LSTM", "gpus": 1)"),
             Contains("model \"LSTM\" is not in the catalogue"));
  CHECK(why(R"("metric": "epoch_seconds", "gpu": "V100", "model": "BERT-base", "gpus": 1)") ==
        "the samples of an epoch of BERT-base are not known");
  CHECK(why(R"("metric": "images_per_s", "gpu": "V100", "model": "resnet50", "gpus": 8, "algorithm": "async-sgd")") ==
        "algorithm \"async-sgd\" is not mapped to a simulated one");
  CHECK(why(R"("metric": "images_per_s", "gpu": "V100", "model": "resnet50")") == "gpus is not stated");
  CHECK_THAT(why_not(two_servers("carrier pigeons")), Contains("network \"carrier pigeons\": "));
  CHECK(why(R"("metric": "allreduce_busbw", "gpu": "V100", "gpus": 8, "unit": "GB/s")") ==
        "params_bytes: the size of the all-reduce is not stated");
  CHECK(why(R"("metric": "iteration_s", "gpu": "V100", "model": "resnet50", "gpus": 1, "batch_per_gpu": 8,
               "unit": "fortnights")") == "unit \"fortnights\" of iteration_s; known: s, ms, us, ns, min, h, days");
}

// VGG19-22K has 229 M parameters, 209 M of them in fully-connected layers: 916 MB go to the servers and back in every
// iteration of 32 images, 925 ms on this GPU.
std::string poseidon(const std::string& keys, int gpus, const std::string& network = "40 GbE") {
  return R"([{"id": "one", "role": "input", "group": "g", "metric": "images_per_s", "value": 34.6, "gpus": 1,
    "software": "poseidon", "model": "VGG19-22K", "gpu": "GTX TITAN X", "batch_per_gpu": 32, "precision": "fp32"},
   {"id": "a", "role": "target", "group": "g", "metric": "iteration_s", "unit": "s", "software": "poseidon",
    "model": "VGG19-22K", "gpu": "GTX TITAN X", "gpus_per_node": 1, "batch_per_gpu": 32, "precision": "fp32",
    "gpus": )" +
         std::to_string(gpus) + R"(, "network": ")" + network + "\", " + keys + "}]";
}

TEST_CASE("parameter servers are simulated as such") {
  const std::string sequential = R"("transport": "ps-host", "scheme": "server", "whole_tensors": true,
                                    "sequential": true, "overlap": false)",
                    pairs_overlapped = R"("algorithm": "parameter-server")", hybrid = R"("algorithm": "hybcomm")";
  const double alone_s = 32 / 34.6;
  // A sequential server costs two copies of 916 MB to and from host memory even on one node.
  const double copies_s = predicted_of_record(poseidon(sequential, 1)) - alone_s;
  CHECK(copies_s > 2 * 916.2e6 / 12e9);
  // Whole tensors: the servers of fc6 and fc8 receive them from all others; pairs spread the load.
  const double tensors = predicted_of_record(poseidon(sequential, 16)),
               pairs = predicted_of_record(poseidon(pairs_overlapped, 16));
  CHECK(tensors > 1.5 * pairs);
  CHECK(predicted_of_record(poseidon(sequential, 32)) > tensors);
  // Sufficient factors of 32 images are a hundredth of the matrices.
  CHECK(predicted_of_record(poseidon(hybrid, 16, "10 GbE")) <
        0.6 * predicted_of_record(poseidon(pairs_overlapped, 16, "10 GbE")));
  // The name of the optimiser is no exchange.
  CHECK(predicted_of_record(two_servers("100 Gb/s RoCE")) > 0);
}

TEST_CASE("an exchange by MPI takes the iteration less its computation") {
  const auto exchange = [](const std::string& keys) {
    return predicted_of_record(
        R"([{"id": "one", "role": "input", "group": "g", "metric": "images_per_s", "value": 140.4, "gpus": 1,
      "software": "theano", "model": "AlexNet", "gpu": "Tesla K20m", "batch_per_gpu": 32, "precision": "fp32"},
     {"id": "a", "role": "target", "group": "g", "software": "theano", "model": "AlexNet", "gpu": "Tesla K20m",
      "gpus": 8, "gpus_per_node": 1, "network": "InfiniBand QDR", "batch_per_gpu": 32, "precision": "fp32",
      "metric": "comm_seconds", )" +
        keys + "}]");
  };
  const double ar = exchange(R"("algorithm": "theano-mpi")");
  const double asa = exchange(R"("algorithm": "cuda-aware")");
  const double asa16 = exchange(R"("algorithm": "cuda-aware", "wire": "fp16")");
  CHECK(ar > asa);
  CHECK(asa > asa16);
  CHECK(asa16 > 0.4 * asa);
  // It takes at least 2 x 7/8 of 244 MB at no more than QDR's 4 GB/s, in each of 20 iterations.
  CHECK(asa > 20 * 1.75 * 243.86e6 / 4e9);
}

TEST_CASE("bounds stay where physics does") {
  const auto records = records_from(other_metric("scaling_efficiency"));
  CHECK(predict(records)[0].high <= 1 + 1e-9);
}

TEST_CASE("the published value of a target never changes its prediction") {
  const double without = predicted_of_record(two_servers("100 Gb/s RoCE"));
  CHECK(predicted_of_record(two_servers("100 Gb/s RoCE", R"(, "value": 1)")) == without);
}

TEST_CASE("bounds are those of the narrowest class that was calibrated") {
  using Class = sim::IntervalClass;
  CHECK(Class{{"sequences", "other", "little work"}}.names() ==
        std::vector<std::string>{"sequences, other, little work", "sequences, other", "sequences"});
  CHECK(Class{{"exchange"}}.names() == std::vector<std::string>{"exchange", "all"});
  sim::Catalogue known;
  const auto add = [&](const std::string& name, double reach) {
    known.constants["bounds below/" + name].value = known.constants["bounds above/" + name].value = reach;
  };
  add("all", 4);
  add("sequences", 2);
  add("sequences, other, much work", 1);
  const auto calibration = [&](const Class& of) {
    sim::QuantityTask task;
    task.interval_class = of;
    return sim::calibration_of(task, known);
  };
  CHECK(calibration({{"sequences", "other", "much work"}}).above == 1);
  CHECK(calibration({{"sequences", "other", "little work"}}).above == 2);
  CHECK(calibration({{"exchange"}}).below == 4);
}

TEST_CASE("bounds with a measured rate are no wider than without one") {
  sim::Catalogue known;
  const auto add = [&](const std::string& name, double below, double above) {
    known.constants["bounds below/" + name].value = below;
    known.constants["bounds above/" + name].value = above;
  };
  add("throughput", 1.5, 0.8);
  add("throughput, anchored", 1.2, 1.3);
  add("sequences", 2, 2);
  sim::QuantityTask task;
  task.interval_class = {{"throughput", "anchored"}, {"throughput"}};
  CHECK(sim::calibration_of(task, known).below == 1.2);
  CHECK(sim::calibration_of(task, known).above == 0.8);
  task.interval_class.without_rate = {"sequences"};  // of a fixed width, which is the most
  const sim::IntervalCalibration limited = sim::calibration_of(task, known);
  CHECK(limited.above == 1.3);
  CHECK(sim::factor_above(limited, 10) == Approx(std::exp(2 * limited.always)));
  CHECK(sim::factor_above(limited, 0) == Approx(std::exp(1.3 * limited.always)));
}

TEST_CASE("every prediction has a status, and its GPUs, nodes and method, whatever became of the others") {
  const auto records = sim::read_records(JsonDocument::parse(R"([
        {"id": "good", "metric": "throughput", "unit": "images/s", "model": "resnet50", "gpu": "H100", "gpus": 16, "gpus_per_node": 8,
         "network": "8x NDR", "batch": 64},
        7, {"id": "odd", "wrong": 1}, {"id": "good", "metric": "throughput"},
        {"id": "tpu", "metric": "throughput", "unit": "images/s", "model": "resnet50", "gpu": "TPU v5e", "gpus": 8, "batch": 64},
        {"id": "large", "metric": "throughput", "unit": "images/s", "model": "resnet50", "gpu": "H100", "gpus": 8, "batch": 100000}
      ])",
                                                             "records.json"),
                                         sim::BadRecords::keep);
  const Json list = sim::predictions_json(predict(records)).at("predictions");
  std::vector<std::string> statuses;
  for (const Json& one : list) statuses.push_back(one.at("status"));
  CHECK(statuses == std::vector<std::string>{"ok", "unmapped", "unmapped", "unmapped", "unmapped", "does-not-fit"});
  CHECK(list.at(0).at("gpus") == 16);
  CHECK(list.at(0).at("nodes") == 2);
  CHECK(list.at(0).at("method") == "fast");
  CHECK(list.at(0).at("simulation").at("error_class") == "exact");
  CHECK(list.at(0).at("unit") == "images/s");
  CHECK(list.at(4).at("gpus") == 8);
  CHECK(list.at(5).at("memory").at("bytes") > list.at(5).at("memory").at("capacity_bytes"));
}

TEST_CASE("the same records give the same bytes") {
  const auto records = records_from(two_servers("100 Gb/s RoCE"));
  const auto once = sim::predict_records(sim::targets_of(records), records, catalogue(), 1);
  const auto again = sim::predict_records(sim::targets_of(records), records, catalogue(), 2);
  CHECK(sim::predictions_json(once).dump() == sim::predictions_json(again).dump());
}

TEST_CASE("what cannot be simulated says why and keeps nothing else from it") {
  std::string json = two_servers("100 Gb/s RoCE");
  const std::string ring = "\"ring\"";
  json.replace(json.find(ring), ring.size(), "\"sma\"");
  const auto averaging = records_from(json), plain = records_from(two_servers("100 Gb/s RoCE"));
  const auto mapped = [](const std::vector<sim::Record>& records) {
    return sim::task_of(sim::resolve_record(records.back(), catalogue()), sim::given_results(records, catalogue()),
                        catalogue());
  };
  sim::QuantityTask crowded = mapped(averaging);
  const sim::QuantityTask good = mapped(plain);
  REQUIRE(crowded.target.front().scenario.algorithm == Algorithm::sma);
  CHECK(sim::time_workloads({&crowded.target.front()}, {}).front().failure.empty());  // published, so it has fitted in
  for (sim::Workload& run : crowded.target) run.scenario.cluster.nodes = 1;
  const auto times = sim::time_workloads({&crowded.target.front(), &good.target.front()}, {2, true});
  CHECK_THAT(times[0].failure, Contains(" has no ") && Contains(" GPUs, but "));
  CHECK(times[1].failure.empty());
  CHECK(times[1].seconds > 0);
}

}  // namespace lockstep::tests
