import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const SCOPES = ['models:read', 'models:write', 'training:read', 'training:write'].flatMap((scope) => ['--scope', scope])

/** Two organizations, each with its own home and key. */
const start = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const runAs = async (key: string) => {
    const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_BASE: world.baseUrl, SERVICE_API_KEY: key }
    return (...argv: string[]) => runInProcess(argv, { env, now: world.now })
  }
  const admin = await runAs(world.service.firstAdminKey!)
  const member = async (orgId: string) => {
    const made = await admin('keys', 'create', orgId, '--org', orgId, ...SCOPES, '--json')
    const { api_key } = JSON.parse(made.stdout) as { api_key: string }
    return { key: api_key, svc: await runAs(api_key) }
  }
  return { world, admin, acme: await member('acme'), beta: await member('beta') }
}

const done = (stdout: unknown, stderr = '') => ({ exitCode: 0, stdout, stderr })

it('creates a federation, invites, joins, shares a model, and lists the members', async () => {
  const { world, acme, beta } = await start()
  const made = await acme.svc('federation', 'create', 'hospitals', '--org', 'acme', '--description', 'scans')
  const id = /\((\S+)\)/.exec(made.stdout)![1]!
  expect(made).toEqual(
    done(
      `Created federation hospitals (${id}), which acme owns.\n`,
      `Invite others: svc federation invite ${id} <org_ids>\n`,
    ),
  )
  const fields =
    `Id:           ${id}\n` +
    'Name:         hospitals\n' +
    'Description:  scans\n' +
    'Owner:        acme\n' +
    'Members:      1\n' +
    'Status:       active\n' +
    'Your role:    owner\n' +
    'Created:      2026-01-01 00:00:00 UTC\n'
  expect(await acme.svc('federation', 'invite', 'hospitals', 'beta,gamma', 'delta')).toEqual(
    done('Invited beta, gamma, delta.\n'),
  )
  expect(await acme.svc('federation', 'invite', id, 'beta')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'svc: No organization was invited. Skipped: beta (invited before, or a member).\n',
  })
  expect(await beta.svc('federation', 'show', 'hospitals')).toEqual(
    done(
      fields.replace('Your role:    owner', 'Your role:    invited'),
      `You are invited. Join with: svc federation join ${id}\n`,
    ),
  )
  expect(await beta.svc('federation', 'join', 'hospitals', '--org', 'beta')).toEqual(
    done(`beta is a member of federation ${id}.\n`),
  )
  await world.request('POST', '/api/v1/models', { key: acme.key, body: { name: 'scanner' } })
  expect(await acme.svc('federation', 'share', 'scanner', 'hospitals')).toEqual(
    done(expect.stringMatching(/^Members of the federation may read scanner \(\S+\)\.\n$/)),
  )
  await acme.svc('federation', 'budget', 'hospitals', '--epsilon', '8')
  expect(await beta.svc('federation', 'show', id)).toEqual(
    done(
      `${fields.replace('Members:      1', 'Members:      2').replace('Your role:    owner', 'Your role:    member')}` +
        'Models:       scanner\n' +
        'Privacy:      epsilon 0 of 8 spent\n',
    ),
  )
  expect(await beta.svc('federation', 'list')).toEqual(
    done(
      'ID                                    NAME       OWNER  YOUR ROLE  MEMBERS  CREATED\n' +
        `${id}  hospitals  acme   member           2  2026-01-01 00:00\n`,
    ),
  )
  expect(await acme.svc('federation', 'members', 'hospitals')).toEqual(
    done(
      'ORGANIZATION  ROLE    STATUS   ROUNDS  SAMPLES\n' +
        'acme          owner   active        0        0\n' +
        'beta          member  active        0        0\n' +
        'delta         member  invited       0        0\n' +
        'gamma         member  invited       0        0\n',
    ),
  )
})

it('uses the default organization from svc init if none is given', async () => {
  const { admin } = await start()
  const ownerOf = async (name: string) =>
    JSON.parse((await admin('federation', 'create', name, '--json')).stdout).org_id
  expect(await ownerOf('x')).toBe('default')
  await admin('init', 'Acme')
  expect(await ownerOf('y')).toBe('acme')
})

it('sets and shows the privacy budget, and estimates the cost of a round', async () => {
  const { acme } = await start()
  await acme.svc('federation', 'create', 'f', '--org', 'acme')
  const budget = (rest: string) => done(`${rest}Rounds:     0\n`)
  expect(await acme.svc('federation', 'budget', 'f')).toEqual(
    budget('Budget:     not set\nDelta:      0.00001\nSpent:      0 (RDP accounting)\nReserved:   0\nRemaining:  0\n'),
  )
  expect(await acme.svc('federation', 'budget', 'f', '--epsilon', '2.36', '--delta', '0.00001')).toEqual(
    budget(
      'Budget:     epsilon 2.36\nDelta:      0.00001\nSpent:      0 (RDP accounting)\nReserved:   0\nRemaining:  2.36\n',
    ),
  )
  expect(await acme.svc('federation', 'privacy', 'f', '--noise', '1.1', '--sample-rate', '0.1')).toEqual(
    done(
      'So far:       epsilon 0 of 2.36\nWith it:      epsilon 1.359 (PLD accounting)\nCost:         1.359\nRounds left:  10\n',
    ),
  )
  expect(await acme.svc('federation', 'privacy', 'f')).toEqual(
    done('ROUND  STATUS  NOISE  SAMPLE RATE  CLIP  COST  EPSILON SO FAR\n'),
  )
  expect(await acme.svc('federation', 'budget', 'f', '--delta', '0.1')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: --delta needs --epsilon.\n',
  })
  const wrong = await acme.svc('federation', 'privacy', 'f', '--noise', '1')
  expect(wrong).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: --noise-multiplier and --sample-rate must be given together.\n',
  })
})

it("reports a federation that is missing, ambiguous, or not the organization's to change", async () => {
  const { world, admin, acme, beta } = await start()
  expect(await beta.svc('federation', 'show', 'f')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      "svc: Federation 'f' does not exist, or this key has no access to it.\nList them with: svc federation list\n",
  })
  const idOf = async (org: string) =>
    JSON.parse((await admin('federation', 'create', 'f', '--org', org, '--json')).stdout).id as string
  const [first, second] = [await idOf('acme'), await idOf('beta')]
  expect(await admin('federation', 'show', 'f')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: There are several federations 'f': ${second} (of beta), ${first} (of acme).\nUse its id instead.\n`,
  })
  expect(await admin('federation', 'members', 'f')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: There are several federations 'f': ${second} (of beta), ${first} (of acme).\nUse its id instead.\n`,
  })
  // However many are newer.
  await sql`insert into federations (id, name, description, org_id, status, created_at)
    select gen_random_uuid(), 'f' || n, '', 'acme', 'active', now() from generate_series(1, 1001) n`.execute(
    world.database!.sql,
  )
  expect(await admin('federation', 'budget', 'f', '--epsilon', '1')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`${second} (of beta), ${first} (of acme)`),
  })
  expect(await beta.svc('federation', 'show', 'f')).toMatchObject({ exitCode: 0 })
  await acme.svc('federation', 'invite', 'f', 'beta')
  expect(await beta.svc('federation', 'invite', first, 'gamma')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "svc: Federation 'f' belongs to 'acme': only its owner may do this.\n",
  })
})
