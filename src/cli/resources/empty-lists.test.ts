import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it.each([
  ['devices list --sort last_seen --order desc', 'No devices. Invite one with: svc devices invite'],
  ['devices list --status active', 'Nothing matches.'],
  ['integrations list --kind all', 'No integrations. Create one with: '],
  ['integrations list --kind logs', 'Nothing matches.'],
  ['federation list --org acme', 'No federations. Create one with: svc federation create <name>'],
])('an empty %s prints %s', async (argv, said) => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const env = {
    SERVICE_HOME: await emptyFolder(),
    SERVICE_API_KEY: world.service.firstAdminKey!,
    SERVICE_API_BASE: world.baseUrl,
  }
  const ran = await runInProcess(argv.split(' '), { env, now: world.now })
  expect(ran).toEqual({ exitCode: 0, stdout: '', stderr: expect.stringMatching(`^${said}`) })
})
