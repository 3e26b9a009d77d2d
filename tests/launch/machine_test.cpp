// Nodes and GPUs by options of srun, mpirun, flux and sbatch.
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

const std::string kProgram =
    " p.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings "
    "2048 "
    "--micro-batch-size 1 --global-batch-size 1152 --bf16 --tensor-model-parallel-size 2\n";

// Returns "GPUs/GPUs per node" of a launcher before python, or of a whole script.
std::string machine_of(const std::string& launcher, const std::string& program = "python") {
  const sim::LaunchedJob job = launched_text(launcher + " " + program + kProgram);
  return option_of(job, "--gpus") + "/" + option_of(job, "--gpus-per-node");
}

std::string missing_of(const std::string& launcher) {
  return needed_of(launched_text(launcher + " python" + kProgram));
}

}  // namespace

TEST_CASE("mpirun: processes per node are read, those per socket need the GPUs of a node") {
  CHECK(machine_of("mpirun -np 16 --map-by ppr:4:node") == "16/4");
  CHECK(machine_of("mpirun -np 16 -map-by ppr:8:node:PE=4") == "16/8");
  CHECK(machine_of("mpirun -np 16 -N 4") == "16/4");
  CHECK(machine_of("mpirun -np 16 --npernode 8") == "16/8");
  CHECK(machine_of("mpiexec -n 16 --ppn 4") == "16/4");
  CHECK(machine_of("mpirun -np 16 --map-by slot") == "16/absent");
  CHECK_THAT(missing_of("mpirun -np 16 --map-by ppr:4:socket"),
             Contains("--gpus-per-node the number of sockets per node is not known"));
  CHECK_THAT(missing_of("mpirun -np 16 --map-by ppr:2:numa"), Contains("the number of numas per node"));
  CHECK_THAT(missing_of("mpirun -np 16 --npersocket 2"), Contains("--gpus-per-node"));
  CHECK(missing_of("mpirun -np 16 -N 8 --map-by ppr:4:socket").empty());
  CHECK_THAT(error_of([] { machine_of("mpirun -np 16 --map-by ppr:x:node"); }), Contains("give ppr:8:node"));
}

TEST_CASE("srun and sbatch: tasks, GPUs per task, GPUs of the job") {
  CHECK(machine_of("srun -N 4 --ntasks-per-node=8") == "32/8");
  CHECK(machine_of("srun -N 4 -n 32 --gpus-per-task=1") == "32/8");
  CHECK(machine_of("srun -N 4 --ntasks-per-node=1 --gpus-per-task=8") == "32/8");
  CHECK_THAT(needed_of(launched_text("srun -N 4 --ntasks-per-node=2 torchrun --nproc_per_node 4" + kProgram)),
             Contains("--gpus-per-node srun starts several launchers"));
  CHECK(machine_of("srun -n 4 -N 2 --gpus-per-task=a100:4") == "16/8");
  CHECK(machine_of("srun --gpus=16 -N 2") == "16/8");
  CHECK(machine_of("srun -G 16 -N2") == "16/8");
  CHECK(machine_of("srun --gpus=h100:16 -N 2") == "16/8");
  CHECK(option_of(launched_text("srun --gpus=h100:16 python" + kProgram), "--gpu") == "h100");
  CHECK(machine_of("#SBATCH -N 4\n#SBATCH --ntasks-per-node=1\nsrun --ntasks-per-node=8") == "32/8");
  CHECK(machine_of("#SBATCH -N 4\n#SBATCH --gres=gpu:8\nsrun -N 2 --gres=gpu:4 --ntasks-per-node=4") == "8/4");
  CHECK_THAT(missing_of("srun -N 2 -n 16 --gpus-per-socket=2"), !Contains("--gpus-per-node"));
  CHECK_THAT(missing_of("srun -n 16 --ntasks-per-socket=2"), Contains("--gpus-per-node"));
}

TEST_CASE("flux run: nodes, tasks and GPUs per task") {
  CHECK(machine_of("flux run -N 4 -n 32 -g 1") == "32/8");
  CHECK(machine_of("flux run -N4 --tasks-per-node=4 --exclusive") == "16/4");
  CHECK(machine_of("flux submit -N 2 -n 2 --gpus-per-task=8") == "16/8");
  CHECK(machine_of("flux mini run --nodes=2 --gpus-per-node=4 --ntasks=8") == "8/4");
}

TEST_CASE("torchrun: a range of nodes is a number if both ends agree") {
  CHECK(machine_of("torchrun --nnodes 2:2 --nproc-per-node 8", "") == "16/8");
  CHECK(machine_of("torchrun --nnodes 1:4 --nproc-per-node 8", "") == "absent/8");
}

TEST_CASE("accelerate, started as a module, is a launcher") {
  CHECK(machine_of("python -m accelerate.commands.launch --num_processes 16 --num_machines 2", "") == "16/8");
}

TEST_CASE("GPUs that DeepSpeed's --include names are those of the job, and other numbers contradict them") {
  CHECK(machine_of("deepspeed --include a:0,1,2,3@b:4,5,6,7", "") == "8/4");
  CHECK(machine_of("deepspeed --num_nodes 2 --num_gpus 4 --include a:0,1,2,3@b:0,1,2,3", "") == "8/4");
  const std::string contradiction =
      error_of([] { machine_of("deepspeed --num_nodes 2 --num_gpus=8 --include a:0,1,2,3@b:0,1,2,3", ""); });
  CHECK_THAT(contradiction, Contains("train.sh:1 (--include): GPUs per node \"4\" contradicts \"8\" at train.sh:1 "
                                     "(--num_gpus)"));
  CHECK_THAT(error_of([] { machine_of("deepspeed --num_nodes 3 --include a:0,1@b:0,1", ""); }),
             Contains("(--include): nodes \"2\" contradicts \"3\""));
  CHECK_THAT(needed_of(launched_text("deepspeed --include a:0,1@b:0" + kProgram)),
             Contains("--gpus its hosts have different numbers of GPUs"));
  const std::string hosts = "cat > hosts <<E\na slots=8\nb slots=8\nE\ndeepspeed --hostfile hosts ";
  CHECK(machine_of(hosts + "--include a", "") == "8/8");
  CHECK(machine_of(hosts + "--include a@b", "") == "16/8");
  CHECK(machine_of(hosts + "--include a:0,1@b:0,1", "") == "4/2");
  CHECK(machine_of(hosts, "") == "16/8");
}

TEST_CASE("GPUs that CUDA_VISIBLE_DEVICES hides cannot be used") {
  const std::string two = "CUDA_VISIBLE_DEVICES=0,1 ";
  CHECK_THAT(
      error_of([&] { machine_of(two + "torchrun --nproc_per_node 4", ""); }),
      Contains("(CUDA_VISIBLE_DEVICES): GPUs per node \"2\" contradicts \"4\" at train.sh:1 (--nproc_per_node)"));
  CHECK_THAT(error_of([&] { machine_of(two + "accelerate launch --num_processes 4", ""); }),
             Contains("(CUDA_VISIBLE_DEVICES): GPUs \"2\" contradicts \"4\" at train.sh:1 (--num_processes)"));
  CHECK(machine_of(two + "torchrun --nproc_per_node 2", "") == "2/2");
  CHECK(machine_of("CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 2", "") == "2/2");
  CHECK(machine_of(two + "torchrun", "") == "2/2");
  const sim::LaunchedJob ignored = launched_text("export CUDA_VISIBLE_DEVICES=0,1\ndeepspeed --num_gpus 4" + kProgram);
  CHECK(option_of(ignored, "--gpus") == "4");
  CHECK_THAT(sim::launch_text(ignored, {}),
             Contains("CUDA_VISIBLE_DEVICES (DeepSpeed ignores it because of --num_gpus)"));
}

TEST_CASE("processes that do not divide over the nodes are refused with both numbers") {
  CHECK_THAT(error_of([] { machine_of("accelerate launch --num_processes 8 --num_machines 3", ""); }),
             Contains("train.sh:1 (--num_processes): 8 GPUs do not divide over the 3 nodes at train.sh:1 "
                      "(--num_machines); make them agree"));
  CHECK(machine_of("accelerate launch --num_processes 9 --num_machines 3", "") == "9/3");
}

}  // namespace lockstep::tests
