import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { freePort } from '../../../../test/postgres-program.ts'
import { apiOf, startWorld, type World } from '../../../../test/world.ts'
import type { Config } from '../../../config.ts'
import type { Role } from '../../../domain/roles.ts'

const PASSWORD = 'four unrelated words here'

/** The fields of the responses here; the assertions show which of them a response has. */
interface TestResponse {
  readonly id: string
  readonly token: string
  readonly link: string
  readonly mail: string
  readonly api_key: string
  readonly members: readonly { readonly role: string }[]
}

const openShared = organizations({ config: { enrollment: 'token' } })

const start = (world: World) => {
  const admin = world.service.firstAdminKey!
  const call = apiOf<TestResponse>(world, admin)
  const join = async (email: string, role: Role, org_id = 'acme', password = PASSWORD) => {
    const { body } = await call('POST', '/team', { email, role, org_id })
    return (await call('POST', '/invitations/accept', { token: body.token, name: 'Somebody', password })).body
  }
  return { world, call, join }
}

const startAlone = async (config: Partial<Config> = {}) =>
  start(await startWorld({ config: { enrollment: 'token', ...config } }))

const tokenOf = (link: string): string => /#invitation=([\w-]{43})$/.exec(link)![1]!

describe('the team', () => {
  it('grows by invitations that work once, are replaced, and expire', async () => {
    const { world, call } = await startAlone()
    const first = await call('POST', '/team', { email: 'Ada@acme.example', role: 'admin', org_id: 'acme' })
    expect(first).toMatchObject({ status: 201, body: { status: 'invited', mail: 'off', role: 'admin' } })
    const second = await call('POST', '/team', { email: 'ada@ACME.example', role: 'admin', org_id: 'acme' })
    expect((await call('GET', '/team?org_id=acme')).body.members).toHaveLength(1)
    expect((await call('POST', '/invitations/read', { token: first.body.token })).status).toBe(401)

    const token = tokenOf(second.body.link)
    const seen = await call('POST', '/invitations/read', { token })
    expect(seen.body).toMatchObject({ org_id: 'acme', email: 'ada@ACME.example', role: 'admin' })
    const accept = () => call('POST', '/invitations/accept', { token, name: 'Ada', password: PASSWORD })
    const both = await Promise.all([accept(), accept()])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 401])
    expect((await call('POST', '/team', { email: 'ADA@acme.example', org_id: 'acme' })).status).toBe(409)
    const zoe = await call('POST', '/team', { email: 'zo\u00e9@acme.example', org_id: 'acme' })
    await call('POST', '/invitations/accept', { token: zoe.body.token, name: 'Zo\u00e9', password: PASSWORD })
    expect((await call('POST', '/team', { email: 'zoe\u0301@acme.example', org_id: 'acme' })).status).toBe(409)

    const late = await call('POST', '/team', { email: 'bob@acme.example', org_id: 'acme' })
    await world.advance(7 * 24 * 3600 + 1)
    expect((await call('GET', '/team?org_id=acme')).body.members.at(-1)).toMatchObject({ status: 'expired' })
    expect((await call('POST', '/invitations/accept', { token: late.body.token, password: PASSWORD })).status).toBe(401)
  })

  it('has one invitation to an address, even if many invite it at once', async () => {
    const { call } = await startAlone()
    const invite = () => call('POST', '/team', { email: 'ada@acme.example', org_id: 'acme' })
    const responses = await Promise.all(Array.from({ length: 12 }, invite))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 201))
    expect((await call('GET', '/team?org_id=acme')).body.members).toHaveLength(1)
  })

  it('keeps one admin, even if the last two are removed or demoted at once', async () => {
    const { call, join } = await startAlone()
    const ada = await join('ada@acme.example', 'admin')
    expect((await call('DELETE', `/team/${ada.id}`)).status).toBe(409)
    expect((await call('PATCH', `/team/${ada.id}`, { role: 'viewer' })).status).toBe(409)
    const bob = await join('bob@acme.example', 'admin')
    const ends = await Promise.all([
      call('DELETE', `/team/${ada.id}`),
      call('PATCH', `/team/${bob.id}`, { role: 'member' }),
    ])
    expect(ends.map(({ status }) => status).sort()).toEqual([expect.any(Number), 409])
    const { members } = (await call('GET', '/team?org_id=acme')).body
    expect(members.filter(({ role }) => role === 'admin')).toHaveLength(1)
  })
})

it('an invitation creates no account with a short or guessable password, and can still be accepted', async () => {
  const { call } = start(openShared())
  const { token } = (await call('POST', '/team', { email: 'somebody@acme.example', org_id: 'acme' })).body
  const refused: [what: string, wrong: object, message: RegExp][] = [
    ['a password of eleven', { password: 'elevenchars' }, /^password must have 12 to 256 characters; it has 11/],
    ['a common password', { password: 'Password1234' }, /too easy to guess/],
    ['the address as password', { password: 'somebody@acme.example' }, /too easy to guess/],
    ['a row of digits', { password: '0123456789012' }, /too easy to guess/],
  ]
  for (const [what, wrong, message] of refused) {
    expect([what, await call('POST', '/invitations/accept', { token, ...wrong })]).toMatchObject([
      what,
      { status: 400, body: { message: expect.stringMatching(message) } },
    ])
  }
  expect((await call('POST', '/invitations/accept', { token, password: PASSWORD })).status).toBe(201)
})

it('queries accept the ids of organizations that version 1.0.0 accepted', async () => {
  const { call } = start(openShared())
  const org_id = 'ac\u200bme\n'
  const query = `?org_id=${encodeURIComponent(org_id)}`
  expect(await call('GET', `/team${query}`)).toEqual({ status: 200, body: { org_id, members: [] } })
  expect(await call('GET', `/team/policy${query}`)).toMatchObject({ status: 200, body: { org_id } })
  expect((await call('DELETE', `/audit/names/key/unknown${query}`)).status).toBe(404)
  expect((await call('POST', '/team', { email: 'ada@acme.example', org_id })).status).toBe(400)
})

it('invalid email addresses are refused', async () => {
  const { call } = start(openShared())
  const long = `${'x'.repeat(250)}@b.cd`
  for (const email of ['nobody', 'a@b,c@d', 'a b@c.de', 'a@b\r\nBcc: x@y.zz', '"x" <a@b.cd>', long]) {
    expect([email, await call('POST', '/team', { email, org_id: 'acme' })]).toMatchObject([
      email,
      {
        status: 400,
        body: { message: expect.stringContaining('email must be one email address, such as ada@example.org, got ') },
      },
    ])
  }
})

it('an organization can neither see nor change the team of another', async () => {
  const { call, join } = await startAlone()
  const ada = await join('ada@acme.example', 'admin')
  const { api_key: foreign } = (await call('POST', '/keys', { name: 'x', org_id: 'beta', scopes: ['admin'] })).body
  await join('ada@acme.example', 'admin', 'beta', 'quite another password')
  expect((await call('GET', '/team', undefined, foreign)).body.members).toMatchObject([{ email: 'ada@acme.example' }])
  expect((await call('GET', '/team?org_id=acme', undefined, foreign)).status).toBe(403)
  expect((await call('DELETE', `/team/${ada.id}`, undefined, foreign)).status).toBe(404)
  expect((await call('PATCH', `/team/${ada.id}`, { role: 'viewer' }, foreign)).status).toBe(404)
  expect((await call('PATCH', '/team/policy', { org_id: 'acme', require_mfa: 'all' }, foreign)).status).toBe(403)
})

const hasMailServer = spawnSync('/usr/bin/python3', ['-c', 'import aiosmtpd']).status === 0

const startMailServer = async () => {
  const port = await freePort()
  const server: ChildProcess = spawn('/usr/bin/python3', ['-u', '-m', 'aiosmtpd', '-n', '-l', `127.0.0.1:${port}`])
  const ended = once(server, 'exit')
  onTestFinished(async () => {
    server.kill('SIGKILL')
    await ended
  })
  let received = ''
  server.stdout!.on('data', (chunk) => {
    received += chunk
  })
  return { port, received: () => received }
}

it.skipIf(!hasMailServer)(
  'emails the link (skipped without aiosmtpd), and reports when the mail server cannot be reached',
  async () => {
    const { port, received } = await startMailServer()
    const { world, call } = await startAlone({ smtp: { url: `smtp://127.0.0.1:${port}`, from: 'svc@acme.example' } })
    const invite = () => call('POST', '/team', { email: 'ada@acme.example', org_id: 'acme' })
    await expect.poll(async () => (await invite()).body.mail).toBe('sent')
    const { link } = (await invite()).body
    await expect.poll(received).toContain('To: ada@acme.example')
    await expect.poll(() => received().replaceAll('=\n', '').replaceAll('=3D', '=')).toContain(link)
    expect(link.startsWith(`${world.baseUrl}/#`)).toBe(true)
    const away = await startAlone({ smtp: { url: `smtp://127.0.0.1:${await freePort()}`, from: 'svc@acme.example' } })
    const { body } = await away.call('POST', '/team', { email: 'ada@acme.example', org_id: 'acme' })
    expect(body).toMatchObject({
      mail: expect.stringMatching(/^failed: /),
      link: expect.stringContaining('#invitation='),
    })
  },
)
