#!/usr/bin/env bash
# Rows, types and rules of the page's scripts, by what tools/setup.sh web has installed into .tools/web.
set -euo pipefail
cd "$(dirname "$0")/../.."
rm -rf .tools/web/page
cp -r crates/samplewire-web/page .tools/web/page
cp tools/web/tsconfig.json tools/web/eslint.config.mjs .tools/web
node --test --test-reporter=dot tools/web/*.test.mjs
cd .tools/web
node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/eslint page
