// Writes what is generated: openapi.json and the types of the client from the route schemas, docs/commands.md from the
// commands. With --check it writes nothing and fails when the files in the tree are not what their sources say.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { readConfig } from '../src/config.ts'
import { registerRoutes } from '../src/control/app.ts'
import type { Settings } from '../src/control/context.ts'
import { createMetrics } from '../src/platform/http/metrics.ts'
import { buildServer } from '../src/platform/http/server.ts'
import { VERSION } from '../src/version.ts'
import { commandsPage } from './commands-page.ts'

const describeApi = async (): Promise<OpenAPI3> => {
  const app = await buildServer({
    log: { level: 'silent' },
    authenticate: async () => null,
    metrics: createMetrics(),
    rateLimit: { perMinute: 100 },
    corsOrigins: [],
    version: VERSION,
    readiness: {},
    now: Date.now,
  })
  await registerRoutes(app, null, { config: readConfig({}) } as Settings)
  await app.ready()
  const document = app.swagger() as unknown as OpenAPI3
  await app.close()
  return document
}

const document = await describeApi()
const types = astToString(await openapiTS(document))
const files = {
  'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'src/client/api.gen.ts': `// Generated from openapi.json by \`npm run gen\`. Do not edit.\n${types}`,
  'docs/commands.md': await commandsPage(),
}

for (const [name, content] of Object.entries(files)) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url))
  if (!process.argv.includes('--check')) writeFileSync(path, content)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== content) {
    console.error(
      `${name} is not what the ${name.startsWith('docs') ? 'commands' : 'route schemas'} say. Run: npm run gen`,
    )
    process.exitCode = 1
  }
}
