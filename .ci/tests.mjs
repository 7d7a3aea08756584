// Runs the README's test command, then runs the files with failed tests again, alone: on a busy machine, a test that waits for
// processes fails now and then, but a defect makes it fail again. Files that pass only alone are printed, and not counted as failed.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'ci-tests-'))
const MOST_FILES = 5

const run = (name, args) => {
  const file = join(folder, name)
  const reports = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const { status } = spawnSync('npm', ['test', '--', ...reports, ...args], { stdio: 'inherit' })
  let report = null
  try {
    report = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    console.log('The test runner ended without a report.')
  }
  return { status: status ?? 1, report }
}

const failedFiles = (report) => report.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)

const first = run('first.json', [])
let { status } = first
let failed = first.report?.numFailedTests ?? 1
const files = first.report === null ? [] : failedFiles(first.report)
if (status !== 0 && files.length > 0 && files.length <= MOST_FILES) {
  console.log(`Once more, alone: ${files.join(' ')}`)
  const second = run('second.json', ['--maxWorkers=1', ...files])
  status = second.status
  failed = second.report?.numFailedTests ?? failed
  if (status === 0) console.log(`Passed only alone, to be looked into: ${files.join(' ')}`)
}
rmSync(folder, { recursive: true, force: true })
const passed = first.report === null ? 0 : first.report.numPassedTests + first.report.numFailedTests - failed
console.log(`Tests  ${failed} failed | ${passed} passed`)
process.exit(status)
