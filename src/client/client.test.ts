import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { startWorld } from '../../test/world.ts'
import { ApiError, createClient, unwrap } from './client.ts'

const open = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  return world.client(world.service.firstAdminKey!)
}

it('unwraps the data of a success, and undefined where it has no body', async () => {
  const api = await open()
  const { id } = await unwrap(api.POST('/api/v1/team', { body: { email: 'ada@example.org', org_id: 'default' } }))
  const removed: undefined = await unwrap(
    api.DELETE('/api/v1/team/{member_id}', { params: { path: { member_id: id } } }),
  )
  expect(removed).toBeUndefined()
  const { members } = await unwrap(api.GET('/api/v1/team', { params: { query: { org_id: 'default' } } }))
  expect(members).toEqual([])
})

it('throws what the service says of a failure, and that something else answered', async () => {
  const api = await open()
  const path = { member_id: 'nobody' }
  await expect(unwrap(api.DELETE('/api/v1/team/{member_id}', { params: { path } }))).rejects.toMatchObject({
    name: 'ApiError',
    status: 404,
    code: 'not_found',
  })
  for (const [status, body] of [
    [200, null],
    [200, '[]'],
    [502, null],
  ] as const) {
    const other = createClient({ baseUrl: 'http://other.example', fetch: async () => new Response(body, { status }) })
    const failure = await unwrap(other.GET('/api/v1/health')).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({ status, code: null })
  }
})

it("refuses values that would make a path another object's", async () => {
  const requests: string[] = []
  const fetch = async (request: Request) => {
    requests.push(request.url)
    return Response.json({})
  }
  const api = createClient({ baseUrl: 'http://service.example', fetch })
  const readRollouts = (model_id: string) =>
    unwrap(api.GET('/api/v1/models/{model_id}/rollouts', { params: { path: { model_id } } }))
  for (const name of ['', '.', '..'])
    await expect(readRollouts(name)).rejects.toThrow(`model_id must be a name or an id, not '${name}'.`)
  await readRollouts('a/../b')
  expect(requests).toEqual(['http://service.example/api/v1/models/a%2F..%2Fb/rollouts'])
})

it('sends a body with a file as a form', async () => {
  const api = await open()
  const { id } = await unwrap(api.POST('/api/v1/models', { body: { name: 'm', framework: 'pytorch' } }))
  const params = { path: { model_id: id } }
  const body = { file: new Blob(['weights']), version_label: '2.0.0', metadata: { accuracy: 0.5 } }
  await unwrap(api.POST('/api/v1/models/{model_id}/versions/upload', { params, body }))
  const at = { path: { model_id: id, version: '2.0.0' } }
  expect(await unwrap(api.GET('/api/v1/models/{model_id}/versions/{version}', { params: at }))).toMatchObject({
    version_label: '2.0.0',
    metadata: { accuracy: 0.5 },
  })
})

it.each([new Blob(['weights']), new TextEncoder().encode('weights')])('sends bytes as they are', async (body) => {
  const api = await open()
  const sha256 = createHash('sha256').update('weights').digest('hex')
  const header = { 'upload-offset': '0', 'upload-length': '7' }
  const headers = { 'content-type': 'application/octet-stream' }
  const path = { sha256 }
  const { response } = await api.PATCH('/api/v1/uploads/{sha256}', { params: { path, header }, body, headers })
  expect([response.status, response.headers.get('upload-offset')]).toEqual([204, '7'])
})
