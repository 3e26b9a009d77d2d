#!/usr/bin/env bash
# relative_paths.sh FOLDER PREFIX...: records under FOLDER (.json, .jsonl) say where they were made; a path that begins with
# one of the PREFIXes, which nobody else has, loses it. Digests of a record that changed follow it in the others.
set -euo pipefail
folder=$1
shift
mapfile -t files < <(grep -rlF --include='*.json' --include='*.jsonl' "${@/#/-e}" "$folder" || true)
for file in "${files[@]}"; do
  before=$(sha256sum <"$file")
  for prefix in "$@"; do sed -i "s#${prefix%/}/##g" "$file"; done
  after=$(sha256sum <"$file")
  grep -rlF --include='*.json' "${before%% *}" "$folder" | xargs -r sed -i "s/${before%% *}/${after%% *}/g" || true
done
