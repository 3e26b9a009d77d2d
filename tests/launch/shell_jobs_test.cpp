// Jobs that a script submits, and the variables and machines of the commands that start a training.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

const std::string kProgramOfJob =
    " p.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings "
    "2048 --micro-batch-size 1 --global-batch-size 1152 --bf16 --tensor-model-parallel-size 2\n";

// Returns "GPUs/GPUs per node" of a script whose folder has these files.
std::string machine_beside(const std::string& script, const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  const sim::LaunchedJob job = sim::read_launch({folder.write("main.sh", script), {}, {}}, launch_catalogue());
  return option_of(job, "--gpus") + "/" + option_of(job, "--gpus-per-node");
}

std::string needed_beside(const std::string& script, const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  return needed_of(sim::read_launch({folder.write("main.sh", script), {}, {}}, launch_catalogue()));
}

}  // namespace

TEST_CASE("a training has the variables of its command, not those of the end of the script") {
  const std::string swift = "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full --max_length 2048\n";
  CHECK(option_of(launched_text("export CUDA_VISIBLE_DEVICES=0,1,2,3\nexport NPROC_PER_NODE=4\n" + swift +
                                "export CUDA_VISIBLE_DEVICES=0\nexport NPROC_PER_NODE=1\nswift infer --x 1\n"),
                  "--gpus") == "4");
}

TEST_CASE("directives belong to the job that they submit") {
  const std::string train = "srun --ntasks-per-node=8 python" + kProgramOfJob;
  CHECK(machine_beside("sbatch x.sh\n", {{"x.sh", "#SBATCH -N 4\n" + train}}) == "32/8");
  CHECK(machine_beside("sbatch -N 2 x.sh\n", {{"x.sh", "#SBATCH -N 4\n" + train}}) == "16/8");
  CHECK(machine_beside("#SBATCH -N 2\nbash x.sh\n", {{"x.sh", "#SBATCH -N 4\n" + train}}) == "16/8");
  CHECK(machine_beside("sbatch -N 8 prepare.sh\nsbatch x.sh\n",
                       {{"x.sh", "#SBATCH -N 4\n" + train}, {"prepare.sh", "#SBATCH -N 1\necho a\n"}}) == "32/8");
  CHECK(machine_beside("sbatch -N 4 <<'EOF'\n" + train + "EOF\n", {}) == "32/8");
  CHECK(machine_beside("sbatch -N 4 --wrap 'srun --ntasks-per-node=8 python" +
                           kProgramOfJob.substr(0, kProgramOfJob.size() - 1) + "'\n",
                       {}) == "32/8");
  CHECK(machine_beside("sbatch x.sh\n", {{"x.sh", "#SBATCH -N 4\ntorchrun --nproc_per_node 8 --nnodes $SLURM_NNODES" +
                                                      kProgramOfJob}}) == "32/8");
  CHECK(machine_beside("id=$(sbatch --parsable x.sh)\necho $id\n", {{"x.sh", "#SBATCH -N 4\n" + train}}) == "32/8");
}

TEST_CASE("a script that submits itself is followed once") {
  const std::string guard = "if [ -z \"$SLURM_JOB_ID\" ]; then\n  sbatch -N 2 $0\n  exit\nfi\n";
  const std::string train = "srun --ntasks-per-node=8 python" + kProgramOfJob;
  CHECK(machine_beside(guard + train, {}) == "16/8");
  CHECK(machine_beside("#SBATCH -N 4\n" + guard + train, {}) == "32/8");
  CHECK(machine_beside("#SBATCH -N 4\n" + train + "sbatch $0\n", {}) == "32/8");
}

TEST_CASE("host lists give the nodes, unless other options give the size of the job") {
  const std::vector<std::pair<std::string, std::string>> files{{"h", "a slots=8\nb slots=8\nc slots=8\nd slots=8\n"}};
  CHECK(machine_beside("deepspeed --num_gpus 8 --hostfile h" + kProgramOfJob, files) == "32/8");
  CHECK(machine_beside("deepspeed --num_gpus 4 --hostfile h" + kProgramOfJob, files) == "16/4");
  CHECK(machine_beside("deepspeed --hostfile h --num_nodes 2" + kProgramOfJob, files) == "16/8");
  CHECK(machine_beside("deepspeed -H h" + kProgramOfJob, files) == "32/8");
  CHECK(machine_beside("mpirun -N 8 -H a:8,b:8 python" + kProgramOfJob, {}) == "16/8");
  CHECK(machine_beside("mpirun --npernode 4 -H a:8,b:8 python" + kProgramOfJob, {}) == "8/4");
  CHECK(machine_beside("mpirun -np 8 -H a:8,b:8 python" + kProgramOfJob, {}) == "8/absent");
  CHECK_THAT(needed_beside("deepspeed --hostfile h --exclude a:0" + kProgramOfJob, files),
             Contains("--gpus it excludes hosts or GPUs"));
}

TEST_CASE("only GPUs among a node's resources count") {
  CHECK(machine_beside("srun -N 2 --gres=lscratch:100,gpu:a100:4 python" + kProgramOfJob, {}) == "8/4");
  CHECK(machine_beside("#SBATCH -N 2\n#SBATCH --gres=gpu:4,lscratch:100\ntorchrun --nproc_per_node "
                       "$SLURM_GPUS_ON_NODE --nnodes 2" +
                           kProgramOfJob,
                       {}) == "8/4");
  CHECK_THAT(needed_beside("G=$(nproc)\nsrun -N 2 -n 4 --gpus-per-task=$G python" + kProgramOfJob, {}),
             Contains("--gpus $(nproc) cannot be evaluated"));
}

TEST_CASE("launchers that srun starts give the nodes, unless it starts several on a node") {
  CHECK(machine_beside("for h in a b c d; do srun -N 1 -n 1 -w $h torchrun --nnodes 4 --nproc_per_node 8" +
                           kProgramOfJob.substr(0, kProgramOfJob.size() - 1) + " & done\n",
                       {}) == "32/8");
  CHECK_THAT(
      needed_beside(
          "#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\nsrun torchrun --nproc_per_node 2 --nnodes 2" + kProgramOfJob, {}),
      Contains("--gpus srun starts several launchers"));
}

TEST_CASE("a flag does not take the override behind it") {
  const sim::LaunchedJob job =
      launched_text("nemo llm pretrain --factory llama3_8b -y trainer.num_nodes=4 trainer.devices=8\n");
  CHECK(option_of(job, "--gpus") == "32");
}

}  // namespace lockstep::tests
