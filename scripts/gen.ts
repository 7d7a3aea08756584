// Generates openapi.json and the client's types from the route schemas, docs/commands.md from the commands, docs/metrics.md, the
// index of the decision records, and the Python client's dataclasses. With --check it writes nothing, and fails if the files
// differ from what would be generated.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { factory } from 'typescript'
import { readConfig } from '../src/config.ts'
import { registerRoutes, TAGS } from '../src/control/app.ts'
import type { Settings } from '../src/control/context.ts'
import { CONTRACT } from '../src/control/contract.ts'
import { createMetrics } from '../src/platform/http/metrics.ts'
import { buildServer } from '../src/platform/http/server.ts'
import { VERSION } from '../src/version.ts'
import { commandsPage } from './commands-page.ts'
import { metricsPage } from './metrics-page.ts'
import { pythonRecords, pythonVersion } from './python-records.ts'

/** Formats JSON with short values on one line. */
const formatJson = (value: unknown, indent = ''): string => {
  const short = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + short.length <= 110) return short
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((item) => inner + formatJson(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${formatJson(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

const describeApi = async (): Promise<OpenAPI3> => {
  const app = await buildServer({
    // Logs why there is no document.
    log: { level: 'error' },
    authenticate: async () => null,
    metrics: createMetrics(),
    rateLimit: { perMinute: 100 },
    corsOrigins: [],
    version: VERSION,
    tags: TAGS,
    contract: CONTRACT,
    readiness: {},
    now: Date.now,
  })
  await registerRoutes(app, null, { config: readConfig({}) } as Settings)
  await app.ready()
  const document = (await app.inject('/openapi.json')).json<OpenAPI3>()
  await app.close()
  return document
}

const document = await describeApi()
/** Matches types with one member, which are put on one line. */
const SINGLE = /\{\n\s+((?:[^\n{}/]|\{[^\n{}]*\})+;)\n\s*\}/g

// Omits lines that only say that a path lacks a method.
const FILE = factory.createTypeReferenceNode('Blob')
/** Files of forms. How a response is read is up to its reader. */
const transform = ({ format }: { readonly format?: string }, { path }: { readonly path?: string }) =>
  format === 'binary' && !path?.includes('/responses/') ? FILE : undefined
const types = astToString(await openapiTS(document, { defaultNonNullable: false, transform }))
  .replace(/^ *\w+\?: never;\n/gm, '')
  .replace(SINGLE, '{ $1 }')
  .replace(SINGLE, '{ $1 }')
const decisions = fileURLToPath(new URL('../docs/decisions/', import.meta.url))
/** The index of the decision records: their titles, by number. */
const decisionsPage = (): string => {
  const names = readdirSync(decisions).filter((name) => /^\d{4}-/.test(name))
  const titles = names.sort().map((name) => {
    const [, number, title] = /^# (\d{4}): (.+)/.exec(readFileSync(decisions + name, 'utf8'))!
    return `- [${number}](${name}): ${title}\n`
  })
  return `# Decisions\n\nThe reasons behind design choices, in the order in which they were made.\n\n${titles.join('')}`
}

const files = {
  'openapi.json': `${formatJson(document)}\n`,
  'src/client/api.gen.ts': `// Generated from openapi.json by \`npm run gen\`. Do not edit.\n${types}`,
  'docs/commands.md': await commandsPage(),
  'docs/metrics.md': metricsPage(),
  'docs/decisions/README.md': decisionsPage(),
  'clients/python/tributary/records.py': pythonRecords(document),
  'clients/python/tributary/version.py': pythonVersion(VERSION),
}

for (const [name, content] of Object.entries(files)) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url))
  if (!process.argv.includes('--check')) writeFileSync(path, content)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== content) {
    console.error(
      `${name} is not what the ${name.startsWith('docs') ? 'commands, metrics, and decisions' : 'route schemas'} say. Run: npm run gen`,
    )
    process.exitCode = 1
  }
}
