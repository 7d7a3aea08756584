import type { RouteOptions } from 'fastify'
import type { App } from './app.ts'
import { createComponents } from './openapi-components.ts'
import { operationOf } from './openapi-operations.ts'
import type { RouteConfig } from './route-config.ts'

const TITLE = 'Tributary'
const DESCRIPTION = 'Device orchestration, model delivery, and federated training.'

/** The names fixed by an interface specification, separated by spaces; the document marks all others as `x-extension`. */
export interface Contract {
  /** The query parameters of each operation, by `operationId`. */
  readonly operations: Readonly<Record<string, string>>
  /** The fields of the components in the specification. Those of other components are not marked. */
  readonly fields: Readonly<Record<string, string>>
}

/** A group of operations in the API document; routes name it in `tags`. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** Every GET route also has a HEAD route; a HEAD is documented only if there is no GET. */
const isDocumented = ({ method, schema }: RouteOptions, routes: readonly RouteOptions[], url: string): boolean =>
  schema?.hide !== true && !(method === 'HEAD' && routes.some((other) => other.url === url && other.method === 'GET'))

const describe = (routes: readonly RouteOptions[], contract: Contract | undefined) => {
  const components = createComponents(contract?.fields)
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes.filter((one) => isDocumented(one, routes, one.url))) {
    const path = route.url.replace(/:(\w+)/g, '{$1}')
    const operations = (paths[path] ??= {})
    for (const method of [route.method].flat())
      operations[method.toLowerCase()] = operationOf(route, components, contract?.operations)
  }
  return { paths, components: components.all() }
}

/** Collects the routes registered after it into an OpenAPI 3.1 document, built on the first request for /openapi.json. */
export const serveDocumentation = (
  app: App,
  {
    version,
    access,
    tags,
    contract,
  }: { version: string; access: 'public' | 'any-key'; tags: readonly Tag[]; contract: Contract | undefined },
): void => {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))

  const write = (): string => {
    const { paths, components } = describe(routes, contract)
    const bearer = { type: 'http', scheme: 'bearer', description: 'An API key: sk_live_…' }
    return JSON.stringify({
      openapi: '3.1.0',
      info: { title: TITLE, description: DESCRIPTION, version },
      security: [{ bearer: [] }],
      tags,
      paths,
      components: { securitySchemes: { bearer }, ...components },
    })
  }
  let document: string | undefined
  const config: RouteConfig = { access, rateLimit: false }
  app.get('/openapi.json', { config, schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send((document ??= write())),
  )
}
