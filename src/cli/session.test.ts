import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { createSession, type Session } from './session.ts'

const nowhere = { write: () => undefined }

const open = async (env: Record<string, string> = {}, home?: string): Promise<Session> =>
  createSession({
    stdout: nowhere,
    stderr: nowhere,
    cwd: '/',
    env: { SERVICE_HOME: home ?? join(await emptyFolder(), 'svc'), ...env },
  })

const config = (apiBase: string) => ({ orgId: 'acme', orgName: 'Acme', compliance: null, region: 'us', apiBase })

it('takes the address from the option, the environment, config.json, credentials.json, or the default, in this order', async () => {
  const env: Record<string, string> = {}
  const session = await open(env)
  const home = session.home.folder
  const again = () => open(env, home)
  expect(await session.apiBase(undefined)).toBe('http://127.0.0.1:8000')
  await session.home.saveCredentials({ apiKey: 'k', orgId: null, apiBase: 'http://credentials' })
  expect(await session.apiBase(undefined)).toBe('http://credentials')
  await session.home.saveConfig(config('http://config'))
  expect(await session.apiBase(undefined)).toBe('http://config')
  env.SERVICE_API_BASE = 'http://environment'
  expect(await (await again()).apiBase(undefined)).toBe('http://environment')
  expect(await (await again()).apiBase('http://option/')).toBe('http://option')
})

it('prefers the key from the environment over the stored one', async () => {
  const session = await open()
  const { home } = session
  expect(await session.apiKey('http://a')).toBeNull()
  await home.saveCredentials({ apiKey: 'kept', orgId: null, apiBase: 'http://a' })
  expect(await session.apiKey('http://a')).toEqual({ key: 'kept', source: home.credentialsPath })
  const other = await open({ SERVICE_API_KEY: 'given' }, home.folder)
  expect(await other.apiKey('http://a')).toEqual({ key: 'given', source: 'SERVICE_API_KEY' })
})

it.each([
  ['https://a.example.org', 'https://b.example.org'],
  ['https://a.example.org', 'http://a.example.org'],
  ['http://127.0.0.1:8000', 'http://127.0.0.1:9000'],
  ['http://127.0.0.1:8000', 'http://localhost:8000'],
])('never sends a key of %s to %s', async (one, other) => {
  const session = await open({ SERVICE_API_BASE: other })
  await session.home.saveCredentials({ apiKey: 'kept', orgId: null, apiBase: one })
  expect(await session.apiKey(other)).toBeNull()
  await expect(session.signedIn({})).rejects.toMatchObject({ message: expect.stringContaining(one) })
})

it('stores a key for every address, and uses the last one by default', async () => {
  const { home, apiBase, apiKey } = await open()
  const [a, b] = ['https://a.example.org', 'https://b.example.org/tributary']
  await home.saveCredentials({ apiKey: 'key-a', orgId: 'acme', apiBase: a })
  await home.saveCredentials({ apiKey: 'key-b', orgId: null, apiBase: b })
  expect(await home.signedInTo()).toEqual([b, a])
  expect([(await apiKey(a))?.key, (await apiKey(b))?.key, await apiBase(undefined)]).toEqual(['key-a', 'key-b', b])
  await home.saveCredentials({ apiKey: 'new-a', orgId: null, apiBase: a })
  expect(await home.signedInTo()).toEqual([a, b])
  expect(await home.credentials(a)).toEqual({ apiKey: 'new-a', orgId: null, apiBase: a })
  expect([await home.removeCredentials(a), await home.removeCredentials(a)]).toEqual([true, false])
  expect(await home.signedInTo()).toEqual([b])
})

it('a key stored without an address is for the default address', async () => {
  const session = await open()
  await mkdir(session.home.folder, { recursive: true })
  await writeFile(session.home.credentialsPath, '{"api_key":"old","org_id":null}')
  expect((await session.apiKey('http://127.0.0.1:8000'))?.key).toBe('old')
  expect(await session.apiKey('https://elsewhere.example')).toBeNull()
})

it.each(['sk_live_a\nb', 'a b', 'schlüssel', 'a\tb', 'a…'])(
  'refuses SERVICE_API_KEY=%j without showing it',
  async (key) => {
    const session = await open({ SERVICE_API_KEY: key })
    const failure = await session.apiKey('http://a').catch((error: Error) => error)
    expect(failure).toMatchObject({
      message:
        'The key in SERVICE_API_KEY contains characters that are not allowed in a key, such as a line break or a space.',
    })
    expect(String(failure)).not.toContain(key)
  },
)

it('never sends a stored key to another service', async () => {
  const session = await open()
  await session.home.saveCredentials({ apiKey: 'kept', orgId: null, apiBase: 'https://a.example.org' })
  expect(await session.apiKey('https://b.example.org')).toBeNull()
  await expect(session.signedIn({ apiBase: 'https://b.example.org' })).rejects.toMatchObject({
    message:
      'This needs an API key for https://b.example.org, and you are not signed in there, but to https://a.example.org.',
    advice: 'Sign in with: svc login --api-base https://b.example.org. Or set SERVICE_API_KEY.',
  })
})

it('makes its files readable by the owner only, even if a file was open to others before', async () => {
  const { home } = await open()
  await home.saveConfig(config('http://a'))
  await home.saveCredentials({ apiKey: 'k', orgId: 'acme', apiBase: 'http://a' })
  await chmod(home.credentialsPath, 0o644)
  await home.saveCredentials({ apiKey: 'k', orgId: 'acme', apiBase: 'http://a' })
  const modes = [home.folder, home.configPath, home.credentialsPath].map(
    async (path) => (await stat(path)).mode & 0o777,
  )
  expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600])
  expect(await home.config()).toEqual(config('http://a'))
  expect(await home.credentials('http://a')).toEqual({ apiKey: 'k', orgId: 'acme', apiBase: 'http://a' })
})

it.each([
  ['not JSON', 'it does not contain a JSON object.'],
  ['[]', 'it does not contain a JSON object.'],
  ['{"org_id":null}', 'api_key is missing.'],
  ['{"api_key":7}', 'api_key is not a string.'],
])('reports a damaged credentials.json: %s', async (text, why) => {
  const folder = await emptyFolder()
  const { home } = await open({}, folder)
  await writeFile(home.credentialsPath, text)
  await expect(home.credentials('http://a')).rejects.toMatchObject({
    message: `${home.credentialsPath} is damaged: ${why}`,
    advice: 'Sign in again, which replaces it: svc login --api-base <address of the service>',
  })
})

it('reports an address in credentials.json or config.json that is not one, with what repairs the file', async () => {
  const { home } = await open()
  await home.saveCredentials({ apiKey: 'k', orgId: null, apiBase: 'nowhere' })
  await home.saveConfig(config('nowhere'))
  await expect(home.signedInTo()).rejects.toMatchObject({
    message: `api_base in ${home.credentialsPath} is not the address of a service: 'nowhere'.`,
    advice: 'Sign in again, which replaces it: svc login --api-base <address of the service>',
    exitCode: 1,
  })
  await expect(home.config()).rejects.toMatchObject({ advice: 'Fix it, or delete it and run: svc init <org_name>' })
})

it('keeps the keys of logins at the same time', async () => {
  const folder = join(await emptyFolder(), 'svc')
  const bases = Array.from({ length: 6 }, (_, index) => `http://service-${index}`)
  await Promise.all(
    bases.map(async (apiBase) => (await open({}, folder)).home.saveCredentials({ apiKey: 'k', orgId: null, apiBase })),
  )
  const { home } = await open({}, folder)
  expect([...(await home.signedInTo())].sort()).toEqual(bases)
  expect(await readdir(folder)).toEqual(['credentials.json'])
})
