// The meaning of a job's options: names, networks, files of networks.
#include <filesystem>
#include <map>
#include <sstream>

#include "engine/base/json.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

// Returns the ids after "models: " and the like.
std::vector<std::string> listed(const std::string& what) {
  std::istringstream lines(sim::names_text(catalogue()));
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(what + ": ", 0) != 0) continue;
    std::istringstream words(line.substr(what.size() + 2));
    for (std::string id; words >> id;) ids.push_back(id.back() == ',' ? id.substr(0, id.size() - 1) : id);
  }
  return ids;
}

TEST_CASE("a model's name with LoRA behind it says what is trained, as MLPerf spells it too", "[job]") {
  for (const char* name : {"llama2_70b_lora", "Llama-2-70B LoRA", "llama2_70b-lora"}) {
    INFO(name);
    sim::JobQuestion job = small_job();
    job.job.model.stated = name;
    const sim::Job resolved = sim::resolve_job(job, catalogue());
    CHECK(resolved.model.id == "llama2_70b");
    CHECK(resolved.split.task == "lora");
  }
}

TEST_CASE("every name that is listed reads as itself", "[job]") {
  const auto read = [](std::string& (*fact)(sim::Job&), const std::string& name) {
    INFO(name);
    sim::JobQuestion job = small_job();
    fact(job.job) = name;
    return sim::resolve_job(job, catalogue());
  };
  const auto model = [](sim::Job& j) -> std::string& { return j.model.stated; };
  const auto gpu = [](sim::Job& j) -> std::string& { return j.gpu.stated; };
  const auto link = [](sim::Job& j) -> std::string& { return j.link.stated; };
  const auto software = [](sim::Job& j) -> std::string& { return j.software.stated; };
  const auto network = [](sim::Job& j) -> std::string& { return j.network.stated; };
  const auto exchange = [](sim::Job& j) -> std::string& { return j.exchange; };
  REQUIRE(listed("models").size() == catalogue().models.size());
  REQUIRE(listed("GPUs").size() == catalogue().gpus.size());
  REQUIRE(listed("links in a node").size() == catalogue().intra_nodes.size());
  REQUIRE(listed("software").size() == catalogue().stacks.size());
  REQUIRE(listed("networks").size() > 15);
  REQUIRE(listed("algorithms").size() > 15);
  for (const std::string& id : listed("models")) CHECK(read(model, id).model.id == id);
  for (const std::string& id : listed("GPUs")) CHECK(read(gpu, id).gpu.id == id);
  for (const std::string& id : listed("links in a node")) CHECK(read(link, id).link.id == id);
  for (const std::string& id : listed("software")) CHECK(read(software, id).software.id == id);
  for (const std::string& id : listed("networks")) CHECK(read(network, id).network.id == id);
  for (const std::string& id : listed("algorithms"))
    CHECK(sim::job_algorithm_named(read(exchange, id).exchange)->id == id);
  CHECK_THAT(sim::names_text(catalogue()), Contains("network: [COUNTx ]RATE[ KIND][ per GPU| per N GPUs| per node]"));
}

TEST_CASE("no word names two algorithms", "[job]") {
  sim::NameIndex index;
  for (std::size_t i = 0; i < sim::job_algorithms().size(); ++i) {
    const sim::JobAlgorithm& algorithm = sim::job_algorithms()[i];
    CHECK_FALSE(index.add(algorithm.id, i));
    CHECK_FALSE(index.add(algorithm.title, i));
    for (const std::string& alias : algorithm.aliases) CHECK_FALSE(index.add(alias, i));
  }
  for (const char* name : {"ring", "hierarchical", "parameter server", "parameter-server"})  // of --help
    CHECK(index.find(name).has_value());
  for (const auto& choice : choices_of(Algorithm())) {
    CHECK(index.find(choice.name).has_value());
    for (const std::string& alias : choice.aliases) CHECK(index.find(alias) == index.find(choice.name));
  }
  for (const auto& choice : sim::choices_of(sim::AllReduceKind())) CHECK(index.find(choice.name).has_value());
}

TEST_CASE("an algorithm by name is the one that is simulated", "[job]") {
  const auto scenario_with = [](const std::string& algorithm, const std::string& network = "100 GbE") {
    INFO(algorithm);
    sim::JobQuestion job = small_job();
    job.gpus = {64};
    job.job.network.stated = network;
    job.job.exchange = algorithm;
    return sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s.task.target.front().scenario;
  };
  const std::map<std::string, sim::AllReduceKind> all_reduces{{"ring", sim::AllReduceKind::ring},
                                                              {"NCCL tree", sim::AllReduceKind::double_binary_tree},
                                                              {"tree", sim::AllReduceKind::tree},
                                                              {"Rabenseifner", sim::AllReduceKind::halving_doubling},
                                                              {"hierarchical", sim::AllReduceKind::hierarchical},
                                                              {"hybrid", sim::AllReduceKind::hybrid},
                                                              {"2D torus", sim::AllReduceKind::torus}};
  for (const auto& [name, all_reduce] : all_reduces) {
    INFO(name);
    const sim::Scenario scenario = scenario_with(name);
    CHECK(scenario.algorithm == Algorithm::s_sgd);
    CHECK(scenario.communication.all_reduce == all_reduce);
  }
  // Over several NICs, NCCL makes several rings or trees of one.
  for (const auto& [name, only] : std::map<std::string, sim::NcclAlgorithm>{{"ring", sim::NcclAlgorithm::ring},
                                                                            {"NCCL tree", sim::NcclAlgorithm::tree}}) {
    const sim::CommunicationSpec communication = scenario_with(name, "4x EDR").communication;
    CHECK(communication.all_reduce == sim::AllReduceKind::nccl);
    CHECK(communication.nccl.algorithm == only);
  }
  const std::map<std::string, Algorithm> algorithms{{"ddp", Algorithm::s_sgd},
                                                    {"PS", Algorithm::parameter_server},
                                                    {"kvstore", Algorithm::parameter_server},
                                                    {"sfb", Algorithm::parameter_server},
                                                    {"one-bit", Algorithm::parameter_server},
                                                    {"FSDP", Algorithm::sharded},
                                                    {"ZeRO-3", Algorithm::sharded},
                                                    {"sma", Algorithm::sma},
                                                    {"easgd", Algorithm::ea_sgd},
                                                    {"MPI_Allreduce", Algorithm::theano_mpi}};
  for (const auto& [name, algorithm] : algorithms) {
    INFO(name);
    CHECK(scenario_with(name).algorithm == algorithm);
  }
}

TEST_CASE("a network is what was written, and one that is written otherwise is the same", "[job]") {
  const auto rate = [](const std::string& network, int gpus_per_node = 0) {
    sim::JobQuestion job = small_job();
    job.job.gpu.stated = "H100";
    job.job.batch_per_gpu = 128;
    job.gpus = {64};
    job.job.gpus_per_node = gpus_per_node;
    job.job.network.stated = network;
    return rates(job).front();
  };
  CHECK(rate("100 GbE") == rate("100 gbe"));
  CHECK(rate("100 GbE") == rate("100 Gb/s Ethernet"));
  CHECK(rate("100 GbE") < rate("8x NDR"));
  CHECK(rate("25 gbit/s ethernet") == rate("25 GbE"));
  CHECK(rate("8x 400 Gb/s InfiniBand") == rate(""));  // usual for H100
  CHECK(rate("400 Gb/s InfiniBand per GPU") == rate("8x 400 Gb/s InfiniBand"));
  CHECK(rate("400 Gb/s InfiniBand per GPU", 4) == rate("4x 400 Gb/s InfiniBand", 4));
  CHECK(rate("200 Gb/s InfiniBand") < rate("400 Gb/s InfiniBand"));
}

TEST_CASE("a job's network may be slower than any that is usual, whatever its software", "[job]") {
  sim::JobQuestion job = small_job();
  job.gpus = {64};
  job.job.software.stated = "mlperf";
  job.job.network.stated = "1 GbE";
  const double slow = rates(job).front();
  job.job.network.stated = "";
  CHECK(slow < rates(job).front() / 2);
}

TEST_CASE("what was read is said before the table, and in JSON", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "ResNet-50 v1.5";
  job.job.gpu.stated = "H100 SXM";
  job.gpus = {8, 64};
  job.job.network.stated = "400 Gb/s per GPU";
  job.job.software.stated = "torch";
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const std::string text = sim::job_table(predicted, catalogue());
  CHECK(text.rfind("Read: ResNet-50 v1.5", 0) == 0);
  CHECK_THAT(text, Contains(" (resnet50_v15) on H100 SXM5 (h100-sxm), 8 per node by NVLink 4 (nvlink4);\n"
                            "      network 8x 400 Gb/s InfiniBand NDR (47.0 GB/s each by RDMA); PyTorch DDP (pytorch), "
                            "mixed precision.\n"));
  CHECK_THAT(text, Contains("network kind InfiniBand NDR (not stated; "));
  const Json read = sim::job_json(predicted, catalogue()).at("read");
  CHECK(read.at("model").at("id") == "resnet50_v15");
  CHECK(read.at("gpu").at("id") == "h100-sxm");
  CHECK(read.at("network").at("id") == "ib-ndr");
  CHECK(read.at("network").at("ports") == 8);
  CHECK(read.at("network").at("rdma") == true);
  CHECK(read.at("network").at("kind_stated") == false);
  CHECK(read.at("link").at("id") == "nvlink4");
  CHECK(read.at("link").at("stated") == false);
  CHECK(read.at("software").at("id") == "pytorch");
  CHECK(read.at("precision") == "mixed");
  job.job.network.stated = "";
  job.job.link.stated = "PCIe 5";
  job.job.exchange = "ring";
  const std::string open = sim::job_table(sim::predict_job(job, catalogue(), 1), catalogue());
  CHECK_THAT(open,
             Contains("8 per node by PCIe 5.0 (pcie5);\n      network 8x 400 Gb/s InfiniBand NDR (47.0 GB/s each by "
                      "RDMA), assumed; PyTorch DDP (pytorch), ring all-reduce, mixed precision.\n"));
  job.gpus = {8};
  const std::string one_node = sim::job_table(sim::predict_job(job, catalogue(), 1), catalogue());
  CHECK(one_node.find("network") == std::string::npos);
}

TEST_CASE("a transformer with _fused behind its name has fused attention, as in scenarios", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "bert_large_512";
  job.job.software.stated = "tensorflow";  // in passes over the scores, where PyTorch of today keeps them on the chip
  job.job.batch_per_gpu = 8;
  job.gpus = {8};
  sim::JobQuestion fused = job;
  fused.job.model.stated = "bert_large_512_fused";
  CHECK(rates(fused).front() > rates(job).front());
}

TEST_CASE("a job's network may be a file: a HuggingFace configuration is the network of its name", "[job]") {
  const std::string file = LOCKSTEP_SOURCE_DIR "/scenarios/models/llama3_8b/config.json";
  sim::JobQuestion named = small_job();
  named.job.model.stated = "llama3_8b";
  named.job.gpu.stated = "H100";
  named.gpus = {16, 64};
  named.job.batch_per_gpu = 1;
  named.job.exchange = "sharded";
  sim::JobQuestion of_file = named;
  of_file.job.model.stated = file;
  CHECK(rates(of_file) == rates(named));
  // Half the tokens of a sequence are less than half its work: attention grows with their square.
  sim::JobQuestion halved = of_file;
  halved.job.model.stated = file + "@4096";
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(rates(halved)[i] < 2.5 * rates(of_file)[i]);
    CHECK(rates(halved)[i] > 1.5 * rates(of_file)[i]);
  }
  sim::JobQuestion in_bf16 = of_file;
  in_bf16.job.precision = sim::RecordPrecision::mixed;  // the H100's usual one, mixed
  CHECK(rates(in_bf16) == rates(of_file));
  const sim::JobPrediction predicted = sim::predict_job(of_file, catalogue(), 1);
  const std::string table = sim::job_table(predicted, catalogue());
  CHECK_THAT(table, Contains("tokens of a sequence 8192 (not stated; 8192 by the file, which may be its context)"));
  const TemporaryFolder folder;  // an @ in a folder's name is no length of a sequence
  std::filesystem::create_directory(folder.path("a@b"));
  std::filesystem::copy_file(file, folder.path("a@b/config.json"));
  sim::JobQuestion elsewhere = of_file;
  elsewhere.job.model.stated = folder.path("a@b/config.json");
  const sim::JobPrediction moved = sim::predict_job(elsewhere, catalogue(), 1);
  CHECK(moved.rows.front().samples_per_s.predicted == predicted.rows.front().samples_per_s.predicted);
  CHECK_THAT(sim::job_table(moved, catalogue()), Contains("tokens of a sequence 8192 (not stated; "));
  sim::JobQuestion lost = of_file;
  lost.job.model.stated = "/nowhere/config.json";
  CHECK_THAT(why_refused(lost), Contains("/nowhere/config.json: "));
}

TEST_CASE("a board with more memory is as fast", "[job]") {
  sim::JobQuestion small = small_job(), large = small_job();
  large.job.gpu.stated = "Tesla V100-SXM2-32GB";
  CHECK(rates(small) == rates(large));
}

TEST_CASE("a GPU of an NVLink domain has its domain's nodes, unless the job says what links them", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.gpu.stated = "GB200";
  job.gpus = {128};
  const sim::ClusterSpec domain = sim::prepare_job(job, catalogue()).scenario.cluster;
  CHECK(domain.gpus_per_node == 64);
  CHECK(domain.nic.per_node == 64);
  // Trays of 4 are joined as far as 96 GPUs divide: two nodes of 48.
  job.gpus = {96};
  CHECK(sim::prepare_job(job, catalogue()).scenario.cluster.gpus_per_node == 48);
  job.job.gpus_per_node = 4;
  const sim::ClusterSpec joined = sim::prepare_job(job, catalogue()).scenario.cluster;
  CHECK(joined.gpus_per_node == 48);
  CHECK(joined.nic.per_node == 48);
  job.job.link.stated = "NVLink 5";
  const sim::ClusterSpec tray = sim::prepare_job(job, catalogue()).scenario.cluster;
  CHECK(tray.gpus_per_node == 4);
  CHECK(tray.nic.per_node == 4);
  CHECK(tray.nic.link.bandwidth_bytes_per_s == domain.nic.link.bandwidth_bytes_per_s);
}

TEST_CASE("nodes are GPUs by the number that a node has, and contradict no number of GPUs", "[job]") {
  const auto gpus_of = [&](std::vector<int> nodes, std::vector<int> gpus, int gpus_per_node) {
    sim::JobQuestion job = small_job();
    job.nodes = std::move(nodes);
    job.gpus = std::move(gpus);
    job.job.gpus_per_node = gpus_per_node;
    return sim::with_gpus_of_nodes(job, catalogue());
  };
  CHECK(gpus_of({1, 4}, {}, 0).gpus == std::vector<int>{8, 32});
  CHECK(gpus_of({4}, {}, 4).gpus == std::vector<int>{16});
  CHECK(gpus_of({4}, {32}, 0).gpus == std::vector<int>{32});
  CHECK(gpus_of({4}, {16}, 0).job.gpus_per_node == 4);
  CHECK(gpus_of({}, {24}, 0).gpus == std::vector<int>{24});
  CHECK_THROWS_WITH(gpus_of({4}, {64}, 0),
                    "--nodes 4: at 8 GPUs per node these are 32 GPUs, but --gpus is 64; allowed: one of the two, "
                    "or another --gpus-per-node");
  CHECK_THROWS_WITH(gpus_of({4}, {16}, 8), Contains("but --gpus is 16"));
  CHECK_THROWS_WITH(gpus_of({4, 8}, {32}, 0),
                    Contains("--nodes 4,8: at 8 GPUs per node these are 32,64 GPUs, but --gpus is 32"));
  sim::JobQuestion rack = small_job();
  rack.job.gpu.stated = "GB200";
  rack.nodes = {18};
  rack.gpus = {72};
  CHECK(sim::prepare_job(rack, catalogue()).scenario.cluster.gpus_per_node == 72);
}

TEST_CASE("a rack is the same however it is given", "[job]") {
  for (const char* gpu : {"GB200", "GB300"})
    for (const int gpus : {72, 144}) {
      INFO(gpu << " " << gpus);
      const auto cluster_of = [&](const std::string& name, int gpus_per_node) {
        sim::JobQuestion job = small_job();
        job.job.gpu.stated = name;
        job.job.gpus_per_node = gpus_per_node;
        job.gpus = {gpus};
        return sim::prepare_job(job, catalogue()).scenario.cluster;
      };
      const sim::ClusterSpec rack = cluster_of(gpu, 0);
      CHECK(rack.gpus_per_node == 72);
      CHECK(rack.nodes == gpus / 72);
      for (const sim::ClusterSpec& same :
           {cluster_of(gpu, 72), cluster_of(gpu, 4), cluster_of(std::string(gpu) + " NVL72", 0)}) {
        CHECK(same.gpus_per_node == rack.gpus_per_node);
        CHECK(same.nodes == rack.nodes);
        CHECK(same.nic.per_node == rack.nic.per_node);
        CHECK(same.nic.link.bandwidth_bytes_per_s == rack.nic.link.bandwidth_bytes_per_s);
      }
      CHECK(cluster_of(std::string(gpu) + " NVL36", 0).gpus_per_node == 36);
    }
  sim::JobQuestion odd = small_job();
  odd.job.gpu.stated = "GB200";
  odd.gpus = {74};
  CHECK(why_refused(odd) == "--gpus: 74 GPUs do not fill whole nodes; allowed: up to 4, or a multiple of it");
}

TEST_CASE("what is stated of a split stays, whether the rest of it is usual or searched", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "mixtral_8x7b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  job.job.batch_per_gpu = 0;
  job.job.global_batch = 256;
  job.job.split.give("tensor", 2);
  job.job.split.give("context", 2);
  job.job.split.give("expert", 4);
  job.job.split.give("pipeline", 2);
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero1));
  job.job.split.give("tensor_overlap", name_of(sim::TensorOverlap::all));
  job.job.split.give("context_exchange", name_of(sim::ContextExchange::all_gather));
  job.job.split.give("expert_imbalance", 1.5);
  job.job.split.give("expert_overlap", true);
  job.job.split.give("expert_tensor", 1);
  job.job.split.give("offload_optimizer", true);
  job.job.split.give("order", {"tensor", "pipeline", "context", "expert", "data"});
  for (const bool is_searched : {false, true}) {
    job.job.split.is_searched = is_searched;
    const std::optional<sim::ParallelSpec> spec = sim::predict_job(job, catalogue(), 1).scenario.parallel;
    REQUIRE(spec);
    CHECK(spec->tensor == 2);
    CHECK(spec->context == 2);
    CHECK(spec->expert == 4);
    CHECK(spec->pipeline == 2);
    CHECK(spec->sharding == sim::ShardingStage::zero1);
    CHECK(spec->tensor_overlap == sim::TensorOverlap::all);
    CHECK(spec->context_exchange == sim::ContextExchange::all_gather);
    CHECK(spec->expert_imbalance == 1.5);
    CHECK(spec->expert_overlap);
    CHECK(spec->expert_tensor == 1);
    CHECK(spec->offloads_optimizer);
    CHECK(spec->order == job.job.split.values.order);
  }
}

TEST_CASE("zero3 by a call for each matrix is slower, the more GPUs the more", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "A100";
  job.job.batch_per_gpu = 0;
  job.job.software.stated = "Megatron-LM";
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero3));
  job.job.split.give("recompute", name_of(sim::Recomputation::full));
  const auto rate_of_gpu = [&](int gpus, sim::ShardingCalls calls) {
    job.gpus = {gpus};
    job.job.global_batch = gpus;
    job.job.split.give("sharding_calls", name_of(calls));
    return rates(job).front() / gpus;
  };
  job.gpus = {64};
  job.job.global_batch = 64;
  job.job.split.give("sharding_calls", name_of(sim::ShardingCalls::tensors));
  const std::vector<Assumption> assumptions =
      sim::merge_inputs(sim::predict_job(job, catalogue(), 1).tasks()).assumptions;
  CHECK(std::any_of(assumptions.begin(), assumptions.end(),
                    [](const Assumption& a) { return a.pointer == "slice_overhead"; }));
  const double few = rate_of_gpu(64, sim::ShardingCalls::tensors) / rate_of_gpu(64, sim::ShardingCalls::layers);
  const double many = rate_of_gpu(512, sim::ShardingCalls::tensors) / rate_of_gpu(512, sim::ShardingCalls::layers);
  CHECK(few < 1);
  CHECK(many < 0.9 * few);
}

TEST_CASE("a language model's name may say the length of its sequences", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.gpu.stated = "H100";
  job.job.batch_per_gpu = 1;
  job.job.model.stated = "llama3_8b@4096";
  job.ignores_memory = true;
  const sim::Scenario scenario = sim::predict_job(job, catalogue(), 1).scenario;
  CHECK(scenario.model.tokens == 4096);
  job.job.model.stated = "llama3_8b@8192";
  const std::vector<double> named = rates(job);
  job.job.model.stated = "llama3_8b";  // its own length
  CHECK(named == rates(job));
  for (const char* wrong : {"llama3_8b@", "llama3_8b@4k", "llama3_8b@0", "llama3_8b@9999999999", "resnet50@224"}) {
    job.job.model.stated = wrong;
    CHECK_THAT(why_refused(job), Contains("no model of that name is known"));
  }
  job.job.model.stated = "llama3_8b@99999999";
  CHECK_THAT(why_refused(job), Contains("more than 1e18 multiply-adds; allowed: shorter sequences"));
}

TEST_CASE("experts that groups of replicas cannot hold stand whole on tensor ranks", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "mixtral_8x7b";
  job.job.gpu.stated = "H100";
  job.gpus = {16};
  job.job.batch_per_gpu = 0;
  job.job.global_batch = 16;
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero3));
  job.job.split.give("tensor", 4);
  job.job.split.give("expert", 4);
  const auto spec = [&] { return *sim::predict_job(job, catalogue(), 1).scenario.parallel; };
  CHECK(spec().expert_tensor == 0);
  job.job.split.give("expert", 8);  // 4 replicas
  CHECK(spec().expert_tensor == 1);
  job.job.split.give("expert", 4);
  job.job.software.stated = "NeMo";
  CHECK(spec().expert_tensor == 1);
  job.job.split.give("expert_tensor", 4);
  CHECK(spec().expert_tensor == 4);
}

TEST_CASE("a searched split hides of its tensor traffic what the software hides of a stated one", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  job.job.batch_per_gpu = 0;
  job.job.global_batch = 256;
  job.job.split.give("tensor", 8);
  const auto overlap = [&] { return sim::predict_job(job, catalogue(), 1).scenario.parallel->tensor_overlap; };
  const sim::TensorOverlap stated = overlap();
  CHECK(stated != sim::TensorOverlap::none);
  job.job.split.is_searched = true;
  CHECK(overlap() == stated);
}

}  // namespace
}  // namespace lockstep::tests
