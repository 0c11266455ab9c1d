# In a clone of its own, and with the machine's own Node: commands started beside each other build once for all of them.
git clone -q . "$CI_TMP/clone"
cd "$CI_TMP/clone"
ln -s "$OLDPWD/node_modules" node_modules
export PATH=$CI_PATH
for i in 1 2 3; do
  npx harness --version >"$CI_TMP/version-$i" 2>"$CI_TMP/log-$i" &
  pids[i]=$!
done
for i in 1 2 3; do
  wait "${pids[i]}" || { cat "$CI_TMP/log-$i"; exit 1; }
done
version=$(node -p 'require("./package.json").version')
for i in 1 2 3; do
  [ "$(cat "$CI_TMP/version-$i")" = "$version" ] || { echo "harness --version said: $(cat "$CI_TMP/version-$i")"; exit 1; }
done
[ -z "$(git status --porcelain)" ] || { git status --short; echo "a build left files that are not ignored"; exit 1; }
