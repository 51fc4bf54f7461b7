#!/usr/bin/env bash
# Types and rules of the page's scripts, by what tools/setup.sh web has installed into .tools/web.
set -euo pipefail
cd "$(dirname "$0")/../.."
rm -rf .tools/web/page
cp -r crates/samplewire-web/page .tools/web/page
cp tools/web/tsconfig.json tools/web/eslint.config.mjs .tools/web
cd .tools/web
node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/eslint page
