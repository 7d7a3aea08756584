// Writes what is generated: openapi.json and the types of the client from the route schemas, docs/commands.md from the
// commands, docs/metrics.md, and the dataclasses of the Python client. With --check it writes nothing and fails when the files in the tree are not what their sources say.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { readConfig } from '../src/config.ts'
import { registerRoutes, TAGS } from '../src/control/app.ts'
import type { Settings } from '../src/control/context.ts'
import { createMetrics } from '../src/platform/http/metrics.ts'
import { buildServer } from '../src/platform/http/server.ts'
import { VERSION } from '../src/version.ts'
import { commandsPage } from './commands-page.ts'
import { metricsPage } from './metrics-page.ts'
import { pythonRecords, pythonVersion } from './python-records.ts'

/** JSON with what fits into a line on one line. */
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
    // Says why there is no document.
    log: { level: 'error' },
    authenticate: async () => null,
    metrics: createMetrics(),
    rateLimit: { perMinute: 100 },
    corsOrigins: [],
    version: VERSION,
    tags: TAGS,
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
/** On one line what has one member. */
const SINGLE = /\{\n\s+((?:[^\n{}/]|\{[^\n{}]*\})+;)\n\s*\}/g

// A path that has no PUT need not say so.
const types = astToString(await openapiTS(document, { defaultNonNullable: false }))
  .replace(/^ *\w+\?: never;\n/gm, '')
  .replace(SINGLE, '{ $1 }')
  .replace(SINGLE, '{ $1 }')
const files = {
  'openapi.json': `${formatJson(document)}\n`,
  'src/client/api.gen.ts': `// Generated from openapi.json by \`npm run gen\`. Do not edit.\n${types}`,
  'docs/commands.md': await commandsPage(),
  'docs/metrics.md': metricsPage(),
  'clients/python/tributary/records.py': pythonRecords(document),
  'clients/python/tributary/version.py': pythonVersion(VERSION),
}

for (const [name, content] of Object.entries(files)) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url))
  if (!process.argv.includes('--check')) writeFileSync(path, content)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== content) {
    console.error(
      `${name} is not what the ${name.startsWith('docs') ? 'commands and metrics' : 'route schemas'} say. Run: npm run gen`,
    )
    process.exitCode = 1
  }
}
