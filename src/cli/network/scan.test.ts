import { expect, it } from 'vitest'
import { announce } from '../../inference/discovery/announce.ts'
import { runInProcess } from '../in-process.fixture.ts'

const scan = (...argv: string[]) => runInProcess(['scan', '--timeout', '1', '--interface', '127.0.0.1', ...argv])

it('scan lists servers that announce themselves', async () => {
  const server = { host: '127.0.0.1', port: 18_091, model: 'starter', engine: 'llama.cpp', version: 'scan-test' }
  const announced = announce(server, () => undefined)
  try {
    const { stdout, ...rest } = await scan()
    expect(rest).toEqual({ exitCode: 0, stderr: '' })
    const [head, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(head).toEqual(['NAME', 'ADDRESS', 'MODEL', 'ENGINE', 'VERSION'])
    const name = expect.stringMatching(/-18091-[0-9a-f]{4}$/)
    expect(rows.filter((row) => row[4] === 'scan-test')).toEqual([
      [name, 'http://127.0.0.1:18091/v1', 'starter', 'llama.cpp', 'scan-test'],
    ])
    const { servers } = JSON.parse((await scan('--json')).stdout)
    expect(servers.filter(({ version }: { version: string }) => version === 'scan-test')).toEqual([
      { name, url: 'http://127.0.0.1:18091', model: 'starter', engine: 'llama.cpp', version: 'scan-test' },
    ])
  } finally {
    await announced.stop()
  }
})

it('scan accepts only addresses of this machine', async () => {
  const { exitCode, stderr } = await runInProcess(['scan', '--interface', '192.0.2.1'])
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringMatching(/argument '192\.0\.2\.1' is invalid\. It must be an address of this machine: .*127\.0\.0\.1/),
  ])
})

it('scan accepts timeouts from a tenth of a second', async () => {
  const { exitCode, stderr } = await runInProcess(['scan', '--timeout', 'soon'])
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining("option '--timeout <seconds>' argument 'soon' is invalid."),
  })
})
