// Shells that a script starts, redirected output, conditions that are unknown, loops, read and mapfile. Scripts without
// unknowns are also run by bash, which must agree.
#include "sim/launch/shell.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"
#include "tests/launch/shell_runs.hpp"

namespace lockstep::tests {
namespace {

const std::string kTraining =
    "torchrun --nproc_per_node 8 p.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

}  // namespace

TEST_CASE("a started script has its own variables and exit; a sourced one shares them") {
  const Files files{{"x.sh", "TP=2\nrun $TP \"$1\"\nexit 1\nrun never\n"},
                    {"y.sh", "run \"${TP-unset}\" \"${PP-unset}\"\n"}};
  CHECK(agreed("TP=8\nbash x.sh a\nrun $TP", files) == "run|2|a\nrun|8\n");
  CHECK(agreed("TP=8\n. ./x.sh a\nrun never", files) == "run|2|a\n");
  CHECK(agreed("TP=8\nexport PP=4\nbash y.sh\nrun $TP", files) == "run|unset|4\nrun|8\n");
  CHECK(agreed("TP=8 bash y.sh\nrun \"${TP-none}\"", files) == "run|8|unset\nrun|none\n");
  CHECK(agreed("TP=1\nTP=8 run $TP\nTP=8 bash y.sh $TP", files) == "run|1\nrun|8|unset\n");
  CHECK(agreed("env TP=8 bash y.sh", files) == "run|8|unset\n");
  CHECK(agreed("set -a\nTP=1\nset +a\nPP=2\n./y.sh", files) == "run|1|unset\n");
  CHECK(agreed("declare -x TP=3\nbash y.sh", files) == "run|3|unset\n");
  CHECK(runs_of("sbatch --export=ALL,TP=4 y.sh", files) == "run|4|unset\n");
  CHECK(agreed("f() { run a; }\nbash z.sh\nf", {{"z.sh", "f() { run b; }\nf\n"}}) == "run|b\nrun|a\n");
  CHECK(agreed("A=1\n( A=2; run $A; exit 1; run never )\nrun $A") == "run|2\nrun|1\n");
  CHECK(agreed("A=1\n( if true; then exit 0; fi; run never )\nrun $A") == "run|1\n");
  CHECK(agreed("A=1\nbash <<'E'\nrun \"${A-unset}\"\nexit\nE\nrun $A") == "run|unset\nrun|1\n");
  CHECK(agreed("exec run a\nrun never") == "run|a\n");
}

TEST_CASE("variables of the shell that starts the training count, those of other shells do not") {
  const TemporaryFolder folder;
  folder.write("inner.sh", "TP=2\nexport NCCL_ALGO=Ring\n" + kTraining + "--tensor-model-parallel-size $TP\nexit 0\n");
  const sim::LaunchedJob job = sim::read_launch(
      {folder.write("a.sh", "TP=8\nexport NCCL_ALGO=Tree\nbash inner.sh\necho done\n"), {}, {}}, launch_catalogue());
  CHECK(option_of(job, "--tensor") == "2");
  std::string algorithm;
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.key == "env.NCCL_ALGO") algorithm = setting.value.get<std::string>();
  CHECK(algorithm == "Ring");
  const sim::LaunchedJob prefixed = launched_text(
      "CUDA_VISIBLE_DEVICES=0,1,2 llamafactory-cli train "
      "finetuning_type=full per_device_train_batch_size=1\n");
  CHECK(option_of(prefixed, "--gpus") == "3");
}

TEST_CASE("output that a redirection takes away is not in the value") {
  CHECK(agreed("A=$({ echo a; echo b; } > f; echo c)\nrun $A $(cat f)") == "run|c|a|b\n");
  CHECK(agreed("A=$({ echo a; } >&2; echo c)\nrun $A") == "run|c\n");
  CHECK(agreed("A=$({ echo a; } 1>&2; echo c)\nrun $A") == "run|c\n");
  CHECK(agreed("A=$({ echo a; } 2>/dev/null; echo c)\nrun $A") == "run|a|c\n");
  CHECK(agreed("f() { echo a; }\nA=$(f > f.txt; f >&2; f &> g.txt; f > /dev/null; echo c)\nrun $A $(cat f.txt)") ==
        "run|c|a\n");
  CHECK(agreed("f() { echo a; }\nA=$(f >> f.txt; f >> f.txt; cat f.txt)\nrun $A") == "run|a|a\n");
  CHECK(agreed("A=$(if true; then echo a; fi > /dev/null; for i in 1 2; do echo $i; done >&2; echo c)\nrun $A") ==
        "run|c\n");
  CHECK(agreed("A=$(case x in (x) echo a;; esac > /dev/null; (echo b) > /dev/stderr; echo c)\nrun $A") == "run|c\n");
  CHECK(agreed("A=$(echo a > /dev/stderr; printf b >&2; echo c)\nrun $A") == "run|c\n");
  CHECK(agreed("A=$( (echo a; echo b) | wc -l)\nrun $A") == "run|2\n");
  CHECK(agreed("f() { echo a; return 0; echo b; }\nrun $(f)") == "run|a\n");
}

TEST_CASE("a condition that cannot be evaluated decides nothing") {
  CHECK(runs_of("A=1\n[ -f /data/x ] && A=2\nrun $A") == "run|$A<$A>\n");
  CHECK(runs_of("A=1\ngrep -q x /data/f && A=2\nrun $A") == "run|$A<$A>\n");
  CHECK(runs_of("A=1\n[[ -d /data ]] || A=2\nrun $A") == "run|$A<$A>\n");
  CHECK(runs_of("[ -f /data/x ] && run a || run b") == "run|a?\n");
  CHECK(runs_of("[ -f /data/x ] || run b") == "run|b?\n");
  CHECK(runs_of("[ -f /data/x ] && exit 0\nrun a") == "run|a\n");
  CHECK(runs_of("[ -f /data/x ] && return\nrun a") == "run|a\n");
  CHECK(runs_of("cd /data && run a || run b") == "run|a\n");
  CHECK(runs_of("false && run a || run b") == "run|b\n");
  CHECK(runs_of("command -v srun && A=1\nrun $A") == "run|$A<$A>\n");
  CHECK(runs_of("[ -f x.sh ] && . x.sh\nrun $A", {{"x.sh", "A=3\n"}}) == "run|3\n");  // the file is there
  CHECK(agreed("echo a > f\n[ -f f ] && run a || run b\nA=\n[ -v A ] && run c\n[[ -v B ]] || run d") ==
        "run|a\nrun|c\nrun|d\n");
  const std::string split = "--tensor-model-parallel-size ";
  const sim::LaunchedJob job =
      launched_text("[ -f /data/x ] && " + kTraining + split + "2 || " + kTraining + split + "4\n");
  CHECK(option_of(job, "--tensor") == "2");
  CHECK_THAT(notes_of(job), Contains("line 1: the condition cannot be evaluated; it is assumed to hold"));
  CHECK_THAT(notes_of(launched_text("./check_gpus && " + kTraining + split + "2\n")),
             Contains("line 1: ./check_gpus is assumed to succeed"));
}

TEST_CASE("loops end where their conditions, break and continue say") {
  CHECK(agreed("i=0\nwhile [ $i -lt 3 ]; do run $i; i=$((i+1)); done\nrun $i") == "run|0\nrun|1\nrun|2\nrun|3\n");
  CHECK(agreed("i=3\nuntil ((i == 0)); do ((i--)); [ $i -eq 1 ] && continue; run $i; done") == "run|2\nrun|0\n");
  CHECK(agreed("for i in 1 2 3; do if [ $i = 2 ]; then break; fi; run $i; done; run x") == "run|1\nrun|x\n");
  CHECK(agreed("bash x.sh --tp 4 --name b", {{"x.sh",
                                              "while [[ $# -gt 0 ]]; do\n case $1 in\n --tp) TP=$2; shift 2;;\n"
                                              " *) shift;;\n esac\ndone\nrun $TP $#\n"}}) == "run|4|0\n");
  CHECK(runs_of("while true; do run a; sleep 1; done\nrun b") == "run|a?\nrun|b\n");
}

TEST_CASE("printf uses its format for all words, and functions may have local arrays") {
  CHECK(agreed("run $(printf '%s ' a b c) \"$(printf '%s-%s,' 1 2 3)\"") == "run|a|b|c|1-2,3-,\n");
  CHECK(agreed("N=4\nf() { local a=(--n \"$N\" --m); printf '%s ' \"${a[@]}\"; }\nrun $(f)") == "run|--n|4|--m\n");
  CHECK(agreed("declare -A S=([7b]='1 2' [13b]='3 4')\nread A B <<< \"${S[${M:-13b}]}\"\nrun $A $B") == "run|3|4\n");
  CHECK(agreed("run \"$(printf 'x\\n' a b)\"") == "run|x\n");
}

TEST_CASE("brackets of patterns close no substitution") {
  CHECK(agreed("A=$(case x in x) echo 1;; *) echo 2;; esac)\nrun $A") == "run|1\n");
  CHECK(agreed("A=$(case x in (x) case y in y) echo 1;; esac;; esac; (echo 3))\nrun $A") == "run|1|3\n");
  CHECK(agreed("A=$(echo case)\nrun $A \"$(echo 'in case :)')\"") == "run|case|in case :)\n");
}

TEST_CASE("brackets that are not closed are refused at once, however deep they are") {
  std::string text = "A=";
  for (int i = 0; i < 200; ++i) text += "$(case x in ";
  CHECK_THAT(error_of([&] { followed(text + "esac"); }), Contains("a bracket is not closed"));
}

TEST_CASE("lengths of what is not known are not known") {
  CHECK(runs_of("A=($(scontrol show hostnames))\nrun ${#A[@]}") == "run|${#A[@]}<${#A[@]}>\n");
  CHECK(runs_of("A=$(hostname)\nrun ${#A}") == "run|${#A}<${#A}>\n");
  CHECK_THAT(needed_of(launched_text("N=($(scontrol show hostnames $L))\n" +
                                     std::string("torchrun --nnodes ${#N[@]} ").append(kTraining.substr(9)) + "\n")),
             Contains("--gpus ${#N[@]} cannot be evaluated"));
}

TEST_CASE("getopts reads the arguments of a started script, and none of a script that the user starts") {
  const std::string script =
      "TP=1; N=a\nwhile getopts 't:n:v' o; do\n case $o in\n t) TP=$OPTARG;;\n n) N=$OPTARG;;\n v) V=1;;\n *) exit "
      "1;;\n "
      "esac\ndone\nshift $((OPTIND - 1))\nrun $TP $N \"$V\" $1\n";
  CHECK(agreed("bash x.sh -t 4 -v -nb rest", {{"x.sh", script}}) == "run|4|b|1|rest\n");
  CHECK(runs_of(script.substr(0, script.find("shift")) + "run $TP $N") == "run|1|a\n");
}

TEST_CASE("read and mapfile take what bash gives them") {
  CHECK(agreed("read -n 2 A <<< abcd\nrun $A") == "run|ab\n");
  CHECK(agreed("read -N 3 A <<< 'a b'\nrun \"$A\"") == "run|a b\n");
  CHECK(agreed("read -d : A B <<< '1 2 3:4'\nrun $A \"$B\"") == "run|1|2 3\n");
  CHECK(agreed("read -d '' -a A <<< $'1 2\\n3'\nrun ${A[2]} ${#A[@]}") == "run|3|3\n");
  CHECK(agreed("read -ra A <<< '1 2 3'\nrun ${A[@]}") == "run|1|2|3\n");
  CHECK(agreed("echo '4 5' > f\nread A B < f\nrun $A $B") == "run|4|5\n");
  CHECK(agreed("read A < <(echo 7)\nrun $A") == "run|7\n");
  CHECK(agreed("A=1\necho 7 | read A\nrun $A") == "run|1\n");
  CHECK(agreed("echo '7 8' | { read A B; run $B $A; }") == "run|8|7\n");
  CHECK(agreed("printf 'a 1\\nb 2\\n' | while read A B; do run $B $A; done") == "run|1|a\nrun|2|b\n");
  CHECK(agreed("f() { echo a; echo b; }\nf | { read A; read B; run $B $A; }") == "run|b|a\n");
  CHECK(agreed("mapfile -t A < <(printf 'a\\nb\\nc\\n')\nrun ${A[1]} ${#A[@]}") == "run|b|3\n");
  CHECK(agreed("mapfile -t -s 1 -n 1 A <<< $'a\\nb\\nc'\nrun ${A[@]}") == "run|b\n");
  CHECK(agreed("A=(x y)\nreadarray -t -O 1 A <<< $'a\\nb'\nrun ${A[@]}") == "run|x|a|b\n");
  CHECK(agreed("mapfile -t -d , A < <(printf 'a,b')\nrun ${A[@]}") == "run|a|b\n");
  CHECK(agreed("mapfile <<< $'a\\nb'\nrun ${#MAPFILE[@]} \"${MAPFILE[1]}\"") == "run|2|b\n\n");
  CHECK(runs_of("mapfile -t A < <(scontrol show hostnames)\nrun ${A[0]}") == "run|$A<$A>\n");
  CHECK(runs_of("read -n $N A <<< abc\nrun $A") == "run|$A<$A>\n");
}

}  // namespace lockstep::tests
