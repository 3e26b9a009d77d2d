// Records of machines, models, networks and collectives that no suite has: each is predicted within its bounds or says
// why not, and what is predicted follows the laws between them. The records (unseen_records.json) hold no results.
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

double predicted(const std::string& id) {
  INFO(id << ": " << unseen().at(id).mapped.unmapped);
  REQUIRE(unseen().at(id).is_mapped());
  return unseen().at(id).predicted;
}

bool says(const std::string& id, const std::string& key) {
  for (const Assumption& a : unseen().at(id).mapped.assumptions)
    if (a.pointer == key) return true;
  return false;
}

}  // namespace

TEST_CASE("every unseen record is predicted within its bounds or says why not") {
  std::set<std::string> unmapped;
  for (const auto& [id, p] : unseen()) {
    INFO(id);
    if (!p.is_mapped()) {
      CHECK(p.mapped.unmapped.size() > 10);
      unmapped.insert(id);
      continue;
    }
    CHECK(std::isfinite(p.predicted));
    CHECK(p.predicted > 0);
    CHECK(p.low <= p.predicted);
    CHECK(p.predicted <= p.high);
    CHECK_FALSE(p.mapped.assumptions.empty());
  }
  // Networks and schemes without a counterpart here, and what the record leaves out.
  CHECK(unmapped == std::set<std::string>{"a100-dlrm",
                                          "a100-unet3d",
                                          "a2a-bus",
                                          "alg-PS_async",
                                          "alg-PowerSGD",
                                          "alg-Top-k_sparsification",
                                          "alg-backup_workers_b=2",
                                          "alg-local_SGD",
                                          "coll-gb",
                                          "gb200",
                                          "gpt3-fsdp",
                                          "k80-ds2",
                                          "mfu",
                                          "mi250",
                                          "p100-lstm",
                                          "v100-effb0",
                                          "v100-gnmt",
                                          "v100-mask",
                                          "v100-ncf",
                                          "v100-ssd",
                                          "v100-trf",
                                          "v100-trfbig",
                                          "v100-unet"});
}

TEST_CASE("deeper networks and longer sequences train slower") {
  CHECK(predicted("v100-rn18") > predicted("v100-rn34"));
  CHECK(predicted("v100-rn34") > predicted("v100-rn101"));
  CHECK(predicted("v100-rn101") > predicted("v100-rn152"));
  CHECK(predicted("v100-rn152") > predicted("v100-rn200"));
  CHECK(predicted("v100-dn121") > predicted("v100-dn201"));
  CHECK(predicted("v100-rn20") > predicted("v100-rn56"));
  CHECK(predicted("p100-vgg11") > predicted("p100-vgg19"));
  CHECK(predicted("v100-bertl128") > 3 * predicted("v100-bertl512"));  // four times the tokens, and attention
  CHECK(predicted("a100-gpt2s-tok") > 5 * predicted("a100-gpt2xl"));   // 124 million and 1.5 billion parameters
}

TEST_CASE("tokens are those of the sequences") {
  // The same GPU, model and batch in sequences/s, times GPT-2's 1,024 tokens.
  const auto rate = [](const std::string& metric) {
    const auto records = records_from(R"([{"id": "a", "metric": ")" + metric + R"(", "model": "GPT-2 124M",
        "gpu": "A100-SXM4-80GB", "gpus": 1, "batch_per_gpu": 16, "precision": "bf16"}])");
    return predict(records).at(0).predicted;
  };
  CHECK(rate("tokens_per_s") == Approx(1024 * rate("sequences_per_s")));
  CHECK(says("v100-bertb", "tokens of a sequence"));
  CHECK_FALSE(says("v100-bertb512", "tokens of a sequence"));
}

TEST_CASE("a reduce-scatter and an all-gather are the halves of a ring all-reduce") {
  const auto seconds = [](const std::string& metric) {
    const auto records = records_from(R"([{"id": "a", "metric": ")" + metric + R"(", "gpu": "V100-SXM2-32GB",
        "gpus": 8, "gpus_per_node": 8, "intra_node_link": "NVLink2", "algorithm": "NCCL", "params_bytes": 1e9}])");
    return predict(records).at(0).predicted;
  };
  CHECK(seconds("reduce_scatter_seconds") + seconds("all_gather_time_s") ==
        Approx(seconds("allreduce_seconds")).epsilon(0.01));
  // nccl-tests: all three have the same bus bandwidth on the same links.
  CHECK(seconds("allgather_busbw") == Approx(seconds("allreduce_busbw")).epsilon(0.01));
  CHECK(seconds("broadcast_busbw") == Approx(seconds("broadcast_algbw")));
  CHECK(predicted("busbw-ag") == Approx(predicted("ag-bus")));
}

TEST_CASE("a slow network named as such is taken as it is") {
  CHECK(predicted("net-01-1_Gbs_Etherne") < predicted("net-02-10_Gbs_Ethern"));
  CHECK(predicted("net-02-10_Gbs_Ethern") < predicted("net-09-InfiniBand_EDR"));
}

TEST_CASE("an algorithm that is not simulated is said") {
  CHECK(says("alg-Blink", "algorithm"));
  CHECK_FALSE(says("alg-NCCL", "algorithm"));
}

}  // namespace lockstep::tests
