// Records of machines, models, networks and collectives that no suite has. Each is predicted within its bounds or has a
// reason, and predictions obey the laws between them. The records (unseen_records.json) contain no results.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

const std::map<std::string, sim::Prediction>& unseen() {
  static const std::vector<sim::Record> records =
      sim::read_records(LOCKSTEP_SOURCE_DIR "/tests/records/unseen_records.json");
  static const std::map<std::string, sim::Prediction> by_id = [] {
    std::map<std::string, sim::Prediction> all;
    for (sim::Prediction& p : predict(records)) all.emplace(p.record->id, std::move(p));
    return all;
  }();
  return by_id;
}

double predicted_id(const std::string& id) {
  INFO(id << ": " << unseen().at(id).task.unmapped);
  REQUIRE(unseen().at(id).is_mapped());
  return unseen().at(id).predicted;
}

bool says(const std::string& id, const std::string& key) {
  for (const Assumption& a : unseen().at(id).task.assumptions)
    if (a.pointer == key) return true;
  return false;
}

}  // namespace

TEST_CASE("every unseen record is predicted within its bounds or says why not") {
  std::set<std::string> unmapped;
  for (const auto& [id, p] : unseen()) {
    INFO(id);
    if (!p.is_mapped()) {
      CHECK(p.task.unmapped.size() > 10);
      unmapped.insert(id);
      continue;
    }
    CHECK(std::isfinite(p.predicted));
    CHECK(p.predicted > 0);
    CHECK(p.low <= p.predicted);
    CHECK(p.predicted <= p.high);
    CHECK_FALSE(p.task.assumptions.empty());
  }
  // Networks and schemes that are not modelled, and facts that the record does not give.
  CHECK(unmapped == std::set<std::string>{"a100-dlrm",
                                          "a2a-bus",
                                          "alg-PS_async",
                                          "alg-PowerSGD",
                                          "alg-Top-k_sparsification",
                                          "alg-backup_workers_b=2",
                                          "alg-local_SGD",
                                          "coll-gb",
                                          "g19-GRID_K520",
                                          "g22-AMD_MI100",
                                          "g25-TPU_v3-8",
                                          "g26-Intel_Gaudi_2",

                                          "g30-L20",
                                          "g34-Tesla_M4",
                                          "k80-ds2",
                                          "m31-forward_backward_time-ms",
                                          "m37-time_per_image-ms",
                                          "m38-time_per_1000_images-s",
                                          "m42-relative_throughput-x",
                                          "m51-communication_overhead-%",
                                          "m52-communication_time-ms",
                                          "m53-comm_fraction-%",
                                          "m54-exposed_communication_ms-ms",
                                          "m55-gpu_utilization-%",
                                          "m56-petaflops-PFLOP_s",
                                          "m57-tflops-TFLOP_s",
                                          "m58-cost-USD",
                                          "m59-top1_accuracy-%",
                                          "mfu",
                                          "n19-NVLink_Switch",
                                          "n25-proprietary",
                                          "odd-06",
                                          "odd-11",
                                          "odd-12",
                                          "odd-16",  // a bridge on a board that has NVLinks
                                          "odd-23",
                                          "odd-25",
                                          "odd-28",
                                          "odd-30",
                                          "odd-32",
                                          "p100-lstm",
                                          "t12-BERT-large-time_to_train",
                                          "t13-ALBERT-xxlarge-samples_per_s",
                                          "t17-Swin-T-images_per_s",
                                          "t18-DLRM-images_per_s",
                                          "t19-NCF-samples_per_s",
                                          "t21-Mask_R-CNN-images_per_s",
                                          "t23-EfficientNet-images_per_s",
                                          "t24-DeepSpeech2-utterances_per_s",
                                          "t27-MobileNetV3-images_per_s",
                                          "t28-NASNet-A_large-images_per_s",
                                          "t29-Xception-images_per_s",
                                          "v100-mask",
                                          "v100-ncf"});
}

TEST_CASE("deeper networks and longer sequences train slower") {
  CHECK(predicted_id("v100-rn18") > predicted_id("v100-rn34"));
  CHECK(predicted_id("v100-rn34") > predicted_id("v100-rn101"));
  CHECK(predicted_id("v100-rn101") > predicted_id("v100-rn152"));
  CHECK(predicted_id("v100-rn152") > predicted_id("v100-rn200"));
  CHECK(predicted_id("v100-dn121") > predicted_id("v100-dn201"));
  CHECK(predicted_id("v100-rn20") > predicted_id("v100-rn56"));
  CHECK(predicted_id("p100-vgg11") > predicted_id("p100-vgg19"));
  CHECK(predicted_id("v100-bertl128") > 3 * predicted_id("v100-bertl512"));  // four times the tokens, and attention
  CHECK(predicted_id("a100-gpt2s-tok") > 5 * predicted_id("a100-gpt2xl"));   // 124 million and 1.5 billion parameters
}

TEST_CASE("units may stand before what they are of, and conditions behind it") {
  CHECK(predicted_id("m28-ms_per_iteration") == Approx(1000 * predicted_id("m29-s_per_iteration")));
  CHECK(predicted_id("m27-ms_per_batch-ms") == Approx(predicted_id("m26-iteration_time-ms")));
  CHECK(predicted_id("m19-hours_per_epoch-h") == Approx(predicted_id("m13-epoch_time-s") / 3600));
  CHECK(predicted_id("m21-training_time_90_epochs-h") == Approx(predicted_id("m20-training_time-hours")));
  CHECK(predicted_id("m40-speedup_vs_1_gpu-x") == Approx(predicted_id("m39-speedup-x")));
  CHECK(predicted_id("m44-scaling_factor-x") == Approx(64 * predicted_id("m43-scaling_factor-fraction")));
  CHECK(predicted_id("m10-fps-frames_s") == Approx(predicted_id("m00-images_per_s-images_sec")));
}

TEST_CASE("one GPU has the whole batch where strong scaling is measured") {
  // It is then busier than with a 64th, so that 64 GPUs gain less.
  CHECK(predicted_id("m48-strong_scaling_efficiency-%") < predicted_id("m45-scaling_efficiency-%"));
}

TEST_CASE("no GPU computes faster than its peak") {
  // Six operations for each of a GPT-3's parameters and tokens; 312 TFLOP/s of an A100. On 32 of them 13 billion
  // parameters take ten times as long as 1.3 billion.
  const double billions = predicted_id("t05-GPT-3_13B-ktokens_per_s");
  CHECK(6 * 12.8e9 * billions / 32 < 312e12);
  CHECK(6 * 6.6e9 * predicted_id("t07-GPT-3_6.7B-tokens_per_s") / 32 < 312e12);
}

TEST_CASE("micro-steps are part of an update, whose exchange they share") {
  const auto rate = [](const std::string& global_batch) {
    const auto records = records_from(R"([{"id": "a", "metric": "images_per_s", "unit": "sequences/s",
        "software": "other", "model": "BERT-large", "gpu": "V100-SXM2-32GB", "gpus": 64, "gpus_per_node": 8,
        "network": "10 GbE", "precision": "mixed", "batch_per_gpu": 16, "global_batch": )" +
                                      global_batch + "}]");
    return predict(records).at(0).predicted;
  };
  CHECK(rate("4096") > rate("1024"));
  CHECK(rate("1048576") > rate("65536"));
  CHECK(rate("1500") == Approx(rate("1024")));  // no whole number of micro-steps: not what was meant
}

TEST_CASE("tokens are those of the sequences") {
  // The same GPU, model and batch in sequences/s, times GPT-2's 1,024 tokens.
  const auto rate = [](const std::string& unit) {
    const auto records = records_from(R"([{"id": "a", "metric": "throughput", "unit": ")" + unit + R"(",
        "software": "pytorch", "model": "GPT-2 124M", "gpu": "A100-SXM4-80GB", "gpus": 1, "batch_per_gpu": 16, "precision": "bf16"}])");
    return predict(records).at(0).predicted;
  };
  CHECK(rate("tokens/s") > 0);
  CHECK(rate("tokens/s") == Approx(1024 * rate("sequences/s")));
  CHECK(says("v100-bertb", "tokens of a sequence"));
  CHECK_FALSE(says("v100-bertb512", "tokens of a sequence"));
}

TEST_CASE("a reduce-scatter and an all-gather are the halves of a ring all-reduce") {
  const auto predicted = [](const std::string& metric, const std::string& collective) {
    const auto records = records_from(R"([{"id": "a", "metric": ")" + metric + R"(", "collective": ")" + collective +
                                      R"(", "gpu": "V100-SXM2-32GB", "gpus": 8, "gpus_per_node": 8,
        "link": "nvlink2", "software": "collective", "bytes": 1e9}])");
    return predict(records).at(0).predicted;
  };
  const auto seconds = [&](const std::string& collective) { return predicted("allreduce_seconds", collective); };
  CHECK(seconds("reduce-scatter") + seconds("all-gather") == Approx(seconds("all-reduce")).epsilon(0.01));
  // nccl-tests: all three have the same bus bandwidth on the same links.
  const auto bus = [&](const std::string& collective) { return predicted("allreduce_busbw", collective); };
  CHECK(bus("all-gather") == Approx(bus("all-reduce")).epsilon(0.01));
  CHECK(bus("broadcast") == Approx(predicted("allreduce_algbw", "broadcast")));
  CHECK(predicted_id("busbw-ag") == Approx(predicted_id("ag-bus")));
}

TEST_CASE("the same by other names is the same") {
  const auto of = [](const std::string& replaced, const std::string& by) {
    std::string json = R"([{"id": "a", "metric": "images_per_s", "unit": "samples/s/GPU", "model": "ResNet-50",
        "gpu": "K80", "gpus": 8, "gpus_per_node": 8, "link": "pcie", "algorithm": "ring", "batch_per_gpu": 32,
        "software": "mlperf"}])";
    const std::size_t at = json.find(replaced);
    REQUIRE(at != std::string::npos);
    json.replace(at, replaced.size(), by);
    const auto records = records_from(json);
    const auto predictions = predict(records);
    INFO(predictions.at(0).task.unmapped);
    REQUIRE(predictions.at(0).is_mapped());
    return predictions.at(0).predicted;
  };
  const double plain = of("K80", "K80");
  CHECK(of(R"("images_per_s", "unit": "samples/s/GPU")", R"("throughput_per_gpu", "unit": "images/s")") ==
        Approx(plain));
  CHECK(of("\"ResNet-50\"", "\"resnet50\"") == Approx(plain));
  CHECK(of("\"link\": \"pcie\"", "\"intra_node_link\": \"PCIe 3.0 x16\"") == Approx(plain));
  CHECK(of("\"batch_per_gpu\": 32", "\"batch\": 32.0") == Approx(plain));
}

TEST_CASE("a latency is of an all-reduce where a size and an all-reduce are named") {
  CHECK(predicted_id("odd-04") < 100);  // 8 bytes on eight A100 in a node, in us
  CHECK(predicted_id("odd-04") > 5);
  CHECK(predicted_id("odd-20") > 1);  // a latency in us
}

TEST_CASE("a slow network named as such is taken as it is") {
  CHECK(predicted_id("net-01-1_Gbs_Etherne") < predicted_id("net-02-10_Gbs_Ethern"));
  CHECK(predicted_id("net-02-10_Gbs_Ethern") < predicted_id("net-09-InfiniBand_EDR"));
}

TEST_CASE("an algorithm that is not simulated is said") {
  CHECK(says("alg-Blink", "algorithm"));
  CHECK_FALSE(says("alg-NCCL", "algorithm"));
}

TEST_CASE("a training on so many tokens takes as long as its iterations, on every GPU in GPU hours") {
  const auto of = [](const std::string& metric) {
    const auto records =
        records_from(R"([{"id": "a", "software": "megatron", "model": "gpt3_13b", "seq": 2048, "gpu": "a100-sxm4",
      "gpus": 64, "gpus_per_node": 8, "tp": 2, "dp": 32, "microbatch": 1, "global_batch": 512, "value": 10, "metric": ")" +
                     metric + "\"}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  const double iterations = 300e9 / (512 * 2048);
  CHECK(of("days_for_300B_tokens") == Approx(of("step_time") * iterations / 86400));
  CHECK(of("gpu_hours_for_0.3T_tokens") == Approx(64 * 24 * of("days_for_300B_tokens")));
}

TEST_CASE("a record in keys without software is read as keys, and by the software that is usual for its split") {
  const auto of = [](const std::string& keys) {
    const auto records = records_from(R"([{"id": "a", "metric": "mfu", "unit": "%", "model": "GPT 22B", "layers": 48,
      "hidden": 6144, "heads": 64, "seq": 2048, "vocab": 51200, "gpu": "A100 80GB", "gpus": 64, "gpus_per_node": 8,
      "microbatch": 1, "global_batch": 256)" +
                                      keys + "}]");
    return predict(records).at(0);
  };
  const sim::Prediction open = of(R"(, "tp": 8, "pp": 1, "dp": 8)");
  const sim::Prediction stated = of(R"(, "tp": 8, "pp": 1, "dp": 8, "software": "megatron")");
  INFO(open.task.unmapped);
  REQUIRE(open.is_mapped());
  CHECK(open.predicted == stated.predicted);
  const auto& inputs = open.task.assumptions;
  CHECK(std::any_of(inputs.begin(), inputs.end(), [](const Assumption& a) {
    return a.pointer == "software" && a.value == "Megatron-LM" && a.source == "not stated; usual for such a split";
  }));
}

TEST_CASE("samples to MLPerf's targets follow the law of the reference's points, and do not fall below the smallest") {
  const auto of = [](int batch) {
    const auto records =
        records_from(R"([{"id": "a", "software": "mlperf", "model": "llama2_70b", "seq": 8192, "task": "lora",
      "metric": "samples_to_target", "unit": "samples", "global_batch": )" +
                     std::to_string(batch) + "}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  CHECK(of(8) == Approx(3187).epsilon(0.02));
  CHECK(of(4) == of(8));
  CHECK(of(64) == Approx(6029 + (11290 - 6029) / 3.).epsilon(0.05));
  CHECK(of(256) == Approx(11290 * (1 + 256 / 40.2) / (1 + 128 / 40.2)).epsilon(0.1));
}

TEST_CASE("what the model refuses of one record leaves the others") {
  const std::string job =
      R"("software": "megatron", "model": "gpt3_13b", "gpu": "a100-sxm4", "gpus": 64, "gpus_per_node": 8,
      "metric": "step_time", "global_batch": 512)";
  const auto records =
      records_from("[{\"id\": \"odd\", " + job + ", \"tp\": 3}, {\"id\": \"fine\", " + job + ", \"tp\": 2}]");
  const auto all = predict(records);
  CHECK_FALSE(all.at(0).is_mapped());
  CHECK(all.at(1).is_mapped());
}

TEST_CASE("fewer bits are no slower, nor is a later GPU of a generation") {
  const auto rate = [](const std::string& gpu, const std::string& precision) {
    const auto records =
        records_from(R"([{"id": "a", "metric": "throughput_per_gpu", "unit": "tokens/s/GPU", "software": "nemo",
      "model": "llama3_70b", "seq": 8192, "gpus": 64, "gpus_per_node": 8, "tp": 2, "pp": 4, "dp": 8, "virtual_stages": 5,
      "microbatch": 1, "global_batch": 256, "sharding": "zero1", "gpu": ")" +
                     gpu + R"(", "precision": ")" + precision + "\"}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  for (const char* gpu : {"b200", "b300", "gb200", "gb300"}) {
    INFO(gpu);
    CHECK(rate(gpu, "fp8") > rate(gpu, "bf16"));
    CHECK(rate(gpu, "nvfp4") > rate(gpu, "fp8"));
  }
  CHECK(rate("h100-sxm", "fp8") > rate("h100-sxm", "bf16"));
  for (const char* precision : {"bf16", "fp8", "nvfp4"}) {
    INFO(precision);
    CHECK(rate("b300", precision) >= rate("b200", precision));
    CHECK(rate("gb300", precision) >= rate("gb200", precision));
  }
}

TEST_CASE(
    "TF32 is no slower than single precision, half precision no slower than either, with a vocabulary that is not "
    "padded") {
  const auto rate = [](const std::string& model, const std::string& gpu, const std::string& precision) {
    const auto records =
        records_from(R"([{"id": "a", "metric": "images_per_s", "unit": "samples/s", "software": "pytorch",
      "gpus": 1, "gpus_per_node": 1, "batch_per_gpu": 16, "model": ")" +
                     model + R"(", "gpu": ")" + gpu + R"(", "precision": ")" + precision + "\"}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  for (const char* model : {"vgg16", "gpt2"})
    for (const char* gpu : {"a100-sxm4", "rtx3090", "rtx4090", "l40", "h20", "h100-sxm", "b200"}) {
      INFO(model << " on " << gpu);
      CHECK(rate(model, gpu, "tf32") >= rate(model, gpu, "fp32"));
      CHECK(rate(model, gpu, "mixed") >= rate(model, gpu, "tf32"));
    }
}

TEST_CASE("a faster network by TCP is no slower") {
  const auto seconds = [](const std::string& network, int gpus) {
    const auto records =
        records_from(R"([{"id": "a", "metric": "allreduce_seconds", "unit": "s", "software": "collective",
      "gpu": "a100-sxm4", "gpus_per_node": 8, "bytes": 100000000, "network": ")" +
                     network + R"(", "gpus": )" + std::to_string(gpus) + "}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  for (const int gpus : {16, 32, 128}) {
    INFO(gpus);
    CHECK(seconds("25 GbE", gpus) <= seconds("10 GbE", gpus));
    CHECK(seconds("50 GbE", gpus) <= seconds("25 GbE", gpus));
    CHECK(seconds("100 GbE", gpus) <= seconds("50 GbE", gpus));
  }
  // No protocol over Ethernet carries more than a line's rate.
  CHECK(seconds("10 GbE", 16) >= 100e6 / 1.25e9);
}

TEST_CASE("four GPUs without a switch: all of their links for four, a third for two, and as a switch over nodes") {
  const auto bandwidth = [](const std::string& gpu, const std::string& link, int gpus, int gpus_per_node) {
    const auto records =
        records_from(R"([{"id": "a", "metric": "allreduce_busbw", "unit": "GB/s", "software": "collective",
      "network": "4x 200 Gb/s InfiniBand", "bytes": 4000000000, "gpu": ")" +
                     gpu + R"(", "link": ")" + link + R"(", "gpus": )" + std::to_string(gpus) +
                     R"(, "gpus_per_node": )" + std::to_string(gpus_per_node) + "}]");
    const sim::Prediction p = predict(records).at(0);
    INFO(p.task.unmapped);
    REQUIRE(p.is_mapped());
    return p.predicted;
  };
  for (const auto& [gpu, link] :
       std::map<std::string, std::string>{{"a100-sxm4", "nvlink3"}, {"h100-sxm", "nvlink4"}}) {
    INFO(gpu);
    const std::string direct = link + "-direct";
    CHECK(bandwidth(gpu, direct, 4, 4) == Approx(3 * bandwidth(gpu, direct, 2, 4)).epsilon(0.03));
    CHECK(bandwidth(gpu, direct, 16, 4) == Approx(bandwidth(gpu, link, 16, 4)).epsilon(0.1));
  }
  CHECK(bandwidth("a100-sxm4", "nvlink3-direct", 4, 4) ==
        Approx(bandwidth("a100-sxm4", "nvlink3", 4, 4)).epsilon(0.05));
}

TEST_CASE("nodes of four GPUs have no switch unless it is said, and that is said") {
  const auto job = [](const std::string& more) {
    const auto records =
        records_from(R"([{"id": "a", "metric": "step_time", "unit": "s", "software": "pytorch-fsdp-compiled",
      "model": "llama3_8b", "seq": 4096, "gpu": "h200", "gpus": 8, "tp": 2, "dp": 4, "microbatch": 4, "global_batch": 16)" +
                     more + "}]");
    return predict(records).at(0);
  };
  const sim::Prediction of_four = job(R"(, "gpus_per_node": 4)"),
                        with_switch = job(R"(, "gpus_per_node": 4, "link": "nvlink4")");
  REQUIRE(of_four.is_mapped());
  CHECK(of_four.predicted > 1.05 * with_switch.predicted);
  const auto& inputs = of_four.task.assumptions;
  CHECK(std::any_of(inputs.begin(), inputs.end(),
                    [](const Assumption& a) { return a.pointer == "intra_node_link" && a.value == "nvlink4-direct"; }));
  CHECK(job(R"(, "gpus_per_node": 8, "link": "nvlink4-direct")").task.unmapped.find("joins 4 GPUs, not 8") !=
        std::string::npos);
}

}  // namespace lockstep::tests
