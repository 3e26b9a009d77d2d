// --free-split searches the split that a launch file gives, and keeps its batch. The amount of work is given once.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

Outcome job_of_script(const std::string& script, const std::string& more) {
  TemporaryFolder folder;
  folder.write("train.sh", script + "\n");
  return run_program(folder.path(""), "simulate", "job --from train.sh --gpu H100 " + more);
}

}  // namespace

TEST_CASE("a file's split is searched where it is freed, at the file's global batch") {
  const std::string script =
      "torchrun --nnodes 2 --nproc_per_node 8 p.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
      "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --swiglu --vocab-size 32000 --bf16 "
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --micro-batch-size 2";
  const Outcome given = job_of_script(script + " --global-batch-size 64", "");
  REQUIRE(given.code == 0);
  CHECK_THAT(given.out, Contains("tensor 8, pipeline 2"));
  const Outcome freed = job_of_script(script + " --global-batch-size 64", "--free-split");
  REQUIRE(freed.code == 0);
  CHECK_THAT(freed.out, Contains("--free-split instead of") && Contains("--tensor 8"));
  CHECK_THAT(freed.out, !Contains("tensor 8, pipeline 2"));
  // Without a global batch, micro-batch and ranks determine it: one replica of two sequences.
  const Outcome parts = job_of_script(script, "--free-split");
  REQUIRE(parts.code == 0);
  CHECK_THAT(parts.out, Contains("--global-batch 2\n"));
}

TEST_CASE("the switch for a file's split needs a file, and work is given once") {
  TemporaryFolder folder;
  const std::string job = "job --model llama3_8b --gpu H100 --gpus 8 ";
  CHECK(run_program(folder.path(""), "simulate", job + "--free-split").code == 2);
  for (const char* more : {"--tokens 1T --flops 1e22", "--tokens 1T --samples 5M", "--tokens 1T --loss 2.2"}) {
    INFO(more);
    const Outcome twice = run_program(folder.path(""), "simulate", job + more);
    CHECK(twice.code == 2);
    CHECK_THAT(twice.err, Contains("given twice"));
  }
}

}  // namespace lockstep::tests
