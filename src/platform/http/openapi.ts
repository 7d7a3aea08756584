import type { RouteOptions } from 'fastify'
import type { App } from './app.ts'
import { createComponents } from './openapi-components.ts'
import { operationOf } from './openapi-operations.ts'
import type { RouteConfig } from './route-config.ts'

const TITLE = 'Tributary'
const DESCRIPTION = 'Device orchestration, model delivery and federated training.'

/** A group of operations in the API document: the name that routes have in `tags`. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** Every GET also has a HEAD; a HEAD is an operation only if there is no GET. */
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

/** Collects the routes registered after it into an OpenAPI 3.1 document, built when /openapi.json is first read. */
export const serveDocumentation = (
  app: App,
  { version, access, tags }: { version: string; access: 'public' | 'any-key'; tags: readonly Tag[] },
): void => {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))

  const write = (): string => {
    const { paths, components } = describe(routes)
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
