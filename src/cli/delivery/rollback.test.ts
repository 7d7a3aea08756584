import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { startWithApprovals } from '../../control/access/sign-in/two-admins.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { startFleet } from './fleet.fixture.ts'

const openOrganization = boundOrganizations()
const joinFleet = async (devices: number, versions?: readonly string[]) =>
  startFleet(devices, versions, await openOrganization())

const anonymous = (text: string) => text.replace(/[0-9a-f-]{36}/g, '<id>')

it('rolls back the newest rollout or deployment, and no older one when it is run again', async () => {
  const { svc, world, given, report } = await joinFleet(2)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(60)
  await svc('deploy', 'm', '-v', '2.0.0', '--devices', 'd1')
  // It waits to be started, so it is not the newest plan that devices have.
  await svc('rollouts', 'create', 'm', '--version', '2.0.0', '--percentage', '100', '--no-start')
  expect(await given()).toEqual({ d0: '1.0.0', d1: '2.0.0' })
  const first = await svc('rollback', 'm', '--json')
  expect([first.exitCode, JSON.parse(first.stdout), await given()]).toEqual([
    0,
    { rolled_back: [{ kind: 'deployment', id: expect.any(String), version: '2.0.0' }], running_experiments: [] },
    { d0: '1.0.0', d1: '1.0.0' },
  ])
  const second = await svc('rollback', 'm')
  const time = / at 20[-0-9]{8} [0-9:]{5} UTC/
  expect([{ ...second, stderr: anonymous(second.stderr).replace(time, ' at <time> UTC') }, await given()]).toEqual([
    {
      exitCode: 1,
      stdout: '',
      stderr:
        "svc: The deployment of version 2.0.0 of 'm' (<id>) was rolled back at <time> UTC: svc rollback\n" +
        'Nothing was changed. The newest plan that is still in force is the rollout of version 1.0.0.\n' +
        'To roll it back, too: svc rollouts rollback <id>\n' +
        'To give the whole fleet an earlier version: svc rollback m --to-version <version>\n',
    },
    { d0: '1.0.0', d1: '1.0.0' },
  ])
  const further = /svc (rollouts rollback \S+)/.exec(second.stderr)![1]!
  expect([(await svc(...further.split(' '))).exitCode, await given()]).toEqual([0, { d0: null, d1: null }])
  expect(await svc('rollback', 'm')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "svc: 'm' has no rollout or deployment to roll back.\n",
  })
})

it('keeps the older version if the newest was withdrawn automatically, until an earlier one is named', async () => {
  const { svc, world, given, report } = await joinFleet(3, ['1.0.0', '2.0.0', '3.0.0'])
  for (const version of ['1.0.0', '2.0.0']) {
    await svc('deploy', 'm', '-v', version, '--yes')
    await report('active', version)
    await world.advance(60)
  }
  const all = (version: string) => ({ d0: version, d1: version, d2: version })
  for (const [options, what] of [
    [
      [],
      /^svc: The rollout of version 3\.0\.0 of 'm' \(<id>\) was rolled back automatically at [-\d]+ [:\d]+ UTC: 3 of 3 /,
    ],
    [['--devices', 'd0,d1,d2'], /^svc: The deployment of version 3\.0\.0 of 'm' \(<id>\) failed and was withdrawn at /],
  ] as const) {
    await svc('deploy', 'm', '-v', '3.0.0', ...options, '--yes')
    await report('failed', '3.0.0', 'no memory')
    for (let run = 0; run < 2; run++) {
      const { exitCode, stderr } = await svc('rollback', 'm', '--yes')
      expect([exitCode, anonymous(stderr), await given()]).toEqual([1, expect.stringMatching(what), all('2.0.0')])
      expect(stderr).toContain('still in force is the rollout of version 2.0.0.\n')
      expect(stderr).toContain(' svc rollback m --to-version 1.0.0\n')
    }
    await world.advance(60)
  }
  // It failed after the rollout had started, and waited for its approval until then.
  await sql`update deployments set created_at = created_at - interval '1 day' where status = 'failed'`.execute(
    world.database!.sql,
  )
  expect((await svc('rollback', 'm')).stderr).toContain('failed and was withdrawn')
  await svc('deploy', 'm', '-v', '3.0.0', '--yes')
  expect((await svc('rollback', 'm', '--to-version', '1.0.0')).stdout).toContain(
    'Rolled back the rollout of version 3.0',
  )
  expect(await given()).toEqual(all('1.0.0'))
  // It is withdrawn after the other has started, but the clock of tests stands still.
  await sql`update rollouts set ended_at = ended_at + interval '1 second' where reason like 'svc%'`.execute(
    world.database!.sql,
  )
  await world.advance(60)
  expect((await svc('rollback', 'm')).stderr).toContain(': svc rollback to 1.0.0\n')
  await svc('deploy', 'm', '-v', '3.0.0', '--yes')
  expect(await svc('rollback', 'm')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^Rolled back the rollout of version 3\.0\.0 \([0-9a-f-]{36}\)\.\n$/),
    stderr: 'Each device returns to its previous version, or to none if it had none.\n',
  })
  expect(await given()).toEqual(all('1.0.0'))
})

it('--to-version gives the version to the whole fleet and rolls back all open plans', async () => {
  const { svc, world, given } = await joinFleet(3, ['1.0.0', '2.0.0', '3.0.0'])
  await svc('deploy', 'm', '-v', '2.0.0', '-r', '50', '--yes')
  await world.advance(10)
  await svc('deploy', 'm', '-v', '3.0.0', '--devices', 'd1')
  await world.advance(10)
  const { exitCode, stdout } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, anonymous(stdout)]).toEqual([
    0,
    'Rolled back the deployment of version 3.0.0 (<id>).\nRolled back the rollout of version 2.0.0 (<id>).\n' +
      'The whole fleet gets version 1.0.0 (rollout <id>).\n',
  ])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0', d2: '1.0.0' })
})

it('--to-version pauses the experiments on the model, which would take precedence', async () => {
  const { svc, given, get, world } = await joinFleet(4, ['1.0.0', '2.0.0', '3.0.0'])
  await svc('experiments', 'create', 'a b', '--variant', 'a=m@2.0.0:0.5', '--variant', 'b=m@3.0.0:0.5')
  await svc('experiments', 'start', 'a b')
  const deployed = await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  const until =
    'Running experiments take precedence on their devices until this rollout is completed, which replaces them: '
  expect(deployed.stderr).toContain(until)
  expect((await svc('status', 'm')).stdout).toContain(until)
  expect((await svc('deploy', 'm', '-v', '1.0.0', '--dry-run')).stderr).toContain('Running experiments take precedence')
  expect((await svc('rollback', 'm')).stderr).toMatch(
    /^Experiment 'a b' continues on its devices\. Pause it with: svc experiments pause [0-9a-f-]{36}\n/,
  )
  await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  expect(JSON.parse((await svc('rollback', 'm', '--json')).stdout)).toMatchObject({
    running_experiments: [{ id: expect.any(String), name: 'a b' }],
  })
  const before = await given()
  const { exitCode, stdout, stderr } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, anonymous(stdout)]).toEqual([
    0,
    "Paused the experiment 'a b' (<id>).\nThe whole fleet gets version 1.0.0 (rollout <id>).\n",
  ])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0', d2: '1.0.0', d3: '1.0.0' })
  expect(await get('/experiments')).toMatchObject({
    experiments: [{ status: 'paused', reason: 'svc rollback to 1.0.0' }],
  })

  await world.advance(3600)
  const resumed = await svc('experiments', 'resume', 'a b')
  const replaced = /No device gets 'a', 'b': the newer rollout [0-9a-f-]{36} has given all devices version 1\.0\.0\./
  expect(resumed).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(replaced) })
  for (const action of [['list'], ['show', 'a b'], ['results', 'a b']])
    expect((await svc('experiments', ...action)).stderr + action).toMatch(replaced)
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0', d2: '1.0.0', d3: '1.0.0' })
  const undo = /^To continue the experiment 'a b': svc (?<rollback>.*), then svc experiments resume [0-9a-f-]{36}$/m
  await svc(...undo.exec(stderr)!.groups!.rollback!.split(' '))
  expect(await given()).toEqual(before)
  expect((await svc('experiments', 'list')).stderr).toBe('')
})

it('--to-version withdraws and pauses nothing until its rollout is approved, and continues it when it is run again', async () => {
  const { world, service, model, bob, decide, byKey } = await startWithApprovals()
  const key = service.api_key as string
  const variants = ['1', '2'].map((version) => ({ name: version, model_id: model, version, allocation: 0.5 }))
  const { body } = await byKey('POST', '/experiments', { name: 'e', variants })
  await byKey('POST', `/experiments/${body.id}/start`)
  const given = async () => {
    const found = ['a', 'b', 'c'].map(async (device) => {
      const of = await world.request('GET', `/api/v1/devices/${device}/assignments`, { key })
      return (of.body as { assignments: { version: string; kind: string }[] }).assignments[0]
    })
    return Promise.all(found)
  }
  const before = await given()
  expect(before).toMatchObject(Array(3).fill({ kind: 'experiment' }))
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const rollback = (...argv: string[]) => runInProcess(['rollback', 'm', '--to-version', '1.0.0', ...argv], { env })
  const first = await rollback()
  expect(first).toMatchObject({ exitCode: 1, stdout: '' })
  expect(first.stderr).toContain('Nothing was rolled back or paused.')
  const again = await rollback('--json')
  expect(again.exitCode).toBe(1)
  const waiting = JSON.parse(again.stdout) as { rollout_id: string; warnings: string[] }
  expect(waiting).toMatchObject({ rolled_back: [], paused_experiments: [], version: '1.0.0' })
  expect(first.stderr).toContain(waiting.rollout_id)
  expect(await given()).toEqual(before)
  await decide(bob, /approve ([0-9a-f-]{36})/.exec(waiting.warnings[0]!)![1])
  const last = await rollback('--json')
  expect(last.exitCode).toBe(0)
  expect(JSON.parse(last.stdout)).toEqual({
    rolled_back: [],
    paused_experiments: [{ id: body.id, name: 'e' }],
    rollout_id: waiting.rollout_id,
    version: '1.0.0',
    warnings: [],
  })
  expect(await given()).toMatchObject(Array(3).fill({ kind: 'rollout', version: '1.0.0' }))
})

it('--to-version is repeated by a new rollout if a deployment may have started since', async () => {
  const { svc, world } = await startFleet(2, ['1.0.0', '3.0.0'])
  await svc('deploy', 'm', '-v', '3.0.0', '--devices', 'd0')
  const rolloutOf = async () =>
    (JSON.parse((await svc('rollback', 'm', '--to-version', '1.0.0', '--json')).stdout) as { rollout_id: string })
      .rollout_id
  const first = await rolloutOf()
  expect(await rolloutOf()).toBe(first)
  await sql`update deployments set ended_at = ended_at + interval '1 minute'`.execute(world.database!.sql)
  expect(await rolloutOf()).not.toBe(first)
})

it('--to-version finds an unfinished deployment that is older than a thousand others', async () => {
  const { svc, world, given } = await startFleet(2, ['1.0.0', '3.0.0'])
  await svc('deploy', 'm', '-v', '3.0.0', '--devices', 'd0')
  await sql`
    insert into deployments (
      id, model_name, model_version, model_id, status, strategy, percentage, target_count, activated_count, created_at)
    select gen_random_uuid(), d.model_name, '1.0.0', d.model_id, 'rolled_back', d.strategy, 100, 1, 1, d.created_at
    from deployments d, generate_series(1, 1001)`.execute(world.database!.sql)
  expect((await svc('status', 'm')).stdout).toContain('3.0.0')
  const { exitCode, stdout } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, stdout.split('\n').length]).toEqual([0, 3])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0' })
})

it('reports an unknown model or version and changes nothing', async () => {
  const { svc, given } = await joinFleet(1)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  expect([
    await svc('rollback', 'nothing'),
    await svc('rollback', 'nothing', '--to-version', '1.0.0'),
    await svc('rollback', 'm', '--to-version', '7.0.0'),
    await svc('rollback'),
  ]).toEqual([
    { exitCode: 1, stdout: '', stderr: expect.stringContaining("The catalog has no model 'nothing'") },
    { exitCode: 1, stdout: '', stderr: expect.stringContaining("The catalog has no model 'nothing'") },
    { exitCode: 1, stdout: '', stderr: "svc: Model 'm' has no version 7.0.0.\nIt has 1.0.0, 2.0.0.\n" },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining("'name'") },
  ])
  expect(await given()).toEqual({ d0: '1.0.0' })
})

it('asks for confirmation only at a terminal, unless --yes is given', async () => {
  const { svc, env, given } = await joinFleet(1, ['1.0.0', '2.0.0'])
  const rollback = (input: string, ...argv: string[]) => {
    const stdin = Object.assign(Readable.from([`${input}\n`]), { isTTY: true }) as unknown as NodeJS.ReadableStream
    return runInProcess(['rollback', 'm', ...argv], { env, stdin })
  }
  await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  expect(await rollback('n')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "Rolling back the rollout of version 2.0.0 of 'm'. Continue? [y/N] svc: Nothing was changed.\n",
  })
  expect(await rollback('n', '--to-version', '1.0.0')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Rolling back 'm' to version 1.0.0 on the whole fleet. Continue? [y/N]"),
  })
  expect(await given()).toEqual({ d0: '2.0.0' })
  expect(await rollback('y', '--to-version', '1.0.0')).toMatchObject({ exitCode: 0 })
  expect(await given()).toEqual({ d0: '1.0.0' })
  expect(await rollback('n', '--yes')).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('Continue?') })
  expect(await given()).toEqual({ d0: null })
})
