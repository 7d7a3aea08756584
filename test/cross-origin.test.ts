import { expect, it } from 'vitest'
import { readPaths } from './api-document.ts'
import { startWorld } from './world.ts'

interface Operation {
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

/** Those that pages may always read, of the ones that the API uses. Source: the Fetch standard, CORS-safelisted response headers. */
const SAFE = ['content-length']

it('a page of a listed origin can read all headers that the API documents, and asks for permission once in two hours', async () => {
  const origin = 'capacitor://localhost'
  const world = await startWorld({ config: { corsOrigins: [origin] } })
  const preflight = await fetch(`${world.baseUrl}/api/v1/status`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
  })
  expect([preflight.status, preflight.headers.get('access-control-max-age')]).toEqual([204, '7200'])
  const { headers } = await fetch(`${world.baseUrl}/api/v1/health`, { headers: { origin } })
  expect(headers.get('access-control-allow-origin')).toBe(origin)
  const exposed = headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
  const operations = Object.values(readPaths<Operation>()).flatMap((path) => Object.values(path))
  const documented = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap((response) => Object.keys(response.headers ?? {})),
  )
  expect(documented).toContain('Upload-Offset')
  expect(documented.map((name) => name.toLowerCase()).filter((name) => ![...exposed, ...SAFE].includes(name))).toEqual(
    [],
  )
})
