// Bad input gives one line on stderr that names file, JSON pointer, the error and what is allowed. The exit code is 2.
// Nothing is written, not even over an existing file.
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

using lockstep::TemporaryFolder;
using lockstep::tests::kScenario;
using lockstep::tests::Outcome;
using lockstep::tests::run_program;
using lockstep::tests::slurp;
using lockstep::tests::small_cluster;
using Json = nlohmann::ordered_json;

namespace {

struct Case {
  const char* file;     ///< the file that is changed
  const char* pointer;  ///< "" replaces the whole text
  const char* value;    ///< JSON, or the text itself
  const char* error;
};

const char* const kUnitsOfTime = "ns, us, ms, s, min, h, d, w";
const char* const kUnitsOfBandwidth =
    "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, "
    "b/s, bps, kb/s, kbps, Mb/s, Mbps, Gb/s, Gbps, Tb/s, Tbps";

std::vector<Case> cases();

void write_inputs(const TemporaryFolder& folder, const Case& c) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"scenario.json", kScenario}, {"cluster.json", small_cluster(4)}}) {
    std::string content = text;
    if (std::string(c.file) == name) {
      if (std::string(c.pointer).empty()) {
        content = c.value;
      } else {
        Json json = Json::parse(text);
        const Json::json_pointer where(c.pointer);
        if (std::string(c.value) == "remove")
          json.at(where.parent_pointer()).erase(where.back());
        else
          json[where] = Json::parse(c.value);
        content = json.dump();
      }
    }
    folder.write(name, content);
  }
}

std::string expected(std::string text) {
  const auto replace = [&text](const std::string& mark, const std::string& by) {
    if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), by);
  };
  replace("{TIME}", kUnitsOfTime);
  replace("{BANDWIDTH}", kUnitsOfBandwidth);
  return text + "\n";
}

}  // namespace

TEST_CASE("the small scenario of these tests is good") {
  const TemporaryFolder folder;
  write_inputs(folder, {"", "", "", ""});
  const Outcome outcome = run_program(folder.path(""), "simulate", "scenario.json --json out.json --quiet");
  CHECK(outcome.err == "");
  CHECK(outcome.code == 0);
  CHECK(Json::parse(slurp(folder.path("out.json")))["points"].size() == 2);
}

TEST_CASE("each malformed input gives its one line, exit code 2 and no output") {
  for (const Case& c : cases()) {
    const TemporaryFolder folder;
    write_inputs(folder, c);
    folder.write("out.json", "precious");
    const Outcome outcome =
        run_program(folder.path(""), "simulate", "scenario.json --json out.json --csv out.csv --quiet");
    INFO(c.file << " " << c.pointer << " = " << c.value);
    CHECK(outcome.err == expected(c.error));
    CHECK(outcome.out == "");
    CHECK(outcome.code == 2);
    CHECK(slurp(folder.path("out.json")) == "precious");
    CHECK(!std::filesystem::exists(folder.path("out.csv")));
  }
  CHECK(cases().size() >= 40);
}

namespace {

std::vector<Case> cases() {
  const char* const s = "scenario.json";
  const char* const k = "cluster.json";
  return {
      // The text
      {s, "", "", "scenario.json: line 1, column 1: unexpected end of input; expected '[', '{', or a literal"},
      {s, "", "{", "scenario.json: line 1, column 2: unexpected end of input; expected string literal"},
      {s, "", "[1, 2]", "scenario.json: /: expected an object, got an array"},
      {s, "", "{\"name\": \"a\", \"name\": \"b\"}", "scenario.json: /: duplicate key \"name\""},
      {s, "", "{\"name\": NaN}", "scenario.json: line 1, column 10: invalid literal"},
      {s, "", "{} trailing", "scenario.json: line 1, column 6: invalid literal"},
      // Keys and identity
      {s, "/schema", "\"lockstep/scenario/9\"",
       "scenario.json: /schema: \"lockstep/scenario/9\" is unknown; allowed: lockstep/scenario/1"},
      {s, "/schema", "remove", "scenario.json: /: missing key \"schema\""},
      {s, "/gpu", "[8]",
       "scenario.json: /: unknown key \"gpu\"; known: schema, $schema, name, description, algorithm, cluster, model, "
       "gpus, "
       "baseline, batch_per_gpu, parallel, compute, input, communication, learners, parameter_server, workers, "
       "local_sgd, "
       "sharding, theano_mpi, convergence, published, uncertainty, iterations, seed, ignore_memory, fidelity, "
       "variants, jobs, background"},
      {s, "/name", "\"\"", "scenario.json: /name: expected a string that is not empty"},
      {s, "/name", "7", "scenario.json: /name: expected a string, got a number"},
      {s, "/algorithm", "\"sgd\"",
       "scenario.json: /algorithm: \"sgd\" is unknown; allowed: s-sgd, parameter-server, sma, ea-sgd, backup-workers, "
       "async-sgd, async-easgd, local-sgd, sharded, theano-mpi"},
      {s, "/cluster", "remove", "scenario.json: /: missing key \"cluster\""},
      {s, "/cluster", "\"none.json\"", "scenario.json: /cluster: cannot read \"none.json\": No such file or directory"},
      {s, "/cluster", "5", "scenario.json: /cluster: expected an object, got a number"},
      {s, "/model", "\"resnet5\"",
       "scenario.json: /model: model \"resnet5\" is unknown; allowed: a .json file, or a name of --list-models, such "
       "as "
       "resnet50, resnet152, resnet18"},
      {s, "/model", "remove", "scenario.json: /: missing key \"model\""},
      // Counts
      {s, "/gpus", "[]", "scenario.json: /gpus: empty list; allowed: one or more GPU counts"},
      {s, "/gpus", "[2, 16]",
       "scenario.json: /gpus/1: 16 GPUs are more than the cluster has; allowed: at most 8, or more nodes of the "
       "cluster (/cluster/nodes)"},
      {s, "/gpus", "[3]", "scenario.json: /gpus/0: 3 GPUs do not fill whole nodes; allowed: multiples of 2"},
      {s, "/gpus", "[0]", "scenario.json: /gpus/0: value 0 is out of range; allowed: 1 to 1048576"},
      {s, "/gpus", "[2.5]", "scenario.json: /gpus/0: expected a whole number, got 2.5; allowed: 1 to 1048576"},
      {s, "/gpus", "4", "scenario.json: /gpus: expected an array, got a number"},
      {s, "/baseline", "{\"gpus\": 100}",
       "scenario.json: /baseline/gpus: 100 GPUs are more than the cluster has; allowed: at most 8, or more nodes of "
       "the cluster (/cluster/nodes)"},
      {s, "/batch_per_gpu", "0", "scenario.json: /batch_per_gpu: value 0 is out of range; allowed: 1 to 1048576"},
      {s, "/batch_per_gpu", "[]",
       "scenario.json: /batch_per_gpu: empty list; allowed: a batch size, or [{\"up_to_gpus\", \"batch\"}, ...]"},
      {s, "/batch_per_gpu", "[{\"up_to_gpus\": 2, \"batch\": 8}]",
       "scenario.json: /gpus/1: no batch size for 4 GPUs; allowed: at most 2 by /batch_per_gpu"},
      {s, "/batch_per_gpu", "[{\"up_to_gpus\": 4, \"batch\": 8}, {\"up_to_gpus\": 2, \"batch\": 8}]",
       "scenario.json: /batch_per_gpu/1/up_to_gpus: not in ascending order; allowed: more than 4"},
      {s, "/iterations", "0", "scenario.json: /iterations: value 0 is out of range; allowed: 1 to 100000"},
      {s, "/seed", "-1", "scenario.json: /seed: value -1 is out of range; allowed: 0 to 9223372036854775807"},
      {s, "/fidelity", "\"exact\"", "scenario.json: /fidelity: \"exact\" is unknown; allowed: message, fast, analytic"},
      // Compute
      {s, "/compute", "{}", "scenario.json: /compute: missing key \"precision\""},
      {s, "/compute/precision", "\"fp64\"",
       "scenario.json: /compute/precision: \"fp64\" is unknown; allowed: fp32, tf32, fp16, bf16, mixed, fp8, fp4"},
      {s, "/compute/precision", "\"tf32\"",
       "scenario.json: /compute/precision: the cluster's GPU has no peak rate for \"tf32\""},
      {s, "/compute/rates", "[{\"batch\": 64, \"rate\": \"200\"}]",
       "scenario.json: /compute/rates/0/rate: missing unit; allowed: 1/s, images/s, samples/s"},
      {s, "/compute/rates", "[{\"batch\": 64, \"rate\": 200}]",
       "scenario.json: /compute/rates/0/rate: missing unit; allowed: 1/s, images/s, samples/s"},
      {s, "/compute/rates",
       "[{\"batch\": 64, \"rate\": \"200 images/s\"}, {\"batch\": 32, \"rate\": \"200 images/s\"}]",
       "scenario.json: /compute/rates/1/batch: not in ascending order; allowed: more than 64"},
      {s, "/compute/launch_overhead", "\"5 parsec\"",
       "scenario.json: /compute/launch_overhead: unit \"parsec\" is unknown; allowed: {TIME}"},
      {s, "/compute/efficiency", "{\"compute\": 1.5}",
       "scenario.json: /compute/efficiency/compute: value 1.5 is out of range; allowed: 1e-06 to 1"},
      {s, "/compute/jitter", "{\"distribution\": \"lognormal\"}",
       "scenario.json: /compute/jitter: missing key \"coefficient_of_variation\""},
      {s, "/compute/jitter", "{\"distribution\": \"lognormal\", \"coefficient_of_variation\": -0.1}",
       "scenario.json: /compute/jitter/coefficient_of_variation: value -0.1 is out of range; allowed: 0 to 1"},
      {s, "/compute/jitter", "{\"distribution\": \"none\", \"coefficient_of_variation\": 2}",
       "scenario.json: /compute/jitter/coefficient_of_variation: value 2 is out of range; allowed: 0 to 1"},
      {s, "/compute/overlap_slowdown", "0.5",
       "scenario.json: /compute/overlap_slowdown: value 0.5 is out of range; allowed: 1 to 100"},
      {s, "/compute/profile_input", "\"real\"",
       "scenario.json: /compute/profile_input: \"real\" is unknown; allowed: synthetic"},
      // Communication
      {s, "/communication/all_reduce", "\"star\"",
       "scenario.json: /communication/all_reduce: \"star\" is unknown; allowed: ring, hierarchical, hybrid, "
       "halving-doubling, double-binary-tree, tree, torus, nccl, profile, profile-average"},
      {s, "/communication/wire", "\"int8\"",
       "scenario.json: /communication/wire: \"int8\" is unknown; allowed: fp32, fp16"},
      {s, "/communication/group_size", "0",
       "scenario.json: /communication/group_size: value 0 is out of range; allowed: 1 to 1048576"},
      {s, "/communication/chain_slices", "1.5",
       "scenario.json: /communication/chain_slices: expected a whole number, got 1.5; allowed: 0 to 1048576"},
      {s, "/communication/ddp", "{\"bucket_cap\": 25}",
       "scenario.json: /communication/ddp/bucket_cap: missing unit; allowed: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
      {s, "/communication/fusion_threshold", "\"-4 MB\"",
       "scenario.json: /communication/fusion_threshold: value -4e+06 B is out of range; allowed: 0 to 1e+12 B"},
      {s, "/communication/message_overhead", "\"nan us\"",
       "scenario.json: /communication/message_overhead: \"nan us\" does not start with a number; allowed: a number and "
       "a unit, such as \"1 s\""},
      {s, "/communication/message_overhead", "{\"value\": \"5 us\", \"kind\": \"guessed\", \"source\": \"me\"}",
       "scenario.json: /communication/message_overhead/kind: \"guessed\" is unknown; allowed: measured, published, "
       "fitted, assumed"},
      {s, "/communication/message_overhead", "{\"value\": \"5 us\", \"kind\": \"assumed\"}",
       "scenario.json: /communication/message_overhead: missing key \"source\""},
      {s, "/communication/overlap", "\"yes\"",
       "scenario.json: /communication/overlap: expected a boolean, got a string; allowed: true, false"},
      {s, "/communication/latncy", "\"1 us\"",
       "scenario.json: /communication: unknown key \"latncy\"; known: all_reduce, group_size, chain_slices, "
       "hybrid_threshold, "
       "torus_columns, tree_slices, wire, fusion_threshold, fusion, ddp, accumulation, overlap, message_overhead, "
       "launch_overhead, nccl, profile, library, reduction_rate, bucket_copies"},
      // NCCL, buckets, local SGD, shards, Theano-MPI, and loading follow.
      {s, "/communication/all_reduce", "\"nccl\"",
       "default: /communication/nccl: NCCL's tables have no \"G\"; allowed: with \"generation\": pascal, volta, "
       "ampere, hopper, blackwell"},
      {s, "/communication/nccl", "{\"generation\": \"kepler\"}",
       "scenario.json: /communication/nccl/generation: \"kepler\" is unknown; allowed: pascal, volta, ampere, hopper, "
       "blackwell"},
      {s, "/communication/nccl", "{\"generation\": \"ampere\", \"protocol\": \"LL\"}",
       "scenario.json: /communication/nccl/protocol: \"LL\" is unknown; allowed: ll, ll128, simple"},
      {s, "/communication/nccl", "{\"generation\": \"ampere\", \"ring\": {\"channels\": 0}}",
       "scenario.json: /communication/nccl/ring/channels: value 0 is out of range; allowed: 1 to 64"},
      {s, "/communication/nccl", "{\"generation\": \"ampere\", \"ring\": {\"channels\": 2, \"intra\": \"20 GB/s\"}}",
       "scenario.json: /communication/nccl/ring: missing key \"inter\""},
      {s, "/communication/fusion", "\"fsdp\"",
       "scenario.json: /communication/fusion: \"fsdp\" is unknown; allowed: threshold, ddp"},
      {s, "/communication", "{\"fusion\": \"ddp\", \"ddp\": {\"first_bucket\": \"0 B\"}}",
       "scenario.json: /communication/ddp/first_bucket: value 0 B is out of range; allowed: 1 to 1e+12 B"},
      {s, "/communication/accumulation", "0",
       "scenario.json: /communication/accumulation: value 0 is out of range; allowed: 1 to 100000"},
      {s, "",
       R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "local-sgd",
           "communication": {"accumulation": 2}})",
       "scenario.json: /communication/accumulation: \"local-sgd\" does not accumulate gradients; allowed: 1"},
      {s, "",
       R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "sharded",
           "communication": {"all_reduce": "torus"}})",
       "scenario.json: /communication/all_reduce: shards are gathered by ring or nccl; allowed: ring, nccl"},
      {s, "",
       R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "theano-mpi",
           "communication": {"wire": "fp16"}})",
       "scenario.json: /communication/wire: Theano-MPI's wire follows from its exchange; allowed: fp32"},
      {s, "/local_sgd", "{\"period\": 0}",
       "scenario.json: /local_sgd/period: value 0 is out of range; allowed: 1 to 10000"},
      {s, "/sharding", "{\"unit\": \"0 B\"}",
       "scenario.json: /sharding/unit: value 0 B is out of range; allowed: 1 to 1e+12 B"},
      {s, "/sharding", "{\"gathers_again\": 2}",
       "scenario.json: /sharding/gathers_again: expected a boolean, got a number; allowed: true, false"},
      {s, "/theano_mpi", "{\"exchange\": \"ASA\"}",
       "scenario.json: /theano_mpi/exchange: \"ASA\" is unknown; allowed: ar, asa, asa16"},
      {s, "/theano_mpi", "{\"host_copy_rate\": \"5 GB\"}",
       "scenario.json: /theano_mpi/host_copy_rate: unit \"GB\" is unknown; allowed: {BANDWIDTH}"},
      {s, "/input", "{\"loading\": \"lazy\"}",
       "scenario.json: /input/loading: \"lazy\" is unknown; allowed: parallel, blocking"},
      {s, "/input", "{\"file_bytes_per_sample\": \"100 kB\"}",
       "scenario.json: /input/file_bytes_per_sample: nothing says how fast files are read; allowed: with "
       "\"disk_bandwidth\" or \"nfs_bandwidth\""},
      {s, "/input", "{\"disk_bandwidth\": \"1 GB/s\", \"nfs_bandwidth\": \"1 GB/s\"}",
       "scenario.json: /input/nfs_bandwidth: given beside \"disk_bandwidth\"; allowed: one of the two"},
      {s, "/input", "{\"traffic\": \"wires\"}",
       "scenario.json: /input/traffic: \"wires\" is unknown; allowed: aside, links"},
      {s, "/input", "{\"traffic\": \"links\"}",
       "scenario.json: /input/traffic: no bytes cross the links; allowed: with \"bytes_per_sample\", or "
       "\"file_bytes_per_sample\" and \"nfs_bandwidth\""},
      {s, "",
       R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [8], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "input": {"traffic": "links",
           "file_bytes_per_sample": "1 kB", "nfs_bandwidth": "1 GB/s"}})",
       "scenario.json: /input/traffic: the cluster has no node for the file server beside 8 GPUs; allowed: a cluster "
       "of "
       "at least 5 nodes"},
      {s, "",
       R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "async-sgd",
           "input": {"traffic": "links", "bytes_per_sample": "1 kB"}})",
       "scenario.json: /input/traffic: \"async-sgd\" has no input; allowed: aside"},
      {s, "/convergence", "{\"target\": \"99 %\", \"train_samples\": 60000}",
       "scenario.json: /convergence: missing key \"epochs\""},
      {s, "/uncertainty", "{\"compute\": 2}",
       "scenario.json: /uncertainty/compute: value 2 is out of range; allowed: 0 to 0.9"},
      {s, "/variants", "[]",
       "scenario.json: /variants: empty list; allowed: [{\"name\", \"set\": {\"/json/pointer\": value}}, ...]"},
      {s, "/variants", "[{\"name\": \"a\", \"set\": {\"/nowhere/x\": 1}}]",
       "scenario.json: /variants/0/set: /nowhere/x: no such place; \"/nowhere\" does not exist"},
      {s, "/published", "[{\"gpus\": 4, \"metric\": \"speed\", \"value\": 1, \"source\": \"s\"}]",
       "scenario.json: /published/0/metric: \"speed\" is unknown; allowed: scaling_efficiency, time_to_accuracy, "
       "samples_per_s, iteration, throughput_gain"},
      {s, "/published",
       "[{\"gpus\": 4, \"metric\": \"throughput_gain\", \"value\": 1, \"over\": \"x\", \"source\": \"s\"}]",
       "scenario.json: /published/0/over: no such variant; allowed: a name of /variants"},
      {s, "/published",
       "[{\"gpus\": 4, \"metric\": \"samples_per_s\", \"value\": \"1 1/s\", \"over\": \"a\", \"source\": \"s\"}]",
       "scenario.json: /published/0/over: \"samples_per_s\" is compared with no variant; allowed: with "
       "\"throughput_gain\""},
      // Workers
      {s, "/workers", "{\"backups\": 4}",
       "scenario.json: /workers/backups: 0 of 4 gradients cannot make an update; allowed: 1 to all of them"},
      {s, "/workers", "{\"aggregate\": 5}",
       "scenario.json: /workers/aggregate: 5 of 4 gradients cannot make an update; allowed: 1 to all of them"},
      {s, "/workers", "{\"backups\": 1, \"aggregate\": 3}",
       "scenario.json: /workers/aggregate: both backups and aggregate; allowed: one of them"},
      {s, "/workers", "{\"servers\": 3}",
       "scenario.json: /workers/servers: 3 separate servers beside 4 GPUs are more nodes than the cluster has; "
       "allowed: "
       "at most 2"},
      {s, "/workers", "{\"servers\": 1.5}",
       "scenario.json: /workers/servers: expected a whole number, got 1.5; allowed: 1 to 1048576"},
      {s, "/workers", "{\"sends\": \"never\"}",
       "scenario.json: /workers/sends: \"never\" is unknown; allowed: at-end, in-backward"},
      {s, "/workers", "{\"late\": \"never\"}",
       "scenario.json: /workers/late: \"never\" is unknown; allowed: finish, interrupted"},
      {s, "/workers", "{\"timeout\": 2}", "scenario.json: /workers/timeout: missing unit; allowed: {TIME}"},
      {s, "/workers", "{\"apply_rate\": \"2 GB\"}",
       "scenario.json: /workers/apply_rate: unit \"GB\" is unknown; allowed: {BANDWIDTH}"},
      {s, "/workers", "{\"placement\": \"anywhere\"}",
       "scenario.json: /workers/placement: \"anywhere\" is unknown; allowed: co-located, separate"},
      {s, "/workers", "{\"delay\": {\"distribution\": \"gamma\", \"scale\": 1, \"shape\": 0}}",
       "scenario.json: /workers/delay/shape: value 0 is out of range; allowed: 0.01 to 1e+06"},
      {s, "/workers", "{\"delay\": {\"distribution\": \"lognormal\", \"median\": -1, \"sigma\": 0.1}}",
       "scenario.json: /workers/delay/median: value -1 is out of range; allowed: 1e-06 to 1e+06"},
      {s, "/workers", "{\"delay\": {\"distribution\": \"empirical\", \"samples\": \"no-such-file.txt\"}}",
       "scenario.json: /workers/delay/samples: cannot read no-such-file.txt; allowed: a text file of numbers, a .json "
       "array"},
      {s, "", R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "async-easgd",
           "workers": {"servers": 1, "alpha": 1}})",
       "scenario.json: /workers/alpha: value 1 is out of range; allowed: 1e-06 to 0.999999"},
      {s, "", R"({"schema": "lockstep/scenario/1", "name": "n", "cluster": "cluster.json", "model": "lenet_crossbow",
           "gpus": [2], "batch_per_gpu": 16, "compute": {"precision": "fp32"}, "algorithm": "async-sgd",
           "workers": {"reads": "never"}})",
       "scenario.json: /workers/reads: \"never\" is unknown; allowed: at-start, in-forward"},
      {s, "/workers", "{\"delay\": {\"distribution\": \"cauchy\"}}",
       "scenario.json: /workers/delay/distribution: \"cauchy\" is unknown; allowed: none, lognormal, gamma, "
       "pareto-tail, "
       "empirical, percentiles"},
      {s, "/workers", "{\"delay\": {\"distribution\": \"empirical\", \"samples\": []}}",
       "scenario.json: /workers/delay/samples: no samples; allowed: one or more numbers above 0"},
      {s, "/workers",
       "{\"delay\": {\"distribution\": \"percentiles\", \"percentiles\": [{\"at\": 0.5, \"value\": 1}]}}",
       "scenario.json: /workers/delay/percentiles: too few percentiles; allowed: two or more"},
      {s, "/workers",
       "{\"delay\": {\"distribution\": \"percentiles\", \"percentiles\": [{\"at\": 0.5, \"value\": 2}, {\"at\": 0.9, "
       "\"value\": 1}]}}",
       "scenario.json: /workers/delay/percentiles/1/value: less than the value before it; allowed: values that rise "
       "with "
       "\"at\""},
      {s, "/convergence", "{\"target\": \"t\", \"train_samples\": 10, \"iterations_by_workers\": []}",
       "scenario.json: /convergence/iterations_by_workers: empty list; allowed: [{\"workers\", \"iterations\"}, ...]"},
      // Learners
      {s, "/algorithm", "\"sma\"",
       "default: /learners: the GPU's concurrency is not stated; allowed: \"fill\", or \"occupancy\" to estimate it "
       "from"},
      {s, "/learners", "{\"fill\": 1.5}",
       "scenario.json: /learners/fill: value 1.5 is out of range; allowed: 0.001 to 1"},
      {s, "/learners", "{\"fill\": \"guess\"}",
       "scenario.json: /learners/fill: \"guess\" is unknown; allowed: profile"},
      {s, "/learners", "{\"fill\": \"profile\"}",
       "scenario.json: /learners/fill: no profile in /compute/profile; allowed: a fraction, or [{\"batch\", \"fill\"}, "
       "...]"},
      {s, "/learners", "{\"fill\": []}",
       "scenario.json: /learners/fill: empty list; allowed: a fraction, or [{\"batch\", \"fill\"}, ...]"},
      {s, "/learners", "{\"fill\": [{\"batch\": 8, \"fill\": 0.5}, {\"batch\": 8, \"fill\": 0.6}]}",
       "scenario.json: /learners/fill/1/batch: not in ascending order; allowed: more than 8"},
      {s, "/learners", "{\"fill\": 0.5, \"per_gpu\": 0}",
       "scenario.json: /learners/per_gpu: value 0 is out of range; allowed: 1 to 64"},
      {s, "/learners", "{\"fill\": 0.5, \"tau\": 0}",
       "scenario.json: /learners/tau: value 0 is out of range; allowed: 1 to 100"},
      {s, "/learners", "{\"fill\": 0.5, \"tau\": \"seldom\"}",
       "scenario.json: /learners/tau: \"seldom\" is unknown; allowed: never"},
      {s, "/learners", "{\"fill\": 0.5, \"scheduling\": \"lottery\"}",
       "scenario.json: /learners/scheduling: \"lottery\" is unknown; allowed: first-come-first-served, round-robin"},
      {s, "/learners", "{\"fill\": 0.5, \"synchronised_by\": \"nobody\"}",
       "scenario.json: /learners/synchronised_by: \"nobody\" is unknown; allowed: streams, host"},
      {s, "/learners", "{\"fill\": 0.5, \"synchronised_by\": \"host\"}",
       "scenario.json: /learners: missing key \"host_wait\"; allowed: a time, for the host to notice that a GPU is "
       "done"},
      {s, "/learners", "{\"fill\": 0.5, \"host_wait\": \"2 s\"}",
       "scenario.json: /learners/host_wait: value 2 s is out of range; allowed: 0 to 1 s"},
      {s, "/learners", "{\"fill\": 0.5, \"auto_tune\": {\"threshold\": 0}}",
       "scenario.json: /learners/auto_tune/threshold: value 0 is out of range; allowed: 1e-06 to 1"},
      {s, "/learners", "{\"occupancy\": {\"multiprocessors\": 24.5}}",
       "scenario.json: /learners/occupancy/multiprocessors: expected a whole number, got 24.5; allowed: 1 to 1024"},
      {s, "/learners", "{\"fill\": 0.5, \"pre_processing\": {\"workers\": 4}}",
       "scenario.json: /learners/pre_processing: missing key \"rate\""},
      {s, "/learners", "{\"fill\": 0.5, \"workspace\": \"64\"}",
       "scenario.json: /learners/workspace: missing unit; allowed: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
      // Parameter server
      {s, "/parameter_server", "{\"scheme\": \"gossip\"}",
       "scenario.json: /parameter_server/scheme: \"gossip\" is unknown; allowed: server, factors, best, adam, one-bit"},
      {s, "/parameter_server", "{\"placement\": \"separate\"}",
       "default: /parameter_server/servers: separate servers need a number; allowed: 1 to 1048576"},
      {s, "/parameter_server", "{\"placement\": \"separate\", \"servers\": 4}",
       "scenario.json: /parameter_server/servers: 4 separate servers beside 2 GPUs are more nodes than the cluster "
       "has; "
       "allowed: at most 3"},
      {s, "/parameter_server", "{\"sharding\": \"rows\"}",
       "scenario.json: /parameter_server/sharding: \"rows\" is unknown; allowed: pairs, tensors"},
      {s, "/parameter_server", "{\"pair_size\": \"2\"}",
       "scenario.json: /parameter_server/pair_size: missing unit; allowed: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
      {s, "/parameter_server", "{\"barrier\": 1}",
       "scenario.json: /parameter_server/barrier: expected a boolean, got a number; allowed: true, false"},
      {s, "/parameter_server", "{\"pairs_per_message\": 0}",
       "scenario.json: /parameter_server/pairs_per_message: value 0 is out of range; allowed: 1 to 1000000"},
      {s, "/parameter_server", "{\"streams\": 257}",
       "scenario.json: /parameter_server/streams: value 257 is out of range; allowed: 0 to 256"},
      {s, "/parameter_server", "{\"staging\": {\"bandwidth\": \"2 GB/s\"}}",
       "scenario.json: /parameter_server/staging: missing key \"overlap\""},
      {s, "/parameter_server", "{\"apply_rate\": 5}",
       "scenario.json: /parameter_server/apply_rate: missing unit; allowed: {BANDWIDTH}"},
      {k, "/nic/duplex", "\"simplex\"", "cluster.json: /nic/duplex: \"simplex\" is unknown; allowed: full, half"},
      // The cluster's file
      {k, "", "{", "cluster.json: line 1, column 2: unexpected end of input; expected string literal"},
      {k, "/nic/bandwidth", "\"100 Gbits\"",
       "cluster.json: /nic/bandwidth: unit \"Gbits\" is unknown; allowed: {BANDWIDTH}"},
      {k, "/nic/bandwidth", "12.5", "cluster.json: /nic/bandwidth: missing unit; allowed: {BANDWIDTH}"},
      {k, "/nic/bandwidth", "\"0 GB/s\"",
       "cluster.json: /nic/bandwidth: value 0 B/s is out of range; allowed: 1000 to 1e+14 B/s"},
      {k, "/nic/latency", "\"2 fortnights\"",
       "cluster.json: /nic/latency: unit \"fortnights\" is unknown; allowed: {TIME}"},
      {k, "/nic/attach", "[3]", "cluster.json: /nic/attach/0: value 3 is out of range; allowed: 0 to 0"},
      {k, "/gpus_per_node", "100000", "cluster.json: /gpus_per_node: value 100000 is out of range; allowed: 1 to 128"},
      {k, "/intra_node/kind", "\"token-ring\"",
       "cluster.json: /intra_node/kind: \"token-ring\" is unknown; allowed: pcie-tree, nvlink-mesh, nvswitch"},
      {k, "/intra_node/switches", "[{\"socket\": 0, \"gpus\": [0]}]",
       "cluster.json: /intra_node/switches: GPU 1 is at no switch; allowed: every GPU from 0 to 1 at one switch"},
      {k, "/fabric/kind", "\"hypercube\"",
       "cluster.json: /fabric/kind: \"hypercube\" is unknown; allowed: star, fat-tree, torus, dragonfly"},
      {k, "/gpu/peak/fp32", "\"10 TB/s\"",
       "cluster.json: /gpu/peak/fp32: unit \"TB/s\" is unknown; allowed: FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, "
       "PFLOP/s"},
  };
}

}  // namespace
