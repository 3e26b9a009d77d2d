// train as a user runs it: bad usage, the record, the output.
#include <algorithm>
#include <csignal>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "tests/base/ended_process.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

using tests::Outcome;
using tests::run_program;
using tests::slurp;

struct BadUsage {
  const char* arguments;
  const char* error;
};

const BadUsage kBadUsage[] = {
    {"--algorithm sgd",
     "--algorithm: \"sgd\" is unknown; allowed: s-sgd, sma, ea-sgd, backup-workers, async-sgd, local-sgd, "
     "sharded, async-easgd"},
    {"--algorithm parameter-server",
     "--algorithm: \"parameter-server\" is predicted by simulate, and not trained; allowed: s-sgd, sma, ea-sgd, "
     "backup-workers, async-sgd, local-sgd, sharded, async-easgd"},
    {"--device gpu", "--device: \"gpu\" is unknown; allowed: host, cuda"},
    {"--precision fp8", "--precision: \"fp8\" is unknown; allowed: fp32, tf32, fp16, bf16"},
    {"--wire bf16", "--wire bf16: the host's devices exchange floats; allowed: fp32, or --device cuda"},
    {"--wire fp8", "--wire: \"fp8\" is unknown; allowed: fp32, fp16, bf16"},
    {"--device cuda --algorithm sma --wire bf16",
     "--wire bf16: models are exchanged, not gradients; allowed: fp32, or s-sgd, backup-workers, async-sgd"},
    {"--precision tf32",
     "--precision tf32: the host has no TF32; allowed: fp32, fp16, bf16 (emulated), or --device cuda"},
    {"--model gpt2",
     "model \"gpt2\" is predicted, not trained: no backend has its attention; allowed: the nearest that are trained, "
     "vgg11, vgg13, vgg16, or others of --list-models"},
    {"--model resnet51",
     "model \"resnet51\" is unknown; allowed: a .json file, or a name of --list-models, such as resnet50, resnet101, "
     "resnet152"},
    {"--model nothing.json", "nothing.json: cannot read: No such file or directory"},
    {"--data cifar",
     "--data: \"cifar\" is unknown; allowed: mnist, fashion-mnist, cifar-10, synthetic, synthetic-imagenet, "
     "synthetic-cifar, or a folder of images"},
    {"--bad-images keep", "--bad-images: \"keep\" is unknown; allowed: refuse, skip"},
    {"--data synthetic --bad-images skip",
     "--bad-images: has no meaning with --data synthetic; allowed: with a folder of JPEG images"},
    {"--data synthetic-cifar",
     "--data synthetic-cifar: images are 3x32x32 in 10 classes; allowed: 1x28x28 in 10 classes, as model "
     "lenet_crossbow takes"},
    {"--data mnist --data-dir .", "./mnist/train-images-idx3-ubyte: no such file; run ./bootstrap data"},
    {"--data cifar-10 --data-dir . --model resnet20_cifar",
     "./cifar-10/data_batch_1.bin: no such file; run ./bootstrap data cifar-10"},
    {"--data synthetic --train-images 10001", "--train-images: 10001 is more than there are; allowed: 1 to 10000"},
    {"--train-images 0", "--train-images: 0 is out of range; allowed: 1 to 4294967296"},
    {"--gpus 0", "--gpus: 0 is out of range; allowed: 1 to 1024"},
    {"--algorithm sma --learners 0", "--learners: 0 is out of range; allowed: 1 to 1024"},
    {"--learners 2", "--learners: s-sgd has one replica per GPU; allowed: 1 (a larger --batch has the same effect)"},
    {"--algorithm backup --gpus 2",
     "--gpus: backup workers share one set of parameters; allowed: 1 (--learners N --backups b)"},
    {"--algorithm stale --learners 2",
     "--learners: async-sgd has one replica per GPU; allowed: 1 (a larger --batch has the same effect)"},
    {"--batch 0", "--batch: 0 is out of range; allowed: 1 to 65536"},
    {"--evaluations-per-epoch 0", "--evaluations-per-epoch: 0 is out of range; allowed: 1 to 1000"},
    {"--epochs 0", "--epochs: 0 is out of range; allowed: 1 to 1000000"},
    {"--threads -1", "--threads: -1 is out of range; allowed: 0 (one per core) to 1024"},
    {"--target 99", "--target: 99 is out of range; allowed: a test accuracy above 0, up to 1"},
    {"--stop median", "--stop: without a target; allowed: with --target ACCURACY"},
    {"--stop soon", "--stop: \"soon\" is unknown; allowed: target, median, never"},
    {"--max-minutes 0", "--max-minutes: 0 is out of range; allowed: above 0"},
    {"--learning-rate 0", "--learning-rate: 0 is out of range; allowed: above 0"},
    {"--learning-rate nan", "--learning-rate: nan is out of range; allowed: above 0"},
    {"--momentum 1", "--momentum: 1 is out of range; allowed: 0 to below 1"},
    {"--optimizer sgd", "--optimizer \"sgd\" is not known; allowed: momentum, nesterov, adam, adamw"},
    {"--algorithm sma --optimizer adam",
     "--optimizer: has no meaning with --algorithm sma; allowed: with s-sgd, backup-workers, async-sgd, local-sgd, "
     "sharded"},
    {"--optimizer adam --momentum 0.5",
     "--momentum: has no meaning with --optimizer adam; allowed: --beta1, or another --optimizer"},
    {"--optimizer nesterov --lars 0.001",
     "--lars: adapts the rates of momentum, not of nesterov; allowed: with --optimizer momentum"},
    {"--beta1 0.5", "--beta1: has no meaning with --optimizer momentum; allowed: with --optimizer adam or adamw"},
    {"--optimizer adam --beta2 1", "--beta2: 1 is out of range; allowed: 0 to below 1"},
    {"--optimizer adamw --epsilon 0", "--epsilon: 0 is out of range; allowed: above 0"},
    {"--weight-decay -1", "--weight-decay: -1 is out of range; allowed: 0 or more"},
    {"--schedule slow", "--schedule: \"slow\" is unknown; allowed: constant, steps, linear, cosine"},
    {"--schedule steps", "--schedule steps: without --step-epochs; allowed: --step-epochs 30,60"},
    {"--schedule steps --step-epochs 60,30",
     "--step-epochs: the epochs do not rise; allowed: rising numbers from 1 on"},
    {"--step-epochs 3", "--step-epochs: has no meaning with --schedule constant; allowed: with --schedule steps"},
    {"--step-factor 0.1", "--step-factor: has no meaning with --schedule constant; allowed: with --schedule steps"},
    {"--linear-from 3",
     "--linear-from: has no meaning with --schedule constant; allowed: with --schedule linear or cosine"},
    {"--schedule linear --linear-from 30", "--linear-from: 30 is out of range; allowed: 0 to below --epochs"},
    {"--warmup-epochs -1", "--warmup-epochs: -1 is out of range; allowed: 0 or more"},
    {"--moving-average 1", "--moving-average: 1 is out of range; allowed: above 0, below 1"},
    {"--moving-average 0.9 --algorithm sma",
     "--moving-average: has no meaning with --algorithm sma; allowed: with s-sgd, backup-workers, async-sgd, sharded"},
    {"--tau 2", "--tau: has no meaning with --algorithm s-sgd; allowed: with sma, ea-sgd, local-sgd, async-easgd"},
    {"--algorithm easgd --tau never", "--tau: \"never\" is no number of iterations; allowed: 1 to 1000000"},
    {"--algorithm sma --tau 0", "--tau: \"0\" is no number of iterations; allowed: 1 to 1000000, or never"},
    {"--alpha 0.5", "--alpha: has no meaning with --algorithm s-sgd; allowed: with sma, ea-sgd, async-easgd"},
    {"--algorithm sma --alpha 2", "--alpha: 2 is out of range; allowed: 0 to 1"},
    {"--algorithm sma --averaging two", "--averaging: \"two\" is unknown; allowed: one, reference"},
    {"--algorithm sma --momentum 0",
     "--momentum 0: one SMA learner diverges without momentum; allowed: a momentum, --alpha below 1, more learners"},
    {"--algorithm easgd --momentum 0.9",
     "--momentum: has no meaning with --algorithm ea-sgd; allowed: with s-sgd, sma, backup-workers, async-sgd, "
     "local-sgd, sharded"},
    {"--algorithm sharded --lars 0.001",
     "--lars: has no meaning with --algorithm sharded; allowed: with s-sgd, backup-workers, async-sgd, local-sgd"},
    {"--algorithm sma --lars 0.001",
     "--lars: has no meaning with --algorithm sma; allowed: with s-sgd, backup-workers, async-sgd, local-sgd"},
    {"--algorithm sma --auto-tune --learners 2",
     "--learners: the auto-tuner chooses it, beginning with one; allowed: without --auto-tune"},
    {"--algorithm sma --auto-tune --auto-tune-from run.json",
     "--auto-tune-from: repeats what the auto-tuner chose; allowed: without --auto-tune"},
    {"--algorithm sma --noise-scale",
     "--noise-scale: has no meaning with --algorithm sma: the weights of its learners differ, and the noise scale "
     "compares gradients at the same weights; allowed: with s-sgd"},
    {"--algorithm sharded --noise-scale",
     "--noise-scale: has no meaning with --algorithm sharded: its gradients are those of s-sgd, whose noise scale "
     "holds "
     "for it; allowed: with s-sgd"},
    {"--auto-tune", "--auto-tune: has no meaning with --algorithm s-sgd; allowed: with sma"},
    {"--backups 1", "--backups: has no meaning with --algorithm s-sgd; allowed: with backup-workers"},
    {"--algorithm backup --backups -1", "--backups: -1 is out of range; allowed: 0 to 1024"},
    {"--algorithm backup --delay normal", "--delay: \"normal\" is unknown; allowed: lognormal, gamma, pareto"},
    {"--algorithm backup --delay-scale 0", "--delay-scale: 0 is out of range; allowed: above 0"},
    {"--algorithm async-easgd",
     "--algorithm async-easgd: its workers are processes, and this is the only one; allowed: mpirun -n 2 or more"},
    {"--algorithm stale --own-pace --staleness 3", "--staleness: is what comes of --own-pace; allowed: one of the two"},
    {"--staleness 1", "--staleness: has no meaning with --algorithm s-sgd; allowed: with async-sgd"},
    {"--algorithm stale --staleness many", "--staleness: \"many\" is no number; allowed: a number"},
    {"--algorithm local-sgd --tau never", "--tau: \"never\" is no number of iterations; allowed: 1 to 1000000"},
    {"--algorithm sma --bucket-bytes 1", "--bucket-bytes: has no meaning with --algorithm sma; allowed: with s-sgd"},
    {"--bucket-bytes -1", "--bucket-bytes: -1 is out of range; allowed: 0 to 1099511627776"},
    {"--algorithm stale --staleness -1", "--staleness: -1 is out of range; allowed: 0 to 10000"},
    {"--resume", "--resume: without a checkpoint; allowed: with --checkpoint FILE"},
    {"-o nowhere/run.json", "nowhere/run.json: cannot be written: No such file or directory"},
};

TEST_CASE("Bad usage of train is one line, and nothing is written") {
  const TemporaryFolder folder;
  for (const BadUsage& bad : kBadUsage) {
    const std::string arguments = bad.arguments;
    const bool has_output = arguments.find("-o ") != std::string::npos;
    const Outcome outcome = run_program(folder.path(""), "train", arguments + (has_output ? "" : " -o run.json"));
    CHECK(outcome.err == std::string(bad.error) + "\n");
    INFO(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(folder.files() == 0);
  }
}

TEST_CASE("An unknown flag is bad usage") {
  const TemporaryFolder folder;
  CHECK(run_program(folder.path(""), "train", "--learner 2").code == 2);
}

TEST_CASE("train without a GPU says so in one line and exits 1") {
  const TemporaryFolder folder;
  const Outcome outcome = run_program(
      folder.path(""), "train", "--device cuda --data synthetic --train-images 64 --test-images 64 --epochs 1 --quiet");
  if (outcome.code == 0) return;  // a machine with a GPU
  CHECK(outcome.code == 1);
  CHECK(outcome.err.rfind("train: --device cuda: ", 0) == 0);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

TEST_CASE("Algorithms have simulate's names, and are read by their older ones") {
  const std::vector<std::pair<std::string, std::string>> names{
      {"ssgd", "s-sgd"}, {"sma", "sma"}, {"easgd", "ea-sgd"}, {"backup", "backup-workers"}, {"stale", "async-sgd"}};
  for (const auto& [older, name] : names) {
    Request r;
    CHECK(resolve(r).algorithm == Algorithm::s_sgd);
    r.algorithm = older;
    const Settings settings = resolve(r);
    r.algorithm = name;
    CHECK(resolve(r).algorithm == settings.algorithm);
    CHECK(to_json(settings, false).at("algorithm") == name);  // the one that is written
    CHECK(is_same_setting("algorithm", older, name));
    CHECK(is_same_setting("algorithm", name, older));
    CHECK(is_same_setting("algorithm", "sma", name) == (name == "sma"));
  }
  CHECK_FALSE(is_same_setting("algorithm", "none", "s-sgd"));
  CHECK_FALSE(is_same_setting("model", "ssgd", "s-sgd"));
  CHECK(is_same_setting("batch", 16, 16));
}

TEST_CASE("The record of a run has what the interface promises") {
  const TemporaryFolder folder;
  folder.write("small.json", small_model(""));
  const Outcome outcome = run_program(folder.path(""), "train",
                                      "--model small.json --data synthetic --train-images 512 --test-images 200 "
                                      "--algorithm sma --learners 2 --epochs 6 --target 0.3 --stop median --threads 2 "
                                      "-o run.json");
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());  // no progress bar without a terminal
  const Json record = Json::parse(slurp(folder.path("run.json")));
  CHECK(record.at("schema") == "lockstep/run/1");
  CHECK(record.at("provenance").at("inputs").size() == 1);
  CHECK(record.at("provenance").at("argv").at(1) == "--model");
  CHECK(record.at("options").at("algorithm") == "sma");
  CHECK(record.at("options").at("learners") == 2);
  CHECK(record.at("options").at("learning_rate") == 0.01);
  CHECK(record.at("backend").at("name") == "host");
  CHECK(record.at("model").at("parameters") == 6 * 9 + 6 + 96 * 4 + 4);
  CHECK(record.at("data").at("train_images") == 512);
  CHECK(record.at("status") == "target reached");
  const Json& epochs = record.at("epochs");
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    CHECK(epochs[i].at("epoch") == i + 1);
    CHECK(epochs[i].at("iterations") == 16 * (i + 1));  // 512 / (2 x 16)
    CHECK(epochs[i].at("samples_per_s").get<double>() ==
          Approx(512 / epochs[i].at("epoch_s").get<double>()).epsilon(1e-9));
    CHECK(epochs[i].at("learners") == 2);
  }
  // The median of 5 epochs needs 5 of them, and all of these are above the target.
  CHECK(epochs.size() == 5);
  CHECK(record.at("epochs_to_target") == 1);
  CHECK(record.at("seconds_to_target") == epochs[0].at("train_s"));
  CHECK(record.at("median_of_5").at("epochs_to_target") == 5);
  CHECK(record.at("parameters_sha256").get<std::string>().size() == 64);
  const Json& plan = record.at("memory").at("plan");
  CHECK(plan.at("offline_bytes") <= plan.at("unplanned_bytes"));
  CHECK(plan.at("pooled_bytes") <= plan.at("replicated_bytes"));
  const std::string& table = outcome.out;
  CHECK(std::count(table.begin(), table.end(), '\n') == 7);  // a heading, five epochs, a summary
  CHECK(table.find("target reached; 30.00 % test accuracy: 1 epochs, ") != std::string::npos);
}

TEST_CASE("Two runs do not keep the same checkpoint") {
  const TemporaryFolder folder;
  folder.write("small.json", small_model(""));
  const std::string arguments =
      "--model small.json --data synthetic --train-images 64 --test-images 64 --epochs 1 --threads 1 --quiet "
      "--checkpoint state --resume";
  {
    const LockBeside other(folder.path("state"));  // this process is the other run
    const Outcome refused = run_program(folder.path(""), "train", arguments);
    CHECK(refused.code == 1);
    CHECK(refused.err.find("train: state: another run writes it") == 0);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
  CHECK(folder.files() == 1);
  CHECK(run_program(folder.path(""), "train", arguments).code == 0);
  CHECK(folder.files() == 2);  // the model and the checkpoint
}

TEST_CASE("A checkpoint that is there is resumed or overwritten, never lost by mistake") {
  const TemporaryFolder folder;
  folder.write("small.json", small_model(""));
  const std::string arguments =
      "--model small.json --data synthetic --train-images 64 --test-images 64 --epochs 1 --threads 1 --quiet "
      "--checkpoint state";
  REQUIRE(run_program(folder.path(""), "train", arguments).code == 0);
  const std::string kept = read_file(folder.path("state"));
  const Outcome refused = run_program(folder.path(""), "train", arguments);
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "state: --checkpoint: the state of a run is there; allowed: --resume to go on with it, --overwrite to begin "
        "anew\n");
  CHECK(read_file(folder.path("state")) == kept);
  CHECK(run_program(folder.path(""), "train", arguments + " --resume").code == 0);
  CHECK(run_program(folder.path(""), "train", arguments + " --overwrite").code == 0);
}

// Creates the files that a kill leaves. On a full disk (files limited to a block) the run leaves nothing and says so.
TEST_CASE("What a run that was killed in its checkpoint has left, the next one removes") {
  const TemporaryFolder folder;
  folder.write("small.json", small_model(""));
  const std::string arguments =
      "--model small.json --data synthetic --train-images 64 --test-images 64 --epochs 1 --threads 1 --quiet "
      "--checkpoint state --resume";
  const auto parts = [&](const std::string& of) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("")))
      if (entry.path().filename().string().rfind(of + ".part", 0) == 0) ++count;
    return count;
  };
  const std::string stopped = "cd '" + folder.path("") +
                              "' && ulimit -c 0 && ulimit -f 1 && exec '" LOCKSTEP_BUILD_DIR "/train' " + arguments +
                              " >/dev/null 2>&1 </dev/null";
  const int status = std::system(stopped.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(parts("state") == 0);
  folder.write("state.part" + ended_process() + "-0", "half of a checkpoint");
  folder.write("state2.part" + ended_process() + "-0", "another checkpoint's");
  CHECK(run_program(folder.path(""), "train", arguments).code == 0);
  CHECK(parts("state") == 0);
  CHECK(parts("state2") == 1);
  CHECK(folder.files() == 3);  // the model, the checkpoint and the other's part
}

TEST_CASE("The option memory-plan shows the plans and trains nothing") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_program(folder.path(""), "train", "--memory-plan --model lenet --algorithm sma --learners 4");
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("lenet_crossbow, batch 16: outputs and their gradients, 22 buffers\n") == 0);
  CHECK(outcome.out.find("4 learners, shared pools (computed only)") != std::string::npos);
  CHECK(folder.files() == 0);
}

}  // namespace
}  // namespace lockstep::train
