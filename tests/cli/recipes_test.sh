#!/usr/bin/env bash
# recipes_test.sh SOURCE_DIR: the recipes of CONTRIBUTING.md name the files that their examples are in, all and no more, and
# tests/recipes/PATCH.patch, which follows the recipe once more, applies to the source and changes these files alone.
#
# "<!-- recipe: PATTERN NAME=X PATCH=P ADDS=Y -->" stands under a recipe's first line; the numbered lines behind it name the
# files, NAME for X, and of the patch for Y. PATTERN, a regular expression, finds the example in the source. The modules of jobs, publications and
# laws of convergence have other names for collectives and algorithms, and may call them; none is needed to add one. They count where a recipe is
# about them.
set -euo pipefail
cd "$1"
failures=0

# Files of the recipe whose mark is in line $1.
listed() {
  awk -v at="$1" -v name="$2" '
    NR > at && /^## / { exit }
    NR > at && /^[0-9]+\. `/ { sub(/^[0-9]+\. `/, ""); sub(/`.*/, ""); gsub(/NAME/, name); print }
  ' CONTRIBUTING.md | sort
}

while IFS= read -r mark; do
  line=${mark%%:*}
  pattern=$(sed -E 's/.*recipe: (.*) NAME=.*/\1/' <<<"$mark")
  name=$(sed -E 's/.* NAME=([a-z_]+) .*/\1/' <<<"$mark")
  patch=$(sed -E 's/.* PATCH=([a-z_]+) .*/\1/' <<<"$mark")
  adds=$(sed -E 's/.* ADDS=([a-z_]+) -->.*/\1/' <<<"$mark")
  others='^sim/(convergence|job|stack|quantity|job_prediction|explain|validation)/|^sim/collective/nccl_plan.cpp$'
  if [[ $patch == metric || $patch == job_fact ]]; then others='^$'; fi
  found=$(grep -rlE --include='*.cpp' --include='*.hpp' -- "$pattern" engine sim calib | grep -vE "$others" | sort)
  if difference=$(diff <(listed "$line" "$name") <(printf '%s\n' "$found")); then
    echo "$name: $(wc -l <<<"$found") files, as CONTRIBUTING.md says"
  else
    printf 'CONTRIBUTING.md:%s: "<" is named and does not hold the example, ">" holds it and is not named:\n%s\n' \
      "$line" "$difference"
    failures=$((failures + 1))
  fi
  changed=$(sed -n 's|^+++ b/||p' "tests/recipes/$patch.patch" | sort)
  if difference=$(diff <(listed "$line" "$adds") <(printf '%s\n' "$changed")); then
    if GIT_CEILING_DIRECTORIES=/ git apply --check "tests/recipes/$patch.patch"; then
      echo "$patch: applies"
    else
      echo "tests/recipes/$patch.patch: does not apply; make it anew after a change of these files"
      failures=$((failures + 1))
    fi
  else
    printf 'tests/recipes/%s.patch: "<" is named by CONTRIBUTING.md and not changed, ">" is changed and not named:\n%s\n' \
      "$patch" "$difference"
    failures=$((failures + 1))
  fi
done < <(grep -n '<!-- recipe: ' CONTRIBUTING.md)
[ "$failures" -eq 0 ]
