import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { RouteOptions } from 'fastify'
import type { App } from './app.ts'
import { createComponents } from './openapi-components.ts'
import { operationOf } from './openapi-operations.ts'
import type { RouteConfig } from './route-config.ts'

const TITLE = 'Tributary'
const DESCRIPTION = 'Device orchestration, model delivery and federated training.'

// The pages come from this server alone, so nothing else may be loaded into them.
const DOCS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

/** A group of operations in the API document: the name that routes have in `tags`. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** HEAD stands beside every GET by itself; only one that has no GET is an operation. */
const isDocumented = ({ method, schema }: RouteOptions, routes: readonly RouteOptions[], url: string): boolean =>
  schema?.hide !== true && !(method === 'HEAD' && routes.some((other) => other.url === url && other.method === 'GET'))

const describe = (routes: readonly RouteOptions[]) => {
  const components = createComponents()
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes.filter((one) => isDocumented(one, routes, one.url))) {
    const path = route.url.replace(/:(\w+)/g, '{$1}')
    const operations = (paths[path] ??= {})
    for (const method of [route.method].flat()) operations[method.toLowerCase()] = operationOf(route, components)
  }
  return { paths, components: components.all() }
}

/** The document of the routes that `routes` has when it is first looked at. */
const documentOf = (routes: readonly RouteOptions[], version: string, tags: readonly Tag[]) => {
  let described: ReturnType<typeof describe> | undefined
  const once = () => (described ??= describe(routes))
  return {
    openapi: '3.1.0',
    info: { title: TITLE, description: DESCRIPTION, version },
    security: [{ bearer: [] }],
    tags: [...tags],
    get paths() {
      return once().paths
    },
    get components() {
      const bearer = { type: 'http' as const, scheme: 'bearer', description: 'An API key: sk_live_…' }
      return { securitySchemes: { bearer }, ...once().components }
    },
  }
}

/** Collects the routes registered after it into an OpenAPI 3.1 document: /openapi.json, and /docs to read and try it. */
export const serveDocumentation = async (
  app: App,
  { version, access, tags }: { version: string; access: 'public' | 'any-key'; tags: readonly Tag[] },
): Promise<void> => {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  await app.register(swagger, { mode: 'static', specification: { document: documentOf(routes, version, tags) } })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_CSP,
    uiConfig: { persistAuthorization: false },
  })

  const config: RouteConfig = { access, rateLimit: false }
  app.get('/openapi.json', { config, schema: { hide: true } }, async () => app.swagger())
}
