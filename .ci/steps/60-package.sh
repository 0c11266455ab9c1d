# The package as its users get it: installed from a tarball, every entry imported by a strict TypeScript program, and run.
npm run build
npm pack --silent --pack-destination "$CI_TMP"
mv "$CI_TMP"/harness-runtime-*.tgz "$CI_TMP/harness-runtime.tgz"
publint run "$CI_TMP/harness-runtime.tgz" --strict
tsc=$PWD/node_modules/.bin/tsc
cp -r .ci/typescript-user "$CI_TMP/user"
cd "$CI_TMP/user"
npm install --no-audit --no-fund --ignore-scripts --save "$CI_TMP/harness-runtime.tgz" @types/node@24.10.1
node entries.mjs >entries.ts
"$tsc" -p tsconfig.json
[ -f node_modules/harness-runtime/dist/console/index.html ] || { echo "the package has no console"; exit 1; }
PATH=$CI_PATH npx harness --version
node main.js
