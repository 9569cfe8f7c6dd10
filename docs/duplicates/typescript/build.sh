set -e
npm ci --no-audit --no-fund
npx tsc
