import { expect, it } from 'vitest'
import { UNAUDITED_OPERATIONS } from '../src/control/access/audit/unaudited-operations.ts'
import { examples } from '../src/control/catalog/catalog.examples.ts'
import { readPaths } from './api-document.ts'
import { formOf, startWorld } from './world.ts'

const CHANGING = Object.values(readPaths<{ readonly operationId: string }>()).flatMap((methods) =>
  Object.entries(methods).flatMap(([method, { operationId }]) => (['get', 'head'].includes(method) ? [] : operationId)),
)

/** Audited, and driven by tests of their own: they need a browser's page, a mail, or another service. */
const ELSEWHERE = new Set([
  'openSession',
  'showSecondFactor',
  'finishProviderSignIn',
  'finishPasskeySignIn',
  'addPasskey',
  'renamePasskey',
  'removePasskey',
  'confirmSession',
  'changePassword',
  'revokeOwnSession',
  'beginTotp',
  'confirmTotp',
  'removeTotp',
  'renewRecoveryCodes',
  'resetSecondFactor',
  'closeSession',
  'revokeSession',
  'createSignInLink',
  'authorizeLogin',
  'exchangeLoginCode',
  'replayDeadLetters',
  'createBackup',
  // See approvals.test.ts.
  'approveRequest',
  'rejectRequest',
  'cancelRequest',
  // As resumeTrainingJob, but of a job that is completed.
  'extendTrainingJob',
])

it('operations that are not audited are there, each with its reason', () => {
  expect(Object.keys(UNAUDITED_OPERATIONS).filter((operation) => !CHANGING.includes(operation))).toEqual([])
})

type Body = Readonly<Record<string, unknown>>

/** An organization whose every request is followed by a look at the audit log. */
const openAudited = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const root = world.service.firstAdminKey!
  const db = world.database!.sql
  const driven = new Set<string>()
  let seen = 0
  const since = async () => {
    const rows = await db.selectFrom('audit_entries').selectAll().where('id', '>', seen).orderBy('id').execute()
    seen = rows.at(-1)?.id ?? seen
    return rows
  }
  /** Sends it, and expects one entry: of this operation, about this object, by this key. */
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
    const { status, body: answer } = await world.request(method, `/api/v1${path}`, { key, body })
    expect([operation, status < 300 ? '' : answer]).toEqual([operation, ''])
    const found = (await since()).map((row) => [row.org_id, row.action, row.object_kind, row.object_id, row.result])
    const expected = typeof id === 'string' ? id : id(answer as Body)
    expect([operation, found]).toEqual([operation, [[org, operation, kind, expected, 'ok']]])
    driven.add(operation)
    return (answer ?? {}) as Body
  }
  return { world, root, drive, driven, since }
}

const own = (body: Body): unknown => body.id
const anyId = (): unknown => expect.any(String)

it('every operation that changes something leaves one entry, of its object, in the organization it belongs to', async () => {
  const { world, root, drive, driven, since } = await openAudited()
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
  // By a key that sees every organization: the entry belongs to the object's.
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
  const weights = new Uint8Array(Float32Array.of(1, 2, 3).buffer)
  await drive(
    'uploadVersion',
    ['POST', `/models/${model}/versions/upload`, formOf(weights, { version: '1' })],
    by('model', model),
  )
  await drive('setAlias', ['PUT', `/models/${model}/aliases/production`, { version: '1' }], by('model', model))
  await drive('deleteAlias', ['DELETE', `/models/${model}/aliases/production`], by('model', model))

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
  const polled = ['POST', '/login/device/token', { device_code: started.device_code }] as const
  await drive('exchangeDeviceCode', polled, { kind: 'key', id: anyId })
  const rotated = await drive('rotateKey', ['POST', `/keys/${made.id}/rotate`], { key: root, kind: 'key', id: own })
  expect(rotated.replaces).toBe(made.id)
  await drive('revokeKey', ['DELETE', `/keys/${made.id}`], { kind: 'key', id: made.id as string })

  const missing = CHANGING.filter(
    (operation) =>
      !driven.has(operation) && !ELSEWHERE.has(operation) && !Object.hasOwn(UNAUDITED_OPERATIONS, operation),
  )
  expect(missing).toEqual([])
  const { body } = await world.request('POST', '/api/v1/audit/verify', { key: root })
  expect(body).toMatchObject({ valid: true })
})
