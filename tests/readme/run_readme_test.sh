#!/usr/bin/env bash
# Tests run_readme.sh on READMEs made up here: what passes, what fails, what is not run.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-readme-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/build"
cp "$here/../../bootstrap" "$here/../../CMakePresets.json" "$work/source"
printf '#!/bin/sh\necho "8 GPUs  0.25 s"\necho "1 point in 3.14 s"\n' >"$work/build/simulate"
chmod +x "$work/build/simulate"
failures=0

# check NAME WANTED_STATUS WANTED_TEXT [SIMGRID]: runs the README on standard input.
check() {
  local status=0
  sed "s/^'''/\`\`\`/" >"$work/source/README.md"
  "$here/run_readme.sh" "$work/source" "$work/build" "${4:-on}" >"$work/log" 2>&1 || status=$?
  if [ "$status" -eq "$2" ] && grep -qF -- "$3" "$work/log"; then return; fi
  echo "failed: $1: status $status, wanted $2 and '$3' in:"
  sed 's/^/  /' "$work/log"
  failures=$((failures + 1))
}

check "no command" 0 "0 commands" <<'TEXT'
# Title
'''
$ false
'''
TEXT
check "a failing command" 1 "README.md:2: \$ false" <<'TEXT'
'''sh
$ false
'''
TEXT
check "a continued command, a file kept for the next" 0 "2 commands, 0 complaints" <<'TEXT'
'''sh
$ echo one \
    two > kept
$ grep -q 'one *two' kept
'''
TEXT
check "the scratch copy is not the source" 0 "1 commands" <<'TEXT'
'''sh
$ rm README.md
'''
TEXT
check "output that agrees but for the wall clock" 0 "prints what README.md shows" <<'TEXT'
'''sh
$ build/simulate scenario.json
'''

'''text
8 GPUs  0.25 s
1 point in 0.42 s
'''
TEXT
check "output with other simulated seconds" 1 "prints something else" <<'TEXT'
'''sh
$ simulate scenario.json
'''
'''text
8 GPUs  0.26 s
1 point in 0.42 s
'''
TEXT
check "output with a gap" 0 "prints what README.md shows" <<'TEXT'
'''sh
$ seq 9
'''
'''text
1
...
8
9
'''
TEXT
check "output with too few lines" 1 "prints something else" <<'TEXT'
'''sh
$ seq 9
'''
'''text
1
2
'''
TEXT
check "a text block after prose is no output" 0 "0 complaints" <<'TEXT'
'''sh
$ seq 9
'''
A file looks so:
'''text
1
'''
TEXT
check "a GPU command" 0 "skipped (needs a GPU): false   # gpu" <<'TEXT'
'''sh
$ false   # gpu
'''
TEXT
check "a simulation without SimGrid" 0 "skipped (no SimGrid)" off <<'TEXT'
'''sh
$ build/simulate --no-such-thing
'''
TEXT
check "set-up is not run" 0 "6 commands, 0 complaints" <<'TEXT'
'''sh
$ git clone https://example.org/lockstep
$ ./bootstrap
$ ./bootstrap test   # minutes
$ cmake --preset no-simgrid
$ cmake --build --preset no-simgrid
$ cmake --install build --prefix /nowhere
'''
TEXT
check "an unknown verb" 1 "no such verb or preset" <<'TEXT'
'''sh
$ ./bootstrap fly
'''
TEXT
check "an unknown preset" 1 "no such verb or preset" <<'TEXT'
'''sh
$ cmake --preset swift
'''
TEXT
LOCKSTEP_UPDATE=1 check "outputs that are written anew, gaps kept" 0 "written into README.md" <<'TEXT'
'''sh
$ printf 'head\nGPUs 8\n1 a\n2 b\nmean 3\nend\n'
'''
'''text
head
...
mean 4
end
'''
'''sh
$ seq 2
'''
'''text
1
'''
TEXT
wanted=$(printf 'head\n...\nmean 3\nend\n')
if [ "$wanted" != "$(sed -n '/^head/,/^end/p' "$work/source/README.md")" ] ||
  [ "$(tail -n 3 "$work/source/README.md" | head -n 2)" != "$(seq 2)" ]; then
  echo "failed: outputs that are written anew:"
  sed 's/^/  /' "$work/source/README.md"
  failures=$((failures + 1))
fi
LOCKSTEP_UPDATE=1 check "a line between gaps that nothing printed is like" 1 "left as it is" <<'TEXT'
'''sh
$ printf 'head\nGPUs 8\n\n1 a\nend\n'
'''
'''text
head
...
fastest: ring
...
end
'''
TEXT
if ! grep -qx 'fastest: ring' "$work/source/README.md"; then
  echo "failed: a line that nothing is like was replaced"
  failures=$((failures + 1))
fi
LOCKSTEP_UPDATE=1 check "a line between gaps that is printed with other figures" 0 "written into README.md" <<'TEXT'
'''sh
$ printf 'head\nGPUs 8\n\nfastest: ring 3 s\nmore\nend\n'
'''
'''text
head
...
fastest: ring 2 s
...
end
'''
TEXT
if ! grep -qx 'fastest: ring 3 s' "$work/source/README.md"; then
  echo "failed: a line between gaps was not written anew"
  failures=$((failures + 1))
fi
rm "$work/source/README.md"
if "$here/run_readme.sh" "$work/source" "$work/build" >/dev/null 2>&1; then
  echo "failed: a missing README.md passes"
  failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] && echo "all as wanted"
