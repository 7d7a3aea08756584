// Fails if openapi.json breaks callers of the last release and the changelog does not name it under the unreleased version.
import { readdirSync, readFileSync } from 'node:fs'
import { breakingChanges, unannounced } from './breaking-changes.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const releases = readdirSync(new URL('test/fixtures/releases', root)).sort((a, b) =>
  a.localeCompare(b, 'en', { numeric: true }),
)
const last = releases.at(-1)!
const changes = breakingChanges(
  JSON.parse(read(`test/fixtures/releases/${last}/openapi.json`)),
  JSON.parse(read('openapi.json')),
)
// Joins the changelog's wrapped lines.
const unreleased = (read('CHANGELOG.md').split(/^## /m)[1] ?? '').replace(/\s+/g, ' ')
const missing = unannounced(changes, unreleased)
if (missing.length > 0) {
  console.error(
    `openapi.json breaks callers of ${last}. Name in CHANGELOG.md what is meant, as '<METHOD> <path>: <field>':`,
  )
  for (const change of missing) console.error(`  ${change}`)
  process.exitCode = 1
}
