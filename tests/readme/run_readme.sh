#!/usr/bin/env bash
# run_readme.sh SOURCE_DIR BUILD_DIR [on|off [DOCUMENT...]]: does what README.md, or these documents of the source, tell
# their reader to do at its root, and fails where it fails.
#
# In a ```sh block each line that starts with "$ " is a command (a trailing backslash continues it on the next line).
# They run in order in one scratch copy of the tree whose build/ is BUILD_DIR, so that a later command finds what an
# earlier one wrote. Not run, and said so:
#   - a command marked "# gpu" at its end;
#   - the set-up itself (./bootstrap, cmake, ctest, git clone, cd, apt-get): the verb or preset must exist, no more;
#   - simulate, plan and validate where the third argument says "off": this build has no SimGrid.
# With LOCKSTEP_UPDATE=1 in the environment what is printed is written into the documents of SOURCE_DIR where they show
# something else, "..." kept (update_outputs.py); figures in prose are their writers'.
# A ```text block right after a ```sh block is the standard output of its last command. Both are compared with what
# differs between runs (seconds of wall clock, versions, spaces at the end) made equal; "..." stands for any lines.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source_dir=$(realpath "$1")
build_dir=$(realpath "$2")
simgrid=${3:-on}
if [ $# -gt 3 ]; then documents=("${@:4}"); else documents=(README.md); fi
for document in "${documents[@]}"; do
  [ -r "$source_dir/$document" ] || { echo "$document is missing" >&2; exit 1; }
done

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-readme.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
output=$scratch/output
failures=0

copy_tree() {
  mkdir "$tree"
  find "$source_dir" -mindepth 1 -maxdepth 1 ! -name '.git' ! -name 'build*' -exec cp -a -t "$tree" {} +
  ln -s "$build_dir" "$tree/build"
}

# The document as lines "LINE<tab>command<tab>TEXT" and "LINE<tab>output<tab>TEXT".
# LINE is that of the command, or of the command whose output it is.
read_blocks() {
  awk '
    function emit(kind, at, text) { printf "%d\t%s\t%s\n", at, kind, text }
    /^```/ && fence == "" { fence = substr($0, 4); sub(/[ \t]+$/, "", fence); if (fence == "") fence = "plain"
                            expected = (fence == "text" && after_sh && last); after_sh = 0
                            if (expected) emit("compare", last, "")
                            if (fence == "sh") last = 0; next }
    /^```/                { after_sh = (fence == "sh"); if (fence != "sh") last = 0; fence = ""; command = ""; next }
    fence == "sh" && (command != "" || /^\$ /) {
      if (command == "") { last = NR; line = substr($0, 3) } else { line = $0; sub(/^> ?/, "", line) }
      command = command line
      if (command ~ /\\$/) { sub(/\\$/, "", command); next }
      emit("command", last, command); command = ""; next
    }
    fence == "text" && expected { emit("output", last, $0); next }
    fence == "" && NF { after_sh = 0; last = 0 }
  ' "$source_dir/$document"
}

# Succeeds, with the reason, for a command that is not to be run.
reason_to_skip() {
  case $1 in
    *'# gpu'*) echo "needs a GPU" ;;
    ./bootstrap* | cmake\ * | ctest* | 'git clone '* | 'cd '* | 'sudo apt'* | 'apt-get '*) echo "set-up" ;;
    *) [ "$simgrid" = off ] && grep -Eq '(^|[ /])(simulate|plan|validate)( |$)' <<<"$1" && echo "no SimGrid" ;;
  esac
}

# What can be said of a set-up command without doing it: its verb, its preset exist.
check_set_up() {
  local words
  read -r -a words <<<"${1%%#*}"
  case "${words[0]}:${words[1]:-}:${words[2]:-}" in
    ./bootstrap::*) ;;
    ./bootstrap:*) "$source_dir/bootstrap" help | grep -Eq "^ +${words[1]} " ;;
    cmake:--preset:* | ctest:--preset:*) grep -q "\"name\": \"${words[2]}\"" "$source_dir/CMakePresets.json" ;;
    cmake:--build:--preset) grep -q "\"name\": \"${words[3]:-}\"" "$source_dir/CMakePresets.json" ;;
  esac
}

complain() {   # complain LINE COMMAND WHAT
  printf '%s:%s: $ %s\n  %s\n' "$document" "$1" "$2" "$3" >&2
  failures=$((failures + 1))
}

run_command() {   # run_command LINE COMMAND; leaves standard output in $output, or no such file where it was not run
  local reason status=0
  rm -f "$output"
  if reason=$(reason_to_skip "$2"); then
    echo "skipped ($reason): $2"
    if [ "$reason" = set-up ] && ! check_set_up "$2"; then complain "$1" "$2" "there is no such verb or preset"; fi
    return
  fi
  echo "\$ $2"
  (cd "$tree" && PATH=$build_dir:$PATH timeout 240 bash -o pipefail -c "$2") \
    >"$output" 2>"$scratch/errors" </dev/null || status=$?
  if [ "$status" -eq 0 ]; then return; fi
  tail -n 20 "$output" "$scratch/errors" >&2
  complain "$1" "$2" "exits with $status"
  rm -f "$output"
}

# Simulated seconds stay as they are; only "in 0.42 s" and "0.42 s of wall clock" are the machine's own.
normalise() {
  local seconds='[0-9]+(\.[0-9]+)? ?(ns|us|ms|s|min)'
  sed -E -e "s/\bin $seconds\b/in TIME/g" -e "s/$seconds (of )?wall/TIME wall/g" \
    -e 's/\(git [0-9a-z-]+\)/(git REVISION)/g' -e 's/\b(SimGrid|CUDA|lockstep) v?[0-9]+(\.[0-9]+)*/\1 VERSION/g' \
    -e 's/[[:space:]]+$//' "$1"
}

# As a pattern each line of the document must be found in order, without a gap except where it says "...".
matches() {   # matches WANTED GOT
  awk '
    NR == FNR { wanted[++n] = $0; next }
    { got[++m] = $0 }
    function fits(i, j,   k) {
      for (; i <= n; i++) {
        if (wanted[i] == "...") { for (k = j; k <= m + 1; k++) if (fits(i + 1, k)) return 1; return 0 }
        if (j > m || wanted[i] != got[j]) return 0
        j++
      }
      return j == m + 1
    }
    END { exit fits(1, 1) ? 0 : 1 }
  ' "$1" "$2"
}

compare_output() {   # compare_output LINE COMMAND; the wanted lines are in $scratch/wanted
  if [ ! -e "$output" ]; then return; fi
  normalise "$scratch/wanted" >"$scratch/wanted.normal"
  normalise "$output" >"$scratch/output.normal"
  if matches "$scratch/wanted.normal" "$scratch/output.normal"; then
    echo "  prints what $document shows"
    return
  fi
  if [ "${LOCKSTEP_UPDATE:-0}" = 1 ]; then
    mkdir -p "$scratch/updates"
    cp "$output" "$scratch/updates/$1"
    echo "  written into $document"
    return
  fi
  diff -u --label "$document" --label printed "$scratch/wanted.normal" "$scratch/output.normal" >&2 || true
  complain "$1" "$2" "prints something else than $document shows"
}

run_document() {
  local line kind text last_command count=0 before=$failures
  read_blocks >"$scratch/blocks"
  while IFS=$'\t' read -r line kind text; do
    case $kind in
      command)
        run_command "$line" "$text"
        count=$((count + 1))
        last_command=$text
        ;;
      compare)
        sed -n "s/^$line\toutput\t//p" "$scratch/blocks" >"$scratch/wanted"
        compare_output "$line" "$last_command"
        ;;
    esac
  done <"$scratch/blocks"
  if [ -d "$scratch/updates" ]; then
    "$here/update_outputs.py" "$source_dir/$document" "$scratch/updates" || failures=$((failures + 1))
    rm -r "$scratch/updates"
  fi
  echo "$document: $count commands, $((failures - before)) complaints"
}

copy_tree
for document in "${documents[@]}"; do run_document; done
[ "$failures" -eq 0 ]
