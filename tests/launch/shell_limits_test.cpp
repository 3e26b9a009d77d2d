// Limits of the shell's reader: depth, memory and time.
#include "tests/base/input_error.hpp"
#include "tests/launch/corpus.hpp"
#include "tests/launch/shell_runs.hpp"

namespace lockstep::tests {

TEST_CASE("chains of ! and ?: of any length, and values that grow, end") {
  std::string chain = "[[";
  for (int i = 0; i < 200'000; ++i) chain += " !";
  CHECK(runs_of("A=1\nif " + chain + " -n $A ]]; then run yes; fi") == "run|yes\n");
  std::string choices = "1";
  for (int i = 0; i < 25'000; ++i) choices += "?1";
  for (int i = 0; i < 25'000; ++i) choices += ":1";
  CHECK(runs_of("((X = " + choices + "))\nrun x") == "run|x\n");
  CHECK(agreed("A=3\nrun $((A > 2 ? A > 5 ? 7 : 8 : 9)) $((((((((((((A))))))))))))") == "run|8|3\n");
  const std::string loops = "for i in {1..256}; do for j in {1..256}; do ";
  const std::string large = "A=" + std::string(200'000, 'a') + "\n" + loops;
  CHECK_THAT(error_of([&] { followed(large + "run $A; done; done"); }), Contains("more than 256 MiB"));
  CHECK_THAT(error_of([&] { followed(large + "B+=($A); done; done"); }), Contains("more than 256 MiB"));
}

TEST_CASE("replacing patterns in long values is not slow") {
  const std::string long_value(4'096, 'a');
  CHECK(runs_of("A=" + long_value + "\nrun ${A//a*b/x}") == "run|${A//a*b/x}<${A//a*b/x}>\n");
  CHECK(agreed("A=aXbXc\nrun ${A//X/-} ${A//?b/=} ${A/X*/.}") == "run|a-b-c|a=Xc|a.\n");
}

TEST_CASE("references that repeat a long value are refused") {
  const std::string value(2'000'000, 'x');
  std::string keys = "a: &a " + value + "\n", references = "a: " + value + "\n";
  for (int i = 0; i < 200; ++i) {
    keys += "k" + std::to_string(i) + ": *a\n";
    references += "k" + std::to_string(i) + ": ${a}\n";
  }
  CHECK_THAT(error_of([&] { launched_text(keys, "c.yaml"); }), Contains("more than 64 MiB"));
  CHECK_THAT(error_of([&] { launched_text(references, "c.yaml"); }), Contains("references repeat more than 64 MiB"));
}

TEST_CASE("a growing batch of any length, and an unknown part of a factory, are read or refused") {
  const std::string arguments =
      "torchrun --nproc_per_node 8 p.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length "
      "10000000 --max-position-embeddings 10000000 --micro-batch-size 1 --train-samples 1 --global-batch-size 2 --bf16 "
      "--rampup-batch-size 1 1 999999999999\n";
  CHECK_THAT(error_of([&] { launched_text(arguments); }), Contains("--rampup-batch-size: more than 1e18 tokens"));
  CHECK_THAT(needed_of(launched_text("nemo llm pretrain --factory \"llama3_8b($ARGS)\"\n")), Contains("$ARGS"));
}

}  // namespace lockstep::tests
