import { describe, expect, it } from 'vitest'
import { keyOfPerson } from '../login/logins.fixture.ts'
import { openBrowser } from '../sign-in/people.fixture.ts'
import { approvalsOfFile, startWithApprovals } from '../sign-in/two-admins.fixture.ts'

const WEEK_S = 7 * 24 * 3600

const openApprovals = approvalsOfFile()

const start = async (approvals: ReturnType<typeof openApprovals> = openApprovals()) => {
  const started = await approvals
  const { world, model } = started
  const byKeyOf = (key: string) => async (method: string, path: string, body?: object) => {
    const response = await world.request(method, `/api/v1${path}`, { key, ...(body && { body }) })
    return { status: response.status, body: response.body as Readonly<Record<string, unknown>> }
  }
  const alias = (name: string) => `/models/${model}/aliases/${name}`
  const move = { version: '1' }
  return { ...started, byKeyOf, alias, move }
}

describe('a request from a session that a personal key opened', () => {
  it.each([true, false])('is carried out only while that key is valid (revoked: %s)', async (isRevoked) => {
    const { world, ada, bob, decide, alias, move } = await start()
    const key = await keyOfPerson(world, ada.id, 'admin')
    const page = openBrowser(world, 'a dashboard')
    const opened = await page.call('POST', '/session', { api_key: key })
    expect(opened.status).toBe(201)
    const asked = await page.call('PUT', alias('production'), move)
    expect(asked).toMatchObject({ status: 202, body: { requested_by: ada.id } })
    const sessions = (await ada.call('GET', '/sessions')).body.sessions as { key_id: string | null }[]
    const keyId = sessions.find(({ key_id }) => key_id !== null)!.key_id
    if (isRevoked) expect((await ada.call('DELETE', `/keys/${keyId}`)).status).toBeLessThan(300)
    const decided = await decide(bob, asked.body.id)
    if (isRevoked) {
      expect(decided).toMatchObject({ status: 409, body: { message: expect.stringContaining('no longer allowed') } })
      expect((await bob.call('GET', alias('production').replace('/production', ''))).body).toMatchObject({
        aliases: [],
      })
    } else expect(decided).toMatchObject({ status: 200, body: { status: 'approved' } })
  })
})

describe('a request of a key that is rotated before the approval', () => {
  it('is carried out while the newest replacement of the key is valid, but not once that is revoked', async () => {
    const { world, byKeyOf, ada, bob, service, decide, alias, move } = await start()
    const personal = await keyOfPerson(world, ada.id, 'admin')
    for (const [kind, key] of [
      ['personal', personal],
      ['service', service.api_key as string],
    ] as const) {
      const call = byKeyOf(key)
      const [kept, ended] = [await call('PUT', alias(`${kind}-a`), move), await call('PUT', alias(`${kind}-b`), move)]
      expect([kept.status, ended.status]).toEqual([202, 202])
      const rotate = async (by: ReturnType<typeof byKeyOf>, id: unknown) => {
        const rotated = await by('POST', `/keys/${String(id)}/rotate`, { overlap_hours: 0 })
        expect(rotated.status).toBe(201)
        return rotated.body
      }
      const second = await rotate(call, (await call('GET', '/keys/self')).body.id)
      const third = await rotate(byKeyOf(second.api_key as string), second.id)
      expect((await call('GET', '/models')).status).toBe(401)
      expect(await decide(bob, kept.body.id)).toMatchObject({ status: 200, body: { status: 'approved' } })
      expect((await ada.call('DELETE', `/keys/${String(third.id)}`)).status).toBeLessThan(300)
      const refused = await decide(bob, ended.body.id)
      expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining('no longer allowed') } })
    }
  })
})

describe('an expired request', () => {
  it('does not block others, even before the periodic task has ended it', async () => {
    const { world, ada, bob, model, name, alias, move } = await start()
    const expireAll = async () => {
      const past = new Date(world.now().getTime() - 1000)
      await world.database!.sql.updateTable('approvals').set({ expires_at: past }).execute()
    }
    const first = await ada.call('PUT', alias('production'), move)
    expect(first.status).toBe(202)
    expect((await ada.call('PUT', alias('production'), move)).status).toBe(409)
    await expireAll()
    const second = await ada.call('PUT', alias('production'), move)
    expect(second).toMatchObject({ status: 202, body: { status: 'pending' } })
    expect((await bob.call('GET', `/approvals/${String(first.body.id)}`)).body).toMatchObject({ status: 'expired' })
    const { body: log } = await ada.call('GET', `/audit?object=${String(second.body.id)}`)
    expect(log.entries).toMatchObject([{ action: 'setAlias', actor_id: ada.id }])

    const rollout = await ada.call('POST', `/models/${model}/rollouts`, { version: '1', rollout_percentage: 100 })
    expect(rollout.body.warnings).toEqual([expect.stringContaining('waits for another admin')])
    const deployment = await ada.call('POST', '/deploy/execute', { model_name: name, model_version: '1' })
    expect(deployment.body).toMatchObject({ status: 'pending_approval' })
    await expireAll()
    const shown = await ada.call('GET', `/models/${model}/rollouts/${String(rollout.body.rollout_id)}`)
    expect(shown.body).toMatchObject({ status: 'pending', warnings: [] })
    const ended = await ada.call('GET', `/deployments/${String(deployment.body.deployment_id)}`)
    expect(ended.body).toMatchObject({ status: 'rejected', reason: 'No admin approved or rejected it within a week.' })
    const another = await ada.call('POST', '/deploy/execute', { model_name: name, model_version: '1' })
    await expireAll()
    const listed = (await ada.call('GET', '/deployments')).body.deployments as {
      deployment_id: string
      status: string
    }[]
    expect(listed.find((one) => one.deployment_id === another.body.deployment_id)).toMatchObject({ status: 'rejected' })
  })

  it('is ended by the periodic task', async () => {
    const { world, ada, bob, alias, move } = await start(startWithApprovals())
    const { body } = await ada.call('PUT', alias('production'), move)
    await world.advance(WEEK_S)
    await bob.signIn('bob@acme.example')
    expect((await bob.call('GET', `/approvals/${String(body.id)}`)).body).toMatchObject({ status: 'expired' })
  })
})

it('of two concurrent requests, the refused one names the other', async () => {
  const { ada, bob, alias } = await start()
  for (const name of ['a', 'b', 'c']) {
    const both = await Promise.all([ada, bob].map((who, n) => who.call('PUT', alias(name), { version: String(n + 1) })))
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
    const [made, refused] = both[0]!.status === 202 ? both : [both[1]!, both[0]!]
    const { title, id } = made!.body as { title: string; id: string }
    expect(refused!.body.message).toBe(
      `A request of this kind is already waiting for approval: ${title} (${id}). Approve, reject, or cancel it first.`,
    )
  }
})

it('one requester can have a hundred requests waiting; others can still make requests', async () => {
  const { world, ada, bob, alias, move } = await start(startWithApprovals())
  expect((await ada.call('PUT', alias('a0'), move)).status).toBe(202)
  const { ordinal: _, ...row } = await world.database!.sql.selectFrom('approvals').selectAll().executeTakeFirstOrThrow()
  for (let n = 1; n < 100; n++) {
    const id = `0d9f1c2e-5b7a-4c3d-8e6f-${String(n).padStart(12, '0')}`
    const json = { payload: JSON.stringify(row.payload), requester: JSON.stringify(row.requester) }
    await world
      .database!.sql.insertInto('approvals')
      .values({ ...row, ...json, id, subject: `s${n}` })
      .execute()
  }
  const refused = await ada.call('PUT', alias('next'), move)
  expect(refused).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('100 requests of this requester') },
  })
  expect((await bob.call('PUT', alias('next'), move)).status).toBe(202)
})
