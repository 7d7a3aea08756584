import { beforeAll, expect } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { SCOPES } from '../../../domain/access.ts'
import { openBrowser, startPeople } from './people.fixture.ts'

export type Browser = ReturnType<typeof openBrowser>

/** Starts acme, which requires approvals, with two admins, a model with two versions, and three devices. */
export const startWithApprovals = async (options: Parameters<typeof startPeople>[0] = {}) => {
  const { world, byKey, join } = await startPeople(options)
  expect((await byKey('POST', '/orgs', { name: 'acme' })).status).toBe(201)
  const signedIn = async (name: string, role: 'admin' | 'member' = 'admin', org = 'acme') => {
    const id = await join(`${name}@${org}.example`, role, org)
    const browser = openBrowser(world, name)
    expect((await browser.signIn(`${name}@${org}.example`)).status).toBe(201)
    return { ...browser, id }
  }
  const ada = await signedIn('ada')
  const alone = await ada.call('PATCH', '/orgs/acme/settings', { require_approval: true })
  expect(alone).toMatchObject({ status: 409, body: { message: expect.stringContaining("'acme' has one admin") } })
  const bob = await signedIn('bob')
  const on = await ada.call('PATCH', '/orgs/acme/settings', { require_approval: true })
  expect(on.body).toMatchObject({ require_approval: true, warnings: [], approval_id: null })
  const addModel = async (name: string) => {
    const model = (await ada.call('POST', '/models', { name })).body.id as string
    for (const version of ['1', '2'])
      await byKey(
        'POST',
        `/models/${model}/versions/upload`,
        formOf(Uint8Array.of(1, 2, 3, Number(version)), { version }),
      )
    const promote = async (who: Browser, version: string, alias = 'production') =>
      who.call('PUT', `/models/${model}/aliases/${alias}`, { version })
    const aliasOf = async () =>
      ((await ada.call('GET', `/models/${model}/aliases`)).body.aliases as { version: number }[])[0]?.version
    return { model, name, promote, aliasOf }
  }
  const devices: string[] = []
  const service = await ada.call('POST', '/keys', { name: 'ci', scopes: SCOPES })
  for (const device_id of ['a', 'b', 'c']) {
    const key = service.body.api_key as string
    const { body } = await world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
    devices.push((body as { api_key: string }).api_key)
  }
  const decide = (who: Browser, id: unknown, what = 'approve', body?: object) =>
    who.call('POST', `/approvals/${String(id)}/${what}`, body)
  return { world, byKey, join, signedIn, ada, bob, service: service.body, decide, addModel, ...(await addModel('m')) }
}

/** Starts acme once for a file; each call adds a model of its own. For tests that do not list the requests of others. */
export const approvalsOfFile = () => {
  let acme: Awaited<ReturnType<typeof startWithApprovals>>
  beforeAll(async () => {
    acme = await startWithApprovals()
  })
  let count = 0
  return async () => ({ ...acme, ...(await acme.addModel(`m${++count}`)) })
}
