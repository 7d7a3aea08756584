import { createHash, randomBytes } from 'node:crypto'
import { generateSync } from 'otplib'
import { expect, it } from 'vitest'
import { UNAUDITED_OPERATIONS } from '../src/control/access/audit/unaudited-operations.ts'
import { makePasskey } from '../src/control/access/sign-in/passkeys.fixture.ts'
import { openBrowser, PASSWORD, startPeople } from '../src/control/access/sign-in/people.fixture.ts'
import { examples } from '../src/control/catalog/catalog.examples.ts'
import { readPaths } from './api-document.ts'
import { formOf } from './world.ts'

const CHANGING = Object.values(readPaths<{ readonly operationId: string }>()).flatMap((methods) =>
  Object.entries(methods).flatMap(([method, { operationId }]) => (['get', 'head'].includes(method) ? [] : operationId)),
)

/** Audited, but covered by other tests: they need an identity provider, another service, or two admins. */
const ELSEWHERE = new Set([
  // See oidc.test.ts.
  'finishProviderSignIn',
  'replayDeadLetters',
  'createBackup',
  // See approvals.test.ts.
  'approveRequest',
  'rejectRequest',
  'cancelRequest',
  // Like resumeTrainingJob, but for a completed job.
  'extendTrainingJob',
])

it('the unaudited operations exist, each with a reason', () => {
  expect(Object.keys(UNAUDITED_OPERATIONS).filter((operation) => !CHANGING.includes(operation))).toEqual([])
})

const ORIGIN = 'https://fleet.acme.example'

type Body = Readonly<Record<string, unknown>>

interface Listed {
  readonly id: string
  readonly current: boolean
}

/** An organization in which the audit log is checked after every request. */
const openAudited = async () => {
  const people = await startPeople({ config: { publicUrl: ORIGIN } })
  const { world } = people
  const root = world.service.firstAdminKey!
  const db = world.database!.sql
  const driven = new Set<string>()
  let seen = 0
  const since = async () => {
    const rows = await db.selectFrom('audit_entries').selectAll().where('id', '>', seen).orderBy('id').execute()
    seen = rows.at(-1)?.id ?? seen
    return rows
  }
  /** Sends a request and expects one audit entry: for this operation, object, and key. */
  const drive = async (
    operation: string,
    [method, path, body]: readonly [string, string, unknown?],
    {
      key = root,
      kind,
      id,
      org = 'acme',
    }: { key?: string; kind: string; id: string | ((body: Body) => unknown); org?: string },
  ): Promise<Body> => {
    await since()
    const { status, body: response } = await world.request(method, `/api/v1${path}`, { key, body })
    expect([operation, status < 300 ? '' : response]).toEqual([operation, ''])
    const found = (await since()).map((row) => [row.org_id, row.action, row.object_kind, row.object_id, row.result])
    const expected = typeof id === 'string' ? id : id(response as Body)
    expect([operation, found]).toEqual([operation, [[org, operation, kind, expected, 'ok']]])
    driven.add(operation)
    return (response ?? {}) as Body
  }
  /** The same for a person in a browser. */
  const driveIn = async (
    browser: ReturnType<typeof openBrowser>,
    operation: string,
    [method, path, body]: readonly [string, string, unknown?],
    kind = 'person',
  ): Promise<Body> => {
    await since()
    const response = await browser.call(method, path, body)
    expect([operation, response.status < 300 ? '' : response.body]).toEqual([operation, ''])
    const found = (await since()).map((row) => [row.org_id, row.action, row.object_kind, row.result])
    expect([operation, found]).toEqual([operation, [['acme', operation, kind, 'ok']]])
    driven.add(operation)
    return response.body
  }
  return { people, world, root, drive, driveIn, driven, since }
}

/** Everything that people do with their own accounts and sessions, and an admin with a member's. */
const driveAccounts = async ({ people, drive, driveIn }: Awaited<ReturnType<typeof openAudited>>): Promise<void> => {
  const { world, join } = people
  const email = 'grace@acme.example'
  const grace = await join(email, 'member')
  const browser = openBrowser(world)
  const password = (text: string) => ({ old_password: PASSWORD, new_password: text })
  await driveIn(browser, 'openSession', ['POST', '/session', { email, password: PASSWORD }], 'session')
  await driveIn(browser, 'confirmSession', ['POST', '/session/confirm', { password: PASSWORD }], 'session')
  await driveIn(browser, 'changePassword', ['PUT', '/account/password', password('another four words here')])

  const codeOf = (secret: unknown): string =>
    generateSync({ secret: String(secret), epoch: Math.floor(world.now().getTime() / 1000) })
  const { secret } = await driveIn(browser, 'beginTotp', ['POST', '/account/totp'])
  await driveIn(browser, 'confirmTotp', ['POST', '/account/totp/confirm', { code: codeOf(secret) }])
  const renewed = await driveIn(browser, 'renewRecoveryCodes', ['POST', '/account/recovery-codes'])
  const other = openBrowser(world)
  await other.signIn(email, { password: 'another four words here' })
  const [recovery_code] = renewed.recovery_codes as string[]
  await driveIn(other, 'showSecondFactor', ['POST', '/session/second-factor', { recovery_code }], 'session')
  const { sessions } = (await browser.call('GET', '/account/sessions')).body as { sessions: Listed[] }
  const theirs = sessions.find(({ current }) => !current)!
  await driveIn(browser, 'revokeOwnSession', ['DELETE', `/account/sessions/${theirs.id}`], 'session')
  await driveIn(browser, 'removeTotp', ['DELETE', '/account/totp'])

  const passkey = makePasskey(ORIGIN)
  const optionsOf = async (path: string) =>
    (await browser.call('POST', path)).body.public_key as Record<string, unknown>
  const credential = passkey.create(await optionsOf('/account/passkeys/options'))
  await driveIn(browser, 'addPasskey', ['POST', '/account/passkeys', { name: 'laptop', credential }], 'passkey')
  const path = `/account/passkeys/${passkey.id}`
  await driveIn(browser, 'renamePasskey', ['PATCH', path, { name: 'key ring' }], 'passkey')
  const shown = passkey.get(await optionsOf('/session/passkey/options'))
  await driveIn(browser, 'finishPasskeySignIn', ['POST', '/session/passkey', { credential: shown }], 'session')
  await driveIn(browser, 'removePasskey', ['DELETE', path], 'passkey')

  await driveIn(browser, 'closeSession', ['DELETE', '/session'], 'session')
  await browser.signIn(email, { password: 'another four words here' })
  const listed = (await people.byKey('GET', '/sessions')).body as { sessions: Listed[] }
  const last = listed.sessions.at(-1)!
  await drive('revokeSession', ['DELETE', `/sessions/${last.id}`], { kind: 'session', id: last.id })
  await drive('resetSecondFactor', ['DELETE', `/team/${grace}/second-factor`], { kind: 'person', id: grace })
}

const own = (body: Body): unknown => body.id
const anyId = (): unknown => expect.any(String)

it("every operation that changes something leaves one entry for its object, in the object's organization", async () => {
  const audited = await openAudited()
  const { world, root, drive, driven, since } = audited
  await drive('createOrg', ['POST', '/orgs', { name: 'acme' }], { kind: 'org', id: 'acme' })
  const made = await drive(
    'createKey',
    [
      'POST',
      '/keys',
      {
        name: 'acme',
        org_id: 'acme',
        scopes: [
          'admin',
          'models:read',
          'models:write',
          'devices:read',
          'devices:write',
          'training:read',
          'training:write',
          'metrics:read',
        ],
      },
    ],
    { kind: 'key', id: own },
  )
  const key = made.api_key as string
  const by = (kind: string, id: string | ((body: Body) => unknown)) => ({ key, kind, id })

  const invited = await drive(
    'inviteMember',
    ['POST', '/team', { email: 'ada@acme.example', role: 'admin' }],
    by('invitation', own),
  )
  const [ada] = [
    await drive(
      'acceptInvitation',
      ['POST', '/invitations/accept', { token: invited.token, name: 'Ada', password: 'correct horse battery staple' }],
      by('person', own),
    ).catch(() => null),
  ]
  expect(ada).not.toBe(null)
  await driveAccounts(audited)
  const bob = await drive(
    'inviteMember',
    ['POST', '/team', { email: 'bob@acme.example', role: 'member' }],
    by('invitation', own),
  )
  await drive('setMemberRole', ['PATCH', `/team/${bob.id}`, { role: 'viewer' }], by('invitation', bob.id as string))
  await drive('removeMember', ['DELETE', `/team/${bob.id}`], by('invitation', bob.id as string))
  const bobsName = ['DELETE', `/audit/names/invitation/${bob.id}`] as const
  await drive('eraseAuditName', bobsName, by('invitation', bob.id as string))
  await drive('setSignInPolicy', ['PATCH', '/team/policy', { session_hours: 12 }], by('settings', 'acme'))
  await drive('setOrgSettings', ['PATCH', '/orgs/acme/settings', { session_hours: 8 }], by('settings', 'acme'))

  for (const device of ['a', 'b', 'c'])
    await world.request('POST', '/api/v1/devices/register', { key, body: { device_id: device } })
  expect(await since()).toEqual([])
  // With a key that sees every organization, the entry belongs to the object's.
  const group = (
    await drive('createGroup', ['POST', '/device-groups', { org_id: 'acme', name: 'lab' }], { kind: 'group', id: own })
  ).id as string
  const aGroup = by('group', group)
  await drive('updateGroup', ['PUT', `/device-groups/${group}`, { name: 'laboratory' }], aGroup)
  await drive('addGroupDevices', ['POST', `/device-groups/${group}/devices`, { device_ids: ['a', 'b'] }], aGroup)
  await drive('addGroupDevice', ['POST', `/device-groups/${group}/devices/c`], { ...aGroup, key: root })
  await drive('removeGroupDevices', ['DELETE', `/device-groups/${group}/devices`, { device_ids: ['a'] }], aGroup)
  await drive('removeGroupDevice', ['DELETE', `/device-groups/${group}/devices/b`], aGroup)

  await drive('eraseDevice', ['POST', '/devices/b/erase', { confirm: 'b' }], { ...by('device', anyId), key: root })
  await world.request('POST', '/api/v1/devices/register', { key, body: { device_id: 'b' } })

  const model = (await drive('createModel', ['POST', '/models', { name: 'm', framework: 'pytorch' }], by('model', own)))
    .id as string
  await drive('updateModel', ['PATCH', `/models/${model}`, { description: 'Next word' }], by('model', model))
  const weights = new Uint8Array(Float32Array.of(1, 2, 3).buffer)
  await drive(
    'uploadVersion',
    ['POST', `/models/${model}/versions/upload`, formOf(weights, { version: '1' })],
    by('model', model),
  )
  const metadata = { metadata: { accuracy: 0.9 } }
  await drive('updateVersion', ['PATCH', `/models/${model}/versions/1`, metadata], by('model', model))
  await drive('setAlias', ['PUT', `/models/${model}/aliases/production`, { version: '1' }], by('model', model))
  await drive('deleteAlias', ['DELETE', `/models/${model}/aliases/production`], by('model', model))
  await world.request('POST', `/api/v1/models/${model}/versions/upload`, { key, body: formOf(weights) })
  await drive('deleteVersion', ['DELETE', `/models/${model}/versions/2`], by('model', model))

  const rollouts = `/models/${model}/rollouts`
  const rollout = (
    await drive(
      'createRollout',
      ['POST', rollouts, { version: '1', rollout_percentage: 10, start_immediately: false }],
      by('rollout', (body) => body.rollout_id),
    )
  ).rollout_id as string
  const at = `${rollouts}/${rollout}`
  const aRollout = { kind: 'rollout', id: rollout }
  await drive('startRollout', ['POST', `${at}/start`], aRollout)
  await drive('pauseRollout', ['POST', `${at}/pause`], aRollout)
  await drive('resumeRollout', ['POST', `${at}/resume`], aRollout)
  await drive('advanceRollout', ['POST', `${at}/advance`], aRollout)
  await drive('setRolloutPercentage', ['PUT', `${at}/percentage`, { percentage: 50 }], aRollout)
  await drive('rollbackRollout', ['POST', `${at}/rollback`], aRollout)
  await drive('deleteRollout', ['DELETE', at], aRollout)

  const aim = { model_name: 'm', model_version: '1', devices: ['a', 'b', 'c'], rollout_percentage: 10 }
  const deployment = (
    await drive(
      'executeDeployment',
      ['POST', '/deploy/execute', aim],
      by('deployment', (body) => body.deployment_id),
    )
  ).deployment_id as string
  await drive(
    'promoteDeployment',
    ['POST', `/deployments/${deployment}/promote`, { rollout_percentage: 60 }],
    by('deployment', deployment),
  )
  await drive('rollbackDeployment', ['POST', `/deployments/${deployment}/rollback`], by('deployment', deployment))

  const variants = ['x', 'y'].map((name) => ({ name, model_id: model, allocation: 0.5 }))
  const draft = (name: string) =>
    drive('createExperiment', ['POST', '/experiments', { name, variants }], by('experiment', own))
  const [experiment, other] = [(await draft('e1')).id as string, (await draft('e2')).id as string]
  for (const action of ['start', 'pause', 'resume', 'complete'])
    await drive(`${action}Experiment`, ['POST', `/experiments/${experiment}/${action}`], {
      kind: 'experiment',
      id: experiment,
    })
  await drive('cancelExperiment', ['POST', `/experiments/${other}/cancel`], by('experiment', other))
  await drive(
    'createPairing',
    ['POST', '/pairings', {}],
    by('pairing', (body) => body.pairing_id),
  )
  await drive('setPolicy', ['PUT', `/models/${model}/policy`, {}], by('policy', anyId))
  await drive('deletePolicy', ['DELETE', `/models/${model}/policy`], by('policy', anyId))

  const federation = (
    await drive('createFederation', ['POST', '/federations', { name: 'f', org_id: 'acme' }], by('federation', own))
  ).id as string
  const f = `/federations/${federation}`
  const aFederation = by('federation', federation)
  await drive('inviteToFederation', ['POST', `${f}/invite`, { org_ids: ['beta'] }], aFederation)
  await drive('joinFederation', ['POST', `${f}/join`, { org_id: 'beta' }], {
    kind: 'federation',
    id: federation,
    org: 'beta',
  })
  await drive('removeFederationMember', ['DELETE', `${f}/members/beta`], aFederation)
  await drive('shareModel', ['POST', `${f}/models`, { model_id: model }], aFederation)
  await drive('unshareModel', ['DELETE', `${f}/models/${model}`], aFederation)
  await drive('setPrivacyBudget', ['PUT', `${f}/privacy/budget`, { total_epsilon_budget: 5 }], aFederation)

  const round = (
    await drive(
      'startRound',
      ['POST', '/training/rounds/start', { target_devices: 1, min_devices: 1 }],
      by('round', own),
    )
  ).id as string
  await drive('cancelRound', ['POST', `/training/rounds/${round}/cancel`], by('round', round))
  const job = (
    await drive('startTrainingJob', ['POST', '/training/jobs', { model: 'm', name: 'j', rounds: 2 }], by('job', own))
  ).id as string
  await drive('stopTrainingJob', ['POST', `/training/jobs/${job}/stop`], by('job', job))
  await drive('resumeTrainingJob', ['POST', `/training/jobs/${job}/resume`, {}], { kind: 'job', id: job })
  await drive('shareBenchmark', ['POST', '/benchmarks', examples.newBenchmark], by('benchmark', own))

  const integration = (
    await drive(
      'createIntegration',
      ['POST', '/integrations', { kind: 'logs', type: 'webhook', endpoint: 'https://hooks.example' }],
      by('integration', own),
    )
  ).id as string
  const anIntegration = by('integration', integration)
  await drive('pauseIntegration', ['POST', `/integrations/${integration}/pause`], anIntegration)
  await drive('resumeIntegration', ['POST', `/integrations/${integration}/resume`], anIntegration)
  await drive('deleteIntegration', ['DELETE', `/integrations/${integration}`], anIntegration)
  await drive('deleteGroup', ['DELETE', `/device-groups/${group}`], aGroup)
  const started = (await world.request('POST', '/api/v1/login/device', { body: { client_name: 'svc' } })).body as Body
  const decision = { user_code: started.user_code, approve: true }
  await drive('decideDeviceLogin', ['POST', '/login/device/decision', decision], by('login', made.id as string))
  await drive('createSignInLink', ['POST', '/session/links'], by('login', anyId))
  const verifier = randomBytes(32).toString('base64url')
  const login = {
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    redirect_uri: 'http://127.0.0.1:49152/callback',
    state: 'x'.repeat(16),
  }
  const approved = await drive('authorizeLogin', ['POST', '/login/authorize', login], by('login', anyId))
  const code = new URL(approved.redirect_to as string).searchParams.get('code')
  const exchanged = ['POST', '/login/token', { code, code_verifier: verifier }] as const
  await drive('exchangeLoginCode', exchanged, { kind: 'key', id: anyId })
  const polled = ['POST', '/login/device/token', { device_code: started.device_code }] as const
  await drive('exchangeDeviceCode', polled, { kind: 'key', id: anyId })
  const rotated = await drive('rotateKey', ['POST', `/keys/${made.id}/rotate`], { key: root, kind: 'key', id: own })
  expect(rotated.replaces).toBe(made.id)
  await drive('revokeKey', ['DELETE', `/keys/${made.id}`], { kind: 'key', id: made.id as string })

  const missing = CHANGING.filter(
    (operation) =>
      !driven.has(operation) && !ELSEWHERE.has(operation) && !Object.hasOwn(UNAUDITED_OPERATIONS, operation),
  )
  expect(missing, 'operations that need a step here, or a reason in UNAUDITED_OPERATIONS').toEqual([])
  const { body } = await world.request('POST', '/api/v1/audit/verify', { key: root })
  expect(body).toMatchObject({ valid: true })
})
