import { existsSync } from 'node:fs'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app.ts'
import type { RouteConfig } from './route-config.ts'

const YEAR = '365d'

// Nothing inline and nothing from other origins, so text in a name or a reason can never run.
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
} as const

/** Paths for programs: an unknown one is an error, even in a browser. */
const OF_PROGRAMS = /^\/(?:api|assets|metrics|health|openapi\.json|login)(?:\/|$)/

const isNavigation = (request: FastifyRequest): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  !OF_PROGRAMS.test(request.url.split('?', 1)[0]!) &&
  request.headers.accept?.includes('text/html') === true

/** Responds to a request for a page of the web app, whatever its path; null for other requests. */
export type PageResponder = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null

/**
 * Serves the web app in `folder`: its page at `/`, and under `assets/` files whose names change with their content. Without it
 * (a service that runs from unbuilt sources), `/` and `/docs` redirect to /openapi.json.
 */
export const serveWebApp = async (app: App, folder: string | null): Promise<PageResponder> => {
  const config: RouteConfig = { access: 'public', rateLimit: false }
  const hidden = { schema: { hide: true }, config }
  if (folder === null || !existsSync(join(folder, 'index.html'))) {
    for (const path of ['/', '/docs']) app.get(path, hidden, async (_request, reply) => reply.redirect('/openapi.json'))
    return () => null
  }

  await app.register(files, { root: folder, serve: false, preCompressed: true, index: false })
  const sendPage = (reply: FastifyReply): FastifyReply =>
    reply.headers(PAGE_HEADERS).header('cache-control', 'no-cache').sendFile('index.html', { cacheControl: false })

  // /docs works for every client, as it did before the reference became a page of the app.
  for (const path of ['/', '/docs']) app.get(path, hidden, (_request, reply) => sendPage(reply))
  app.get('/assets/*', hidden, (request, reply) => {
    const { '*': name } = request.params as { '*': string }
    reply.removeHeader('cache-control')
    return reply.sendFile(`assets/${name}`, { maxAge: YEAR, immutable: true })
  })
  return (request, reply) => (isNavigation(request) ? sendPage(reply.code(200)) : null)
}
