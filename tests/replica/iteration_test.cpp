// Laws that a point of a split keeps.
#include "sim/replica/iteration.hpp"
#include "sim/program/gpu_memory.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

// Links that hardly take time.
Json fast_cluster() {
  Json cluster = switched_cluster();
  cluster["intra_node"]["gpu_link"]["bandwidth"] = "10 TB/s";
  cluster["intra_node"]["pcie_link"]["bandwidth"] = "10 TB/s";
  cluster["nic"]["bandwidth"] = "10 TB/s";
  cluster["fabric"]["bandwidth"] = "40 TB/s";
  return cluster;
}

// The bubble of 32 layers, compared with which embedding and loss are short.
double bubble_of(const Json& parallel, int gpus) {
  Json scenario = split_scenario(parallel, {gpus});
  scenario["model"]["config"]["num_hidden_layers"] = 32;
  return predicted(SmallFiles(scenario, fast_cluster()).one()).details.split->bubble_fraction;
}

double iteration_s(const Json& parallel, int gpus, const Json& cluster = switched_cluster()) {
  return predicted(split_of(parallel, gpus, cluster)).mean_iteration_s();
}

Json with_nic(const std::string& bandwidth) {
  Json cluster = switched_cluster();
  cluster["nic"]["bandwidth"] = bandwidth;
  return cluster;
}

}  // namespace

TEST_CASE("a pipeline's bubble is (p-1)/(m+p-1), interleaved (p-1)/(v m+p-1)") {
  for (const auto& [p, m] : std::vector<std::pair<int, int>>{{2, 4}, {4, 4}, {4, 16}, {8, 8}}) {
    const double law = (p - 1.0) / (m + p - 1);
    for (const char* schedule : {"1f1b", "gpipe"})
      CHECK(bubble_of({{"pipeline", p}, {"micro_batches", m}, {"schedule", schedule}}, p) == Approx(law).epsilon(0.02));
  }
  for (const int v : {2, 4}) {
    const double law = 1.0 / (v * 8 + 1);
    CHECK(bubble_of({{"pipeline", 2}, {"micro_batches", 8}, {"schedule", "interleaved"}, {"virtual_stages", v}}, 2) ==
          Approx(law).epsilon(0.05));
  }
}

TEST_CASE(
    "pipelines of more than a million passes are extrapolated: 480,000 micro-batches take what 30,000 and 60,000 "
    "imply") {
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"}) {
    INFO(schedule);
    Json split{{"pipeline", 4}, {"schedule", schedule}};
    if (std::string(schedule) == "interleaved") split["virtual_stages"] = 2;
    const auto seconds = [&](int micro_batches) {
      split["micro_batches"] = micro_batches;
      return iteration_s(split, 4);
    };
    const double one = seconds(30'000), two = seconds(60'000);
    CHECK(seconds(480'000) == Approx(one + 15 * (two - one)).epsilon(1e-9));
  }
}

TEST_CASE("a split into replicas of one GPU is data parallelism to the bit") {
  Json plain = split_scenario({{"micro_batches", 3}, {"micro_batch", 2}}, {16});
  const sim::PointResult split = predicted(SmallFiles(plain, switched_cluster()).one());
  plain.erase("parallel");
  plain["batch_per_gpu"] = 2;
  plain["communication"]["accumulation"] = 3;
  plain["fidelity"] = "analytic";
  const sim::PointResult data = predicted(SmallFiles(plain, switched_cluster()).one());
  REQUIRE(split.iteration_s.size() == data.iteration_s.size());
  for (std::size_t i = 0; i < data.iteration_s.size(); ++i) CHECK(split.iteration_s[i] == data.iteration_s[i]);
  CHECK(split.samples_per_iteration == 16 * 2 * 3);
  CHECK(split.samples_per_iteration == data.samples_per_iteration);
}

TEST_CASE("zero3 by a call for each matrix: the host's slices of every call, and nothing hidden") {
  // Eight layers have five matrices each, plus a table of words and the output's, on eight ranks and two micro-batches.
  std::vector<sim::Scenario> scenarios;
  const auto add = [&](const char* calls, const char* slice, const char* recompute) {
    Json parallel{{"sharding", "zero3"}, {"micro_batches", 2}, {"recompute", recompute}, {"sharding_calls", calls}};
    if (calls == std::string("tensors")) parallel["slice_overhead"] = slice;
    scenarios.push_back(split_of(parallel, 8, fast_cluster()));
  };
  add("layers", "", "none");
  for (const char* recompute : {"none", "full"})
    for (const char* slice : {"0 us", "10 us"}) add("tensors", slice, recompute);
  for (const sim::Fidelity fidelity : {sim::Fidelity::analytic, sim::Fidelity::fast, sim::Fidelity::message}) {
    std::vector<sim::PointJob> jobs;
    for (const sim::Scenario& scenario : scenarios) {
      sim::PointRequest request;
      request.gpus = 8;
      request.fidelity = fidelity;
      request.iterations = 3;
      jobs.push_back({&scenario, request});
    }
    std::vector<double> seconds;
    for (const sim::PointResult& point : sim::predict_points(jobs, 2)) seconds.push_back(point.mean_iteration_s());
    const double calls = 2 * 3 * (8 * 5 + 2);           // of a micro-batch: gathered twice, scattered once
    const double repeated = 2 * 4 * 8 * 5 + 2 * 3 * 2;  // blocks once more, for the forward pass that is repeated
    CHECK(seconds[2] - seconds[1] == Approx(calls * 8 * 10e-6).epsilon(1e-6));
    CHECK(seconds[4] - seconds[3] == Approx(repeated * 8 * 10e-6).epsilon(1e-6));
    CHECK(seconds[1] >= seconds[0] * (1 - 1e-9));
  }
}

TEST_CASE("tensor traffic beside products hides no more than (t-1)/t of them, and never costs") {
  const auto with = [](const char* overlap, bool sequence, const Json& cluster) {
    return iteration_s({{"tensor", 4}, {"micro_batches", 2}, {"sequence", sequence}, {"tensor_overlap", overlap}}, 4,
                       cluster);
  };
  for (const bool sequence : {false, true}) {
    const double none = with("none", sequence, switched_cluster());
    const double backward = with("backward", sequence, switched_cluster());
    const double all = with("all", sequence, switched_cluster());
    CHECK(backward < none);
    // Only what is scattered and gathered comes in pieces; an all-reduce of the forward pass does not.
    CHECK((sequence ? all < backward : all == Approx(backward)));
    // The hidden part overlaps products, which links without delay do not affect.
    const double compute = with("none", sequence, fast_cluster());
    CHECK(all > compute * 0.999);
    CHECK(none - all < 0.75 * compute);
  }
}

TEST_CASE("faster GEMMs on a GPU that waits for its processor hide no less of the tensor exchange") {
  for (const sim::Fidelity fidelity : {sim::Fidelity::analytic, sim::Fidelity::fast}) {
    const auto seconds = [fidelity](double peaks, double host_launch_s) {
      sim::Scenario s = split_of({{"tensor", 4}, {"micro_batches", 2}, {"sequence", true}, {"tensor_overlap", "all"}},
                                 4, switched_cluster());
      s.fidelity = fidelity;
      s.compute.host_launch_s = host_launch_s;
      s.cluster.gpu.fp32_flops *= peaks;
      return predicted(s).mean_iteration_s();
    };
    const double waiting = seconds(1, 100e-6);
    CHECK(waiting > 1.2 * seconds(1, 0));
    CHECK(seconds(2, 100e-6) <= waiting * (1 + 1e-9));
    CHECK(seconds(8, 100e-6) <= waiting * (1 + 1e-9));
  }
}

// Exchanges of 4 MB buckets during the backward pass; nothing else overlaps anything.
TEST_CASE("exchanges that overlap a pass delay it by the slowdown for as long as they last") {
  const auto seconds = [](double slowdown, const std::string& sharding, bool overlap, int multiprocessors = 0) {
    Json scenario = split_scenario({{"micro_batches", 1}, {"micro_batch", 64}, {"sharding", sharding}}, {8});
    scenario["communication"]["overlap"] = overlap;
    scenario["compute"]["overlap_slowdown"] = slowdown;
    if (multiprocessors > 0)
      scenario["communication"].update({{"all_reduce", "nccl"}, {"nccl", {{"generation", "ampere"}}}});
    Json cluster = switched_cluster();
    if (multiprocessors > 0) cluster["gpu"]["multiprocessors"] = multiprocessors;
    return predicted(SmallFiles(scenario, cluster).one());
  };
  for (const char* sharding : {"none", "zero1", "zero2", "zero3"}) {
    INFO(sharding);
    const double plain_s = seconds(1, sharding, true).mean_iteration_s();
    double before_s = plain_s;
    for (const double slowdown : {1.2, 1.5, 3.0}) {
      const double now_s = seconds(slowdown, sharding, true).mean_iteration_s();
      CHECK(now_s > before_s);
      CHECK(now_s <= slowdown * plain_s * (1 + 1e-9));
      before_s = now_s;
    }
    // A kernel of NCCL's holds a multiprocessor for each of its thread blocks, of few or of many.
    const double few_s = seconds(1, sharding, true, 40).mean_iteration_s();
    const double many_s = seconds(1, sharding, true, 400).mean_iteration_s();
    CHECK(few_s >= many_s);
    if (std::string(sharding) == "zero3") CHECK(few_s > 1.001 * many_s);
  }
  CHECK(seconds(3, "none", false).mean_iteration_s() == Approx(seconds(1, "none", false).mean_iteration_s()));
}

TEST_CASE("frozen weights have no gradients: a third less arithmetic of products, adapters alone are exchanged") {
  const Json plain{{"pipeline", 2}, {"micro_batches", 4}};
  Json adapters = plain;
  adapters["lora_rank"] = 8;
  const sim::PointResult whole = predicted(split_of(plain, 8)), frozen = predicted(split_of(adapters, 8));
  CHECK(frozen.compute_s < 0.85 * whole.compute_s);
  CHECK(frozen.compute_s > 0.6 * whole.compute_s);
  CHECK(frozen.bytes_sent_per_gpu < whole.bytes_sent_per_gpu);
  // A layer's adapters for 512 features have r (2 h + 3 h + h) elements of 4 bytes; a stage has four layers, and there
  // are four replicas.
  const double trained = 4 * 8 * (2 * 512 + 3 * 512 + 512);
  const double messages = 2 * 4 * 256 * 512 * 4 / 2.0;  // forward of one stage, backward of the other: a mean of each
  CHECK(frozen.bytes_sent_per_gpu == Approx(2 * 0.75 * trained * 4 + messages).epsilon(1e-6));
  const sim::Scenario scenario = split_of(adapters, 8);
  const sim::GpuMemory memory = sim::gpu_memory(scenario, 8, 1), all = sim::gpu_memory(split_of(plain, 8), 8, 1);
  CHECK(memory.weights_bytes == all.weights_bytes);
  CHECK(memory.gradients_bytes < 0.05 * all.gradients_bytes);
}

TEST_CASE("an update in host memory takes what its bytes take there, shared by the GPUs of a node") {
  const auto with = [](const char* offload, const char* host, const char* way, int tensor) {
    Json cluster = fast_cluster();
    cluster["host"]["memory_bandwidth"] = host;
    cluster["intra_node"]["pcie_link"]["bandwidth"] = way;
    const Json parallel{
        {"tensor", tensor}, {"micro_batches", 1}, {"offload_optimizer", std::string(offload) == "host"}};
    return predicted(split_of(parallel, 4, cluster));
  };
  const sim::Scenario scenario = split_of({{"tensor", 1}, {"micro_batches", 1}}, 4);
  const double parameters = static_cast<double>(scenario.model.parameter_count());
  const auto update_s = [](const sim::PointResult& point) -> double { return point.details.split->update_s; };
  // Momentum reads three arrays of 4 bytes (gradient, velocity, weight) and writes two. Gradients come, weights go.
  const double bytes = (5 * 4 + 4 + 4) * parameters;
  CHECK(update_s(with("host", "100 GB/s", "10 TB/s", 1)) == Approx(4 * bytes / 100e9).epsilon(1e-6));
  // Four tensor ranks have a quarter each, but for norms and table that all have.
  CHECK(update_s(with("host", "100 GB/s", "10 TB/s", 4)) == Approx(bytes / 100e9).epsilon(0.05));
  CHECK(update_s(with("gpu", "100 GB/s", "10 TB/s", 4)) < 0.1 * update_s(with("host", "100 GB/s", "10 TB/s", 4)));
  // A slow link: weights take longer to return than the update, and gradients longer than the backward pass.
  const double backward_s = 2.0 / 3 * with("gpu", "100 GB/s", "10 TB/s", 1).compute_s;
  const double narrow = update_s(with("host", "10 TB/s", "1 GB/s", 1));
  CHECK(narrow < 8 * parameters / 1e9);
  CHECK(narrow == Approx(8 * parameters / 1e9 - backward_s).epsilon(0.02));
  // The GPU no longer holds the state.
  const sim::Scenario there = split_of({{"micro_batches", 1}, {"offload_optimizer", true}}, 4);
  CHECK(sim::gpu_memory(there, 4, 1).optimizer_state_bytes <
        0.1 * sim::gpu_memory(scenario, 4, 1).optimizer_state_bytes);
}

TEST_CASE("bytes of two tiny splits are those counted by hand") {
  // fp32: a hidden state has 256 x 512 x 4 bytes. An all-reduce of two ranks sends its own size. A layer has two
  // forward and two backward, the embedding one, the logits' input one, the loss three of 4 bytes a token.
  const double hidden = 256 * 512 * 4;
  const sim::PointResult tensor = predicted(split_of({{"tensor", 2}, {"micro_batches", 1}}, 2));
  CHECK(tensor.bytes_sent_per_gpu == Approx(8 * 4 * hidden + 2 * hidden + 3 * 4 * 256));

  // Two stages of one replica: an activation forward and a gradient back, of each of three micro-batches; half a GPU's
  // worth each way in the mean.
  const sim::PointResult pipeline = predicted(split_of({{"pipeline", 2}, {"micro_batches", 3}}, 2));
  CHECK(pipeline.bytes_sent_per_gpu == Approx(3 * hidden));

  // Two replicas with sharded state: half of the gradients scattered and half of the weights gathered.
  const sim::Scenario sharded = split_of({{"sharding", "zero1"}, {"micro_batches", 5}}, 2);
  CHECK(predicted(sharded).bytes_sent_per_gpu == Approx(4.0 * static_cast<double>(sharded.model.parameter_count())));
}

TEST_CASE("no split is slower on faster links, and one within a node does not know the network") {
  const std::vector<Json> splits{
      {{"tensor", 4}, {"micro_batches", 2}},
      {{"tensor", 8}, {"sequence", true}, {"micro_batches", 2}},
      {{"pipeline", 4}, {"micro_batches", 8}, {"schedule", "zb-h1"}},
      {{"pipeline", 4}, {"micro_batches", 8}, {"schedule", "zb-v"}},
      {{"pipeline", 4}, {"micro_batches", 8}, {"schedule", "dualpipe"}, {"sharding", "zero1"}},
      {{"tensor", 2}, {"pipeline", 2}, {"micro_batches", 4}, {"sharding", "zero1"}, {"recompute", "full"}},
      {{"context", 4}, {"micro_batches", 2}},
      {{"sharding", "zero2"}, {"micro_batches", 3}},
      {{"sharding", "zero3"}, {"micro_batches", 1}},
      {{"sharding", "zero1"}, {"sharding_group", 4}, {"micro_batches", 1}}};
  for (const Json& split : splits)
    for (const char* kind : {"ring", "nccl"}) {
      Json scenario = split_scenario(split, {16});
      scenario["communication"]["all_reduce"] = kind;
      if (std::string(kind) == "nccl") scenario["communication"]["nccl"] = {{"generation", "hopper"}};
      double before = 1e9;
      for (const char* bandwidth : {"1 GB/s", "3 GB/s", "10 GB/s", "25 GB/s", "100 GB/s"}) {
        Json cluster = with_nic(bandwidth);
        cluster["fabric"]["bandwidth"] = "400 GB/s";
        const double seconds = predicted(SmallFiles(scenario, cluster).one()).mean_iteration_s();
        INFO(split.dump() << " " << kind << " " << bandwidth);
        CHECK(seconds <= before * (1 + 1e-12));
        before = seconds;
      }
    }
  const Json in_node{{"tensor", 4}, {"micro_batches", 2}};
  CHECK(iteration_s(in_node, 4, with_nic("1 GB/s")) == iteration_s(in_node, 4, with_nic("100 GB/s")));
  CHECK(iteration_s({{"tensor", 8}, {"micro_batches", 2}}, 8, with_nic("1 GB/s")) >
        iteration_s({{"tensor", 8}, {"micro_batches", 2}}, 8, with_nic("100 GB/s")));
}

TEST_CASE("more state sharded, or computed again, takes less memory and no less time") {
  const auto memory = [](const Json& more) {
    Json parallel{{"micro_batches", 2}, {"micro_batch", 4}, {"tensor", 2}};
    parallel.update(more);
    return sim::gpu_memory(split_of(parallel, 16), 16, 4).total_bytes();
  };
  CHECK(memory({{"sharding", "zero1"}}) < memory({{"sharding", "none"}}));
  CHECK(memory({{"sharding", "zero2"}}) < memory({{"sharding", "zero1"}}));
  CHECK(memory({{"sharding", "zero3"}}) < memory({{"sharding", "zero2"}}));
  CHECK(memory({{"recompute", "full"}}) < memory({{"recompute", "none"}}));
  const Json again{{"tensor", 2}, {"micro_batches", 2}, {"recompute", "full"}};
  const Json once{{"tensor", 2}, {"micro_batches", 2}};
  const double ratio = iteration_s(again, 2, fast_cluster()) / iteration_s(once, 2, fast_cluster());
  CHECK(ratio > 1.2);  // a third more arithmetic, and the update as before
  CHECK(ratio < 4.0 / 3 + 0.01);
}

}  // namespace lockstep::tests
