const { spawnSync } = require('node:child_process')

// Plays an experiment with the program of an app.toml; what `--json` says of the run.
function played(experiment, app) {
  const words = ['try', '--json', '--experiment', experiment, '--app', app]
  const done = spawnSync('kafka-chaos', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (done.error) throw done.error
  // 6: this machine was too busy for some verdicts, and no other differs.
  if (![0, 1, 6].includes(done.status)) throw new Error(`kafka-chaos ended with ${done.status}`)
  return JSON.parse(done.stdout)
}

test('a deploy stops nothing for long, and repeats little', () => {
  const result = played('rolling-deploy', 'mended.toml')
  console.log(`${result.headline}\n${result.page}`)
  expect(result.finding).not.toBe('does-not-leave')
  expect(result.exit_code).not.toBe(1)
  expect(result.repeats).toBeLessThanOrEqual(100)
}, 600_000)
