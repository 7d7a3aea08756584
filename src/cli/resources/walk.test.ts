import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startFleet } from '../delivery/fleet.fixture.ts'

const ID = '[0-9a-f-]{36}'

/** A command line, its exit code, and its expected output (stdout and stderr together). */
type Step = readonly [argv: string, exitCode: number, output: string | RegExp]

const STEPS: readonly Step[] = [
  ['devices list', 0, /^DEVICE +STATUS +LAST HEARTBEAT +PLATFORM +TRAINS\nd0 +active +0 s ago +unknown +yes\nd1 /],
  ['devices list -q 2', 0, /^DEVICE.*\nd2 .*\n$/],
  ['-v devices list -q 2', 0, /\nGET http:\S+\/fleet\/devices\S+ 200, \d+ bytes, \d+ ms\n$/],
  ['devices list --where device_id^=d --where device_id=d2', 0, /^DEVICE.*\nd2 .*\n$/],
  ['devices list --where memory_gb>=6', 0, 'Nothing matches.\n'],
  ['devices list -q nothing', 0, 'Nothing matches.\n'],
  ['devices list --limit 2 --sort device_id', 0, /\nd1 .*\n2 of 3; --limit all shows all\.\n$/],
  ['audit list --limit 2', 0, /\nThe first 2; there are more: --limit all shows all\.\n$/],
  ['devices show d1', 0, /Device id: +d1\n[\s\S]*Trains: +yes\n/],
  [
    'devices show dd1',
    1,
    "svc: Device 'dd1' does not exist, or this key has no access to it.\nList them with: svc devices list\n",
  ],
  [
    'devices summary',
    0,
    /^Total: +3\nActive: +3\n[\s\S]+\nDevices last heard in each minute:\nMINUTES AGO +DEVICES\n0 to 9 +3 0 0 /,
  ],
  [
    'devices heartbeats d1',
    0,
    /^Device id: +d1\n\nHeartbeats in each 15 minutes:\nFROM +HEARTBEATS\n2025-12-31 00:15 +0 0 0 0\n[\s\S]+\n2025-12-31 23:15 +0 0 0 \d\n$/,
  ],
  ['devices assignments d1', 0, 'No assignments.\n'],
  [
    'devices register cam-1 --platform linux --capability memory_gb=8',
    0,
    /Api key: +sk_live_\w{32}\n[\s\S]*not shown again/,
  ],
  ['groups list', 0, /^No groups/],
  ['groups create kitchen --tag a --tag b', 0, /^Created group kitchen \([0-9a-f-]{36}\)\.\nAdd devices with/],
  [
    'groups add kitchen d0 d1 nobody',
    0,
    'Added d0, d1.\nSkipped: nobody (already in the group, or not a device of its organization).\n',
  ],
  [
    'groups add kitchen d0 nobody',
    1,
    'svc: No device was added. Skipped: d0, nobody (already in the group, or not a device of its organization).\n',
  ],
  ['groups list', 0, /^NAME +DEVICES +TYPE +TAGS +CREATED +ID\nkitchen +2 {2}static +a, b +2026-01-01 00:00 +\S+\n$/],
  ['groups devices kitchen', 0, /^DEVICE.*\nd0 .*\nd1 .*\n$/],
  [
    'groups devices kichen',
    1,
    /^svc: Group 'kichen' does not exist, or this key has no access to it\. Did you mean 'kitchen'\?\n/,
  ],
  ['groups update kitchen --name hall', 0, new RegExp(`^Changed group hall \\(${ID}\\)\\.\n$`)],
  ['groups remove hall d1', 0, 'Removed d1.\n'],
  ['groups remove hall d1', 1, 'svc: No device was removed. Skipped: d1 (not in the group).\n'],
  ['groups show hall', 0, /Device count: +1\n/],
  ['groups update hall --where device_id^=d --where device_id!=d0', 0, /^Changed group hall/],
  ['groups devices hall', 0, /^DEVICE.*\nd1 .*\nd2 .*\n$/],
  ['groups show hall', 0, /Group type: +dynamic\n(.+\n)+Filter: +device_id\^=d, device_id!=d0\n/],
  ['groups add hall d0', 1, /^svc: Device group 'hall' is dynamic/],
  ['groups update hall --static', 0, /^Changed group hall/],
  ['groups update hall', 2, 'svc: Give --name, --description, --tag, --where, or --static.\n'],
  [
    'groups update hall --where memory=>6',
    2,
    /--where <condition>' argument 'memory=>6' is invalid. It must be a condition/,
  ],
  ['groups update hall --where memory>six', 1, /^svc: --where value must be a finite number for gt of capab/],
  [
    'groups create phones --where platform=android',
    0,
    /^Created group phones .+\n0 matching devices now; devices that match/,
  ],
  ['groups delete hall', 2, /^svc: Deleting the group hall \(its devices lose .+\) needs a confirmation/],
  ['rounds list', 0, /^No rounds/],
  ['rounds show', 1, 'svc: There are no rounds yet.\nTrain with: svc train start <model>\n'],
  [
    'rounds start --target-devices 2 --min-devices 1',
    0,
    /^Started round 1 \(\S+\)\. Devices: 2; updates: at least 1\.\n/,
  ],
  ['rounds show 1', 0, /Status: +active\n/],
  ['rounds participants', 0, /^DEVICE +STATE +CHOSEN/],
  ['rounds updates 1', 0, 'No updates.\n'],
  ['rounds selection d0 1', 0, /Selected: +(yes|no)\n/],
  ['rounds cancel --reason enough', 0, /^Canceled round 1 /],
  ['rounds list', 0, /failed .* enough/],
  ['rounds list --status failed', 0, /failed .* enough/],
  ['rounds list --status completed', 0, 'Nothing matches.\n'],
  [
    'rounds show 7',
    1,
    "svc: Round '7' does not exist, or this key has no access to it.\nList them with: svc rounds list\n",
  ],
  ['rollouts list', 0, /^No rollouts/],
  [
    'rollouts create m --version 1.0.0 --percentage 500 --step 0',
    1,
    'svc: --percentage must be an integer from 0 to 100, got 500; --step must be an integer from 1 to 100, got 0.\n',
  ],
  [
    'rounds start --target-devices 3 --min-devices 2 --option trim=2 --strategy fedtrimmedavg',
    1,
    'svc: --option trim must be a number of at least 0 and below 0.5. It is 2.\n',
  ],
  [
    'rounds start --target-devices 3 --min-devices 2 --privacy clip_norm=0',
    1,
    /^svc: --privacy noise_multiplier is required: .+; --privacy clip_norm must be .+, got 0\.\n$/,
  ],
  ['groups create g --tag ok --tag ', 1, /^svc: --tag must be one line of 1 to 100 characters/],
  ['rollouts create m --version zz --percentage 10', 1, /^svc: --version: Version 'zz' of model 'm' does not exist/],
  [
    'rollouts create m --version 1.0.0 --percentage 10 --no-start',
    0,
    /^Created the rollout of version 1\.0\.0: pending at 10%/,
  ],
  [
    'rollouts preview m --version 1.0.0 --percentage 50 --step 50',
    0,
    /AFTER MINUTES +AT +DEVICES\n +0 +50% +2\n +60 +100% +4\n$/,
  ],
  ['rollouts start m', 0, /^The rollout of version 1\.0\.0 is active at 10%/],
  ['rollouts pause m --reason lunch', 0, /^Paused .* paused at 10%/],
  ['rollouts list --status paused', 0, /^MODEL +VERSION +STATUS.*\nm +1\.0\.0 +paused +10% +100%/],
  ['rollouts list --model m', 0, /^MODEL.*\nm +1\.0\.0 +paused/],
  ['rollouts list --status active', 0, /^Nothing matches/],
  ['rollouts resume m', 0, /^Resumed .* active at 10%/],
  ['rollouts advance m', 0, /^Advanced .* active at 20%/],
  ['rollouts set-percentage .. 7', 1, "svc: model_id must be a name or an id, not '..'.\n"],
  ['rollouts set-percentage m 100', 0, /is \w+ at 100%/],
  ['rollouts history m', 0, /lunch/],
  ['rollouts devices m --limit all', 0, /^DEVICE +STATE/],
  ['rollouts show m', 0, /Model name: +m\n/],
  ['rollouts rollback m', 0, /^Rolled back .* rolled_back/],
  ['rollouts delete m --yes', 0, /^Deleted rollout /],
  ['rollouts show nothing', 1, /^svc: Rollout 'nothing' does not exist/],
  ['deploy m -v 2.0.0 --devices d0,d1 -s immediate', 0, /./],
  [
    'deployments list',
    0,
    /^MODEL +VERSION +STATUS +STRATEGY +AT +ACTIVE.*\nm +2\.0\.0 +started +immediate +100% +2\/2/,
  ],
  ['deployments show m', 0, /Model version: +2\.0\.0\n/],
  ['deployments devices m', 0, /^DEVICE +STATE/],
  ['deployments history m', 0, /^AT +EVENT/],
  ['deployments rollback m', 0, /^Rolled back the deployment of m 2\.0\.0/],
  ['experiments create ab --variant a=m@1.0.0:0.5 --variant b=m@2.0.0:0.5', 0, /^Created experiment ab/],
  ['experiments create ab --variant nonsense', 2, /^svc: 'nonsense' is not a variant\.\nIt must look like/],
  ['experiments start ab', 0, /^Started experiment \S+: running\.\n$/],
  ['experiments assignment ab --device d0', 0, /Variant: +[ab]\n/],
  [
    'experiments observe ab --device d0 --metric accuracy=0.9 --metric f1=.123456789 --metric bytes=1234567.5',
    0,
    'Accepted 1.\n',
  ],
  [
    'experiments results ab',
    0,
    /Significant: +no\n[\s\S]*Metric: +accuracy\n[\s\S]*\nMETRIC +VARIANT +DEVICES +OBSERVATIONS +MEAN +STD DEV\n[\s\S]*bytes +[ab] +1 +1 +1234568 .*\nf1 +[ab] +1 +1 +0\.123457 /,
  ],
  ['experiments results ab --metric f1', 0, /Metric: +f1\n/],
  ['experiments pause ab', 0, 'Paused the experiment ab: paused.\n'],
  ['experiments resume ab', 0, 'Resumed the experiment ab: running.\n'],
  ['experiments list', 0, /^NAME +STATUS +VARIANTS.*\nab +running +a, b/],
  ['experiments complete ab', 0, 'Completed the experiment ab: completed.\n'],
  ['policies list', 0, /^No policies/],
  ['policies set m --enable --canary 20 --min-reports 5', 0, /is set; enabled: yes\.\n$/],
  ['policies list', 0, /^MODEL +ENABLED +CANARY.*\nm +yes +20%/],
  ['policies show m', 0, /Min reports: +5\n/],
  ['policies decisions m', 0, 'No decisions yet.\n'],
  ['policies delete m --yes', 0, /^Deleted the policy/],
  [
    'integrations create --type webhook --name closed --endpoint http://127.0.0.1:1/',
    0,
    /Check it with: svc integrations test /,
  ],
  ['integrations test closed', 1, /^svc: The receiver did not accept the sample: .*connection refused/],
  ['team add ada@example.org', 0, /^Invited ada@example\.org as member/],
  [
    'team reset-factor ada@example.org --yes',
    1,
    'svc: ada@example.org has not accepted the invitation, so there is no second factor.\n',
  ],
]

it('an operator uses every resource by name', async () => {
  const { svc } = await startFleet(3)
  const wrong: unknown[] = []
  for (const [argv, exitCode, output] of STEPS) {
    const ran = await svc(...argv.split(' '))
    const text = ran.stdout + ran.stderr
    const fits = typeof output === 'string' ? text === output : output.test(text)
    if (ran.exitCode !== exitCode || !fits) wrong.push({ argv, ...ran })
  }
  expect(wrong).toEqual([])
})

it('a hint quotes a name for the shell', async () => {
  const { svc } = await startFleet(1)
  const variants = ['--variant', 'a=m@1.0.0:0.5', '--variant', 'b=m@2.0.0:0.5']
  const notes = [
    (await svc('groups', 'create', 'my group')).stderr,
    (await svc('groups', 'create', 'lab')).stderr,
    (await svc('experiments', 'create', '$(a b)', ...variants)).stderr,
  ]
  expect(notes).toEqual([
    "Add devices with: svc groups add 'my group' <devices...>\n",
    'Add devices with: svc groups add lab <devices...>\n',
    "Start it with: svc experiments start '$(a b)'\n",
  ])
})

it("as JSON, a list is one object with all its rows, and everything else is the service's response", async () => {
  const { svc, get } = await startFleet(3)
  const json = async (argv: string) => JSON.parse((await svc(...argv.split(' '), '--json')).stdout)
  expect(await json('devices list --limit 2')).toEqual({
    devices: ((await get('/fleet/devices')) as { devices: unknown[] }).devices.slice(0, 2),
    total: 3,
  })
  expect(await json('devices show d1')).toEqual(await get('/devices/d1'))
  expect(await json('rollouts list')).toEqual({ rollouts: [], total: 0 })
})

it('a name that integrations of several organizations have is refused, with their ids', async () => {
  const { world, key, svc } = await startFleet(1)
  const post = async (path: string, own: string, body: object) =>
    (await world.request('POST', `/api/v1${path}`, { key: own, body })).body as { id: string; api_key: string }
  const { api_key } = await post('/keys', key, { name: 'k', scopes: ['admin'], org_id: 'acme' })
  const ids: string[] = []
  for (const own of [key, api_key])
    ids.push((await post('/integrations', own, { type: 'webhook', endpoint: 'http://127.0.0.1:9' })).id)
  expect(await svc('integrations', 'delete', 'webhook', '--yes')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: There are several integrations 'webhook': ${ids.join(', ')} (of acme).\nUse its id instead.\n`,
  })
  expect(await svc('integrations', 'show', ids[1]!)).toMatchObject({ exitCode: 0 })
})

it('a receiver that refuses a sample without a reason is reported in a whole sentence', async () => {
  const { svc } = await startFleet(1)
  const server = createServer((_request, response) => void response.writeHead(500).end()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const create = ['integrations', 'create', '--type', 'webhook', '--endpoint', `http://127.0.0.1:${port}`]
  const { stderr } = await svc(...create, '--name', 'mute')
  expect(stderr).toContain('Save the secret now: it is not shown again.')
  expect(await svc('integrations', 'test', 'mute')).toMatchObject({
    exitCode: 1,
    stderr: 'svc: The receiver did not accept the sample (HTTP 500): its response is empty.\n',
  })
})
