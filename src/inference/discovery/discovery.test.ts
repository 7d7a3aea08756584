import { expect, it } from 'vitest'
import { announce, type ServiceAnnouncement } from './announce.ts'
import { type FoundServer, scan } from './scan.ts'

const quiet = (): void => undefined

const scanUntil = async (isEnough: (servers: readonly FoundServer[]) => boolean): Promise<readonly FoundServer[]> => {
  const enough = new AbortController()
  const seen: FoundServer[] = []
  const onFound = (server: FoundServer): void => {
    seen.push(server)
    if (isEnough(seen)) enough.abort()
  }
  return (await scan({ timeoutMs: 20_000, interface: '127.0.0.1', signal: enough.signal, onFound })).servers
}

const ours = (servers: readonly FoundServer[]) => servers.filter(({ version }) => version === 'discovery-test')

it('an announced server is found with its address, model, and engine until it stops', async () => {
  const started: ServiceAnnouncement[] = []
  for (const port of [18_081, 18_082]) {
    const model = port === 18_081 ? 'starter' : `${'ü'.repeat(150)}`
    started.push(announce({ host: '127.0.0.1', port, model, engine: 'llama.cpp', version: 'discovery-test' }, quiet))
  }
  try {
    const found = await scanUntil((servers) => ours(servers).length === 2)
    const byPort = ours(found).sort((one, other) => one.url.localeCompare(other.url))
    expect(byPort).toEqual([
      {
        name: expect.stringMatching(/^[^.]+-18081-[0-9a-f]{4}$/),
        url: 'http://127.0.0.1:18081',
        model: 'starter',
        engine: 'llama.cpp',
        version: 'discovery-test',
      },
      {
        name: expect.stringMatching(/^[^.]+-18082-[0-9a-f]{4}$/),
        url: 'http://127.0.0.1:18082',
        model: 'ü'.repeat(100),
        engine: 'llama.cpp',
        version: 'discovery-test',
      },
    ])
    await started.pop()!.stop()
    const later = await scanUntil((servers) => ours(servers).length === 1)
    expect(ours(later).map(({ url }) => url)).toEqual(['http://127.0.0.1:18081'])
  } finally {
    for (const announced of started) await announced.stop()
  }
})
