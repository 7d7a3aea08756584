import { describe, expect, it } from 'vitest'
import { formOf } from '../../../../test/world.ts'
import { openBrowser, startPeople } from '../sign-in/people.fixture.ts'
import { approvalsOfFile, startWithApprovals } from '../sign-in/two-admins.fixture.ts'

const WEEK_S = 7 * 24 * 3600

const openApprovals = approvalsOfFile()

describe('moving an alias in an organization that requires approvals', () => {
  it('waits for another admin, is then done on behalf of the requester, and is in the audit log', async () => {
    const { ada, bob, promote, aliasOf, decide, model, name } = await openApprovals()
    const asked = await promote(ada, '1')
    expect(asked).toMatchObject({
      status: 202,
      body: {
        kind: 'alias_move',
        subject: `${model}/production`,
        title: `Move the alias 'production' of '${name}' from none to version 1.0.0`,
        status: 'pending',
        requested_by: ada.id,
        requested_by_name: 'Somebody',
        expires_at: '2026-01-08T00:00:00.000Z',
      },
    })
    expect(await aliasOf()).toBe(undefined)
    expect((await promote(ada, '2')).status).toBe(409)
    const { id } = asked.body
    const own = await decide(ada, id)
    expect(own).toMatchObject({ status: 403, body: { message: expect.stringContaining('You requested this') } })
    expect(await decide(bob, id)).toMatchObject({ status: 200, body: { status: 'approved', decided_by: bob.id } })
    expect(await aliasOf()).toBe(1)
    const again = await decide(bob, id)
    expect(again).toMatchObject({ status: 409, body: { message: expect.stringContaining('is approved') } })
    const { body } = await ada.call('GET', `/audit?object=${String(id)}`)
    const entries = body.entries as { action: string; actor_id: string; result: string }[]
    expect(entries.map(({ action, actor_id, result }) => [action, actor_id, result])).toEqual([
      ['approveRequest', bob.id, 'ok'],
      ['approveRequest', ada.id, 'refused'],
      ['setAlias', ada.id, 'ok'],
    ])
    expect((await ada.call('GET', '/approvals?status=pending')).body).toEqual({ approvals: [], next: null })
  })

  it('cannot be approved by anyone behind the request, whichever key it was made with', async () => {
    const { world, byKey, ada, bob, service, model, decide, aliasOf } = await openApprovals()
    // A key that ada created, one that this key created, and one that replaces that.
    const made = async (key: unknown, path: string, body: object) =>
      (await world.request('POST', `/api/v1${path}`, { key: key as string, body })).body as Record<string, string>
    const second = await made(service.api_key, '/keys', { name: 'second', scopes: ['models:write', 'admin'] })
    const third = await made(second.api_key, `/keys/${second.id}/rotate`, {})
    for (const key of [service.api_key, second.api_key, third.api_key]) {
      const path = `/api/v1/models/${model}/aliases/production`
      const asked = await world.request('PUT', path, { key: key as string, body: { version: '1' } })
      expect(asked.status).toBe(202)
      const { id } = asked.body as { id: string }
      expect((await decide(ada, id)).status).toBe(403)
      // A program cannot approve anything, whoever created its key.
      const byProgram = await world.request('POST', `/api/v1/approvals/${id}/approve`, { key: second.api_key })
      expect([byProgram.status, (byProgram.body as { message: string }).message]).toEqual([
        403,
        expect.stringContaining('Only a person can approve'),
      ])
      expect((await byKey('POST', `/approvals/${id}/approve`)).status).toBe(403)
      expect((await decide(bob, id, 'reject', { reason: 'not yet' })).body).toMatchObject({ reason: 'not yet' })
    }
    expect(await aliasOf()).toBe(undefined)
  })

  it('is not done if the alias or the role of its requester has changed', async () => {
    const { byKey, signedIn, ada, bob, model, promote, decide, aliasOf } = await startWithApprovals()
    const carol = await signedIn('carol', 'member')
    const first = await promote(carol, '1')
    await byKey('PATCH', `/team/${carol.id}`, { role: 'viewer' })
    const demoted = await decide(bob, first.body.id)
    expect(demoted).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('no longer allowed') },
    })
    expect((await ada.call('GET', `/approvals/${String(first.body.id)}`)).body).toMatchObject({ status: 'failed' })
    const { body: log } = await ada.call('GET', `/audit?object=${String(first.body.id)}&action=approveRequest`)
    expect(log.entries).toMatchObject([{ result: 'failed', status: 409 }])

    const one = await promote(ada, '1')
    await decide(bob, one.body.id)
    const two = await promote(ada, '2')
    // Deleting needs no approval, so the alias has changed by the time bob decides.
    expect((await ada.call('DELETE', `/models/${model}/aliases/production`)).status).toBe(200)
    const changed = await decide(bob, two.body.id)
    expect(changed).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining(
          "The alias 'production' now names none, not version 1.0.0 as when this was requested.",
        ),
      },
    })
    expect(await aliasOf()).toBe(undefined)
    expect((await decide(bob, two.body.id)).body.message).toContain('is failed')

    const three = await promote(ada, '2')
    expect((await ada.call('DELETE', `/team/${bob.id}`)).status).toBeLessThan(300)
    expect((await decide(bob, three.body.id)).status).toBe(401)
  })

  it('ends after a week, or when it is rejected or canceled', async () => {
    const { world, byKey, signedIn, ada, bob, promote, decide, aliasOf } = await startWithApprovals()
    const { body: late } = await promote(ada, '1')
    await world.advance(WEEK_S)
    const { jar: _, ...fresh } = openBrowser(world, 'bob again')
    await fresh.signIn('bob@acme.example')
    const tooLate = await fresh.call('POST', `/approvals/${String(late.id)}/approve`)
    expect(tooLate).toMatchObject({ status: 409, body: { message: expect.stringContaining('is expired') } })
    expect((await fresh.call('GET', '/approvals')).body).toMatchObject({
      approvals: [{ status: 'expired', reason: 'No admin approved or rejected it within a week.', decided_by: null }],
    })
    await ada.signIn('ada@acme.example')
    await bob.signIn('bob@acme.example')
    const { body: unwanted } = await promote(ada, '1')
    expect((await decide(bob, unwanted.id, 'reject')).status).toBe(400)
    const carol = await signedIn('carol', 'member')
    expect((await decide(carol, unwanted.id)).status).toBe(403)
    expect((await decide(carol, unwanted.id, 'cancel')).status).toBe(403)
    expect((await decide(ada, unwanted.id, 'cancel')).body).toMatchObject({ status: 'cancelled', decided_by: ada.id })
    expect((await decide(bob, unwanted.id)).status).toBe(409)
    const eve = await signedIn('eve', 'admin', 'other')
    const { body: foreign } = await promote(ada, '1')
    for (const what of ['approve', 'cancel']) expect((await decide(eve, foreign.id, what)).status).toBe(404)
    expect((await decide(eve, foreign.id, 'reject', { reason: 'x' })).status).toBe(404)
    expect((await eve.call('GET', `/approvals/${String(foreign.id)}`)).status).toBe(404)
    expect((await eve.call('GET', '/approvals?org_id=acme')).body).toEqual({ approvals: [], next: null })
    expect((await byKey('GET', '/approvals?org_id=acme&limit=1')).body).toMatchObject({ next: expect.any(String) })
    expect(await aliasOf()).toBe(undefined)
  })

  it('is decided only once by concurrent decisions', async () => {
    const { signedIn, ada, bob, promote, decide, model } = await openApprovals()
    const carol = await signedIn('carol')
    for (const alias of ['production', 'candidate', 'tablets']) {
      const { body } = await promote(ada, '1', alias)
      const both = await Promise.all([
        decide(bob, body.id),
        decide(carol, body.id),
        decide(carol, body.id, 'reject', { reason: 'no' }),
      ])
      expect(both.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    }
    const moves = (await ada.call('GET', `/models/${model}/alias-history`)).body.moves as unknown[]
    const { approvals } = (await ada.call('GET', '/approvals?status=approved')).body as {
      approvals: { subject: string }[]
    }
    expect(moves).toHaveLength(approvals.filter(({ subject }) => subject.startsWith(model)).length)
  })
})

describe('a deployment to most of the fleet', () => {
  it('activates no device until it is approved, and then those that it was requested for', async () => {
    const { world, service, ada, bob, decide } = await startWithApprovals()
    const body = { model_name: 'm', model_version: 'latest' }
    const deploy = (more: object = {}) => ada.call('POST', '/deploy/execute', { ...body, ...more })
    expect((await deploy({ devices: ['a'] })).body).toMatchObject({ status: 'started', activated_count: 1 })
    expect((await deploy({ devices: ['a', 'b'] })).body).toMatchObject({ status: 'pending_approval' })
    const prepared = async (more: object) => (await ada.call('POST', '/deploy/prepare', { ...body, ...more })).body
    const waits = 'It will wait for the approval of another admin.'
    expect((await prepared({ devices: ['a'] })).warnings).not.toContain(waits)
    expect((await prepared({})).warnings).toContain(waits)
    const asked = await deploy()
    expect(asked).toMatchObject({
      status: 200,
      body: { status: 'pending_approval', target_count: 3, activated_count: 0, approval_id: expect.any(String) },
    })
    const id = String(asked.body.deployment_id)
    const shown = async () => (await ada.call('GET', `/deployments/${id}`)).body
    expect(await shown()).toMatchObject({ status: 'pending_approval', activated_count: 0 })
    expect((await ada.call('POST', `/deployments/${id}/promote`, { rollout_percentage: 100 })).status).toBe(409)
    const assignments = async () => (await ada.call('GET', '/devices/c/assignments')).body.assignments as unknown[]
    expect(await assignments()).toEqual([])
    // A device that registers later is not included.
    const key = service.api_key as string
    await world.request('POST', '/api/v1/devices/register', { key, body: { device_id: 'd' } })
    expect((await decide(ada, asked.body.approval_id)).status).toBe(403)
    expect((await decide(bob, asked.body.approval_id)).body).toMatchObject({ status: 'approved' })
    expect(await shown()).toMatchObject({ status: 'started', target_count: 3, activated_count: 3 })
    expect(await assignments()).toMatchObject([{ version: '2.0.0' }])
    const events = await world.database!.sql.selectFrom('events_outbox').selectAll().orderBy('id').execute()
    const told = events.filter(({ subject_id }) => subject_id === asked.body.approval_id)
    expect(told.map(({ type, payload }) => [type, payload])).toEqual([
      ['approval.changed', { kind: 'deployment', status: 'pending' }],
      ['approval.changed', { kind: 'deployment', status: 'approved' }],
    ])
  })

  it('is rejected with its request, and pins the version that was the latest at the time of the request', async () => {
    const { byKey, ada, bob, model, name, decide } = await openApprovals()
    const body = { model_name: name, model_version: 'latest' }
    const rejected = (await ada.call('POST', '/deploy/execute', body)).body
    await decide(bob, rejected.approval_id, 'reject', { reason: 'Not on a Friday.' })
    const path = `/deployments/${String(rejected.deployment_id)}`
    expect((await ada.call('GET', path)).body).toMatchObject({ status: 'rejected', reason: 'Not on a Friday.' })
    expect((await ada.call('POST', `${path}/promote`, { rollout_percentage: 100 })).status).toBe(409)

    const unknown = await ada.call('POST', '/deploy/execute', { ...body, model_version: '9.9.9' })
    expect(unknown).toMatchObject({ status: 400, body: { message: expect.stringContaining('must be uploaded first') } })
    const pinned = (await ada.call('POST', '/deploy/execute', body)).body
    await byKey('POST', `/models/${model}/versions/upload`, formOf(Uint8Array.of(9, 9, 9, 9), { version: '3' }))
    await decide(bob, pinned.approval_id)
    expect((await ada.call('GET', `/deployments/${String(pinned.deployment_id)}`)).body).toMatchObject({
      status: 'started',
      model_version: '2.0.0',
    })
  })
})

it('a rollout without a group starts once it is approved, and only as it was requested', async () => {
  const { ada, bob, model, name, decide } = await openApprovals()
  const path = `/models/${model}/rollouts`
  const wanted = { version: '1', rollout_percentage: 10, target_percentage: 50, start_immediately: true }
  const preview = async (more: object) => (await ada.call('POST', `${path}/dry-run`, { ...wanted, ...more })).body
  expect(await preview({})).toMatchObject({ warnings: ['It will wait for the approval of another admin.'] })
  expect(await preview({ start_immediately: false })).toMatchObject({ warnings: [] })
  const waiting = (await ada.call('POST', path, wanted)).body
  expect(waiting).toMatchObject({ status: 'pending', warnings: [expect.stringContaining('waits for another admin')] })
  const pending = async () =>
    ((await bob.call('GET', '/approvals?status=pending')).body.approvals as { id: string; title: string }[])[0]!
  expect((await pending()).title).toBe(`Roll out version 1 of '${name}' to 10% and up to 50%`)
  const at = `${path}/${String(waiting.rollout_id)}`
  expect((await ada.call('POST', `${at}/start`)).status).toBe(409)
  // Changed after the request, so what bob reads is not what would start.
  await ada.call('PUT', `${at}/percentage`, { percentage: 50 })
  expect((await decide(bob, (await pending()).id)).body.message).toContain('has changed since the request')
  const reason = 'Its start was not approved: The rollout has changed since the request.'
  expect((await ada.call('GET', at)).body).toMatchObject({ status: 'pending', reason })
  expect((await ada.call('POST', `${at}/start`)).body).toMatchObject({ status: 'pending', percentage: 50 })
  expect((await decide(bob, (await pending()).id)).status).toBe(200)
  expect((await ada.call('GET', at)).body).toMatchObject({ status: 'active', percentage: 50, reason: null })
  expect((await ada.call('PUT', `${at}/percentage`, { percentage: 51 })).status).toBe(409)
  expect((await ada.call('POST', `${at}/rollback`)).body).toMatchObject({ status: 'rolled_back' })
})

it('the request for a rollout that is deleted is canceled', async () => {
  const { ada, bob, model, decide } = await openApprovals()
  const wanted = { version: '1', rollout_percentage: 10 }
  const { rollout_id } = (await ada.call('POST', `/models/${model}/rollouts`, wanted)).body
  const [{ id }] = (await bob.call('GET', '/approvals?status=pending')).body.approvals as [{ id: string }]
  expect((await ada.call('DELETE', `/models/${model}/rollouts/${String(rollout_id)}`)).status).toBe(200)
  const ended = { status: 'cancelled', reason: 'The rollout was deleted.', decided_by: null }
  expect((await bob.call('GET', `/approvals/${id}`)).body).toMatchObject(ended)
  expect((await decide(bob, id)).status).toBe(409)
})

it('a rollout whose device group was deleted is not started, neither by an approval nor without one', async () => {
  const { ada, bob, model, decide } = await openApprovals()
  const roomOf = async (name: string, device_ids: string[]) => {
    const { id } = (await ada.call('POST', '/device-groups', { org_id: 'acme', name })).body
    await ada.call('POST', `/device-groups/${String(id)}/devices`, { device_ids })
    const wanted = { version: '1', rollout_percentage: 10, group: name, start_immediately: device_ids.length > 1 }
    const { rollout_id } = (await ada.call('POST', `/models/${model}/rollouts`, wanted)).body
    await ada.call('DELETE', `/device-groups/${String(id)}`)
    return `/models/${model}/rollouts/${String(rollout_id)}`
  }
  const waiting = await roomOf('many', ['a', 'b'])
  const { approvals } = (await bob.call('GET', '/approvals?status=pending')).body as { approvals: { id: string }[] }
  const message = expect.stringContaining('Its device group was deleted.')
  expect(await decide(bob, approvals[0]!.id)).toMatchObject({ status: 409, body: { message } })
  expect((await ada.call('GET', `/approvals/${approvals[0]!.id}`)).body).toMatchObject({ status: 'failed' })
  const small = await roomOf('few', ['a'])
  expect(await ada.call('POST', `${small}/start`)).toMatchObject({ status: 409, body: { message } })
  for (const path of [waiting, small]) expect((await ada.call('GET', path)).body).toMatchObject({ status: 'pending' })
})

it('no admin alone can turn off approvals or shorten the audit log', async () => {
  const { byKey, ada, bob, decide } = await openApprovals()
  for (const change of [{ require_approval: false }, { audit_retention_days: 1 }]) {
    const asked = await ada.call('PATCH', '/orgs/acme/settings', change)
    expect(asked.body).toMatchObject({ require_approval: true, audit_retention_days: null })
    const { body } = await bob.call('GET', `/approvals/${String(asked.body.approval_id)}`)
    expect(body).toMatchObject({ kind: 'settings_change', status: 'pending' })
    expect((await decide(ada, body.id)).status).toBe(403)
    expect((await byKey('PATCH', '/orgs/acme/settings', change)).status).toBe(409)
    await decide(bob, body.id, 'reject', { reason: 'no' })
  }
  const last = await ada.call('PATCH', '/orgs/acme/settings', { audit_retention_days: 400, session_hours: 10 })
  await decide(bob, last.body.approval_id)
  expect((await ada.call('GET', '/orgs/acme/settings')).body).toMatchObject({
    audit_retention_days: 400,
    session_hours: 10,
  })
})

it('a preset keeps the audit log and approvals, and warns that two admins are needed', async () => {
  const { byKey } = await startPeople()
  await byKey('POST', '/orgs', { name: 'acme', compliance: 'hipaa' })
  const begun = (await byKey('GET', '/orgs/acme/settings')).body
  expect(begun).toMatchObject({ require_approval: true, violations: [] })
  expect(begun.warnings).toEqual([expect.stringContaining("'acme' has no admin")])
  for (const change of [{ require_approval: false }, { audit_retention_days: 2189 }]) {
    const refused = await byKey('PATCH', '/orgs/acme/settings', change)
    expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('nothing less strict')])
  }
  expect((await byKey('PATCH', '/orgs/acme/settings', { audit_retention_days: 3000 })).body).toMatchObject({
    audit_retention_days: 3000,
  })
})
