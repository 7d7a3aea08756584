import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { fetchModelFile, findModelFile } from './fetch-model.ts'
import { type Hub, someBytes, startHub } from './loopback-hub.fixture.ts'
import { parseModelSource } from './model-source.ts'

const weights = someBytes(300_000)
const never = new AbortController().signal
const noWait = async () => undefined

const find = (hub: Hub, text: string, env: Record<string, string> = {}) =>
  findModelFile(parseModelSource(text), { HF_ENDPOINT: hub.endpoint, ...env }, never)

const fetchIt = async (hub: Hub, text: string, options: object = {}, folder?: string) => {
  const into = folder ?? (await emptyFolder())
  const path = await fetchModelFile(await find(hub, text), into, { signal: never, wait: noWait, ...options })
  return { path, names: await readdir(into), bytes: await readFile(path) }
}

const bodies = (hub: Hub) =>
  hub.seen.flatMap(({ host, method, range, ifRange }) => (method === 'GET' && host === 'cdn' ? [[range, ifRange]] : []))

it('a large file comes from the other host, which never sees the key, and is pinned to the commit', async () => {
  const hub = await startHub({
    'README.md': { bytes: Buffer.from('hello'), large: false },
    'config.json': { bytes: Buffer.from('{}'), large: false },
    'sub/tiny-Q4_0.gguf': { bytes: weights, large: true },
  })
  const { path, names, bytes } = await fetchIt(hub, 'hf:org/tiny', {}, undefined)
  expect({ name: path.split('/').at(-1), names, same: bytes.equals(weights) }).toEqual({
    name: 'tiny-Q4_0.gguf',
    names: ['tiny-Q4_0.gguf'],
    same: true,
  })
  hub.seen.length = 0
  const found = await find(hub, 'hf:org/tiny', { HF_TOKEN: 'hf_secret' })
  await fetchModelFile(found, await emptyFolder(), { signal: never })
  expect(
    hub.seen.map(({ host, method, url, authorization }) => [host, method, url.split('?')[0], authorization]),
  ).toEqual([
    ['hub', 'GET', '/api/models/org/tiny/tree/main', 'Bearer hf_secret'],
    ['hub', 'GET', '/api/models/org/tiny/tree/main', 'Bearer hf_secret'],
    ['hub', 'HEAD', '/org/tiny/resolve/main/sub/tiny-Q4_0.gguf', 'Bearer hf_secret'],
    ['hub', 'GET', `/org/tiny/resolve/${'c'.repeat(40)}/sub/tiny-Q4_0.gguf`, 'Bearer hf_secret'],
    ['cdn', 'GET', expect.stringMatching(/^\/[0-9a-f]{64}$/), undefined],
  ])
})

it('a small file comes from the hub itself, and is verified by its git blob hash', async () => {
  const hub = await startHub({ 'model.onnx': { bytes: someBytes(5000), large: false } })
  hub.cuts.push(undefined, 2000)
  const { bytes } = await fetchIt(hub, 'hf:org/tiny')
  expect(bytes.equals(someBytes(5000))).toBe(true)
  expect(hub.seen.filter(({ method }) => method === 'GET').at(-1)).toMatchObject({
    range: expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ifRange: expect.stringMatching(/^"[0-9a-f]{40}"$/),
  })
})

it('a broken connection is resumed where it stopped, in this run and in the next', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  hub.cuts.push(100_000, 50_000)
  const { bytes } = await fetchIt(hub, 'hf:org/tiny')
  expect(bytes.equals(weights)).toBe(true)
  // Bytes that were sent but not read before the connection broke are sent again.
  const [first, ...later] = bodies(hub)
  expect(first).toEqual([undefined, undefined])
  const [second, third] = later.map(([range]) => Number(/^bytes=(\d+)-$/.exec(range!)![1]))
  expect([second! > 0 && second! <= 100_000, third! > second! && third! <= second! + 50_000, later.length]).toEqual([
    true,
    true,
    2,
  ])

  const folder = await emptyFolder()
  hub.cuts.push(120_000)
  await expect(fetchIt(hub, 'hf:org/tiny', { tries: 1 }, folder)).rejects.toThrow(
    /^hf:org\/tiny:tiny\.gguf cannot be downloaded: the connection broke \(.+\)\.$/,
  )
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.tiny\.gguf\.[0-9a-f]{16}\.part$/)])
  const { names } = await fetchIt(hub, 'hf:org/tiny', { tries: 1 }, folder)
  expect([names, bodies(hub).at(-1)]).toEqual([['tiny.gguf'], [expect.stringMatching(/^bytes=[1-9]\d*-$/), undefined]])
})

it('a file that changed between two runs is downloaded again, and parts of two files are never combined', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  const folder = await emptyFolder()
  hub.cuts.push(120_000)
  await expect(fetchIt(hub, 'hf:org/tiny', { tries: 1 }, folder)).rejects.toThrow('cannot be downloaded')
  const other = someBytes(300_000, 7)
  hub.files.get('tiny.gguf')!.bytes = other
  hub.commit = 'd'.repeat(40)
  const { bytes } = await fetchIt(hub, 'hf:org/tiny', {}, folder)
  expect([bytes.equals(other), bodies(hub).at(-1)]).toEqual([true, [undefined, undefined]])
})

it('a file with a tag that changes between two tries fails, and nothing of it is kept', async () => {
  for (const large of [true, false]) {
    const hub = await startHub({ 'tiny.gguf': { bytes: weights, large } })
    const folder = await emptyFolder()
    const found = await find(hub, 'hf:org/tiny')
    hub.cuts.push(1000)
    const wait = async () => void (hub.files.get('tiny.gguf')!.bytes = someBytes(300_000, 9))
    await expect(fetchModelFile(found, folder, { signal: never, wait })).rejects.toThrow(
      'hf:org/tiny:tiny.gguf has changed while it was being downloaded.',
    )
    expect(await readdir(folder)).toEqual([])
  }
})

it('bytes with another hash than announced are refused, and nothing of them is kept', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  const folder = await emptyFolder()
  const found = await find(hub, 'hf:org/tiny')
  const digest = { algorithm: 'sha256' as const, hex: '0'.repeat(64) }
  await expect(fetchModelFile({ ...found, digest }, folder, { signal: never, wait: noWait })).rejects.toThrow(
    /^hf:org\/tiny:tiny\.gguf has the sha256 [0-9a-f]{64} instead of 0{64}\.$/,
  )
  expect(await readdir(folder)).toEqual([])
})

it('more bytes than announced, or than allowed, are refused', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  const found = await find(hub, 'hf:org/tiny')
  const options = { signal: never, wait: noWait }
  await expect(fetchModelFile({ ...found, size: 1000 }, await emptyFolder(), options)).rejects.toThrow(
    'More bytes arrived than the expected 1000.',
  )
  await expect(fetchModelFile(found, await emptyFolder(), { ...options, maxBytes: 9 })).rejects.toThrow(
    'hf:org/tiny:tiny.gguf has 300000 bytes; the limit is 9.',
  )
})

it('a stalled connection is retried, and finally reported', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: false } })
  const found = await find(hub, 'hf:org/tiny')
  hub.instead = (_request, response) => response.writeHead(200, { 'content-length': 300_000 }).write('GG')
  await expect(
    fetchModelFile(found, await emptyFolder(), { signal: never, wait: noWait, tries: 2, stallMs: 50 }),
  ).rejects.toThrow('the connection broke (nothing arrived for 0.05 s)')
})

it('refusals are explained: gated, private, unknown, a wrong key, and a server that is not a hub', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  const refused = async (status: number, code: string | null, env: Record<string, string> = {}) => {
    hub.instead = (_request, response) => {
      response.writeHead(status, code === null ? {} : { 'x-error-code': code }).end('[}')
      return true
    }
    return find(hub, 'hf:org/tiny@v9', env).catch((error: { message: string; advice: string }) => [
      error.message,
      error.advice,
    ])
  }
  const { host } = new URL(hub.endpoint)
  const key = { HF_TOKEN: 'hf_x' }
  expect([
    await refused(401, 'GatedRepo'),
    await refused(403, 'GatedRepo', key),
    await refused(401, 'RepoNotFound'),
    await refused(401, null, key),
    await refused(404, 'RepoNotFound'),
    await refused(404, 'RevisionNotFound'),
    await refused(200, null),
  ]).toEqual([
    [
      'org/tiny is gated: its owners decide who may download it.',
      `Ask for access at ${hub.endpoint}/org/tiny, then set HF_TOKEN to your token.`,
    ],
    [
      'org/tiny is gated: its owners decide who may download it.',
      `Ask for access at ${hub.endpoint}/org/tiny, with the account that HF_TOKEN belongs to.`,
    ],
    [
      `org/tiny does not exist at ${host}, or is not public.`,
      'Check its name. If it is private or gated, set HF_TOKEN to a token that may read it.',
    ],
    [`${host} does not let the token in HF_TOKEN read org/tiny.`, 'Check the name of the model and the token.'],
    [`${host} has no model org/tiny.`, `See ${hub.endpoint}/org/tiny`],
    ["org/tiny has no revision 'v9'.", `See ${hub.endpoint}/org/tiny`],
    [`The server at ${hub.endpoint}/ is not a Hugging Face hub.`, undefined],
  ])
})

it('a busy hub is retried after the time it requests, and finally reported', async () => {
  const hub = await startHub({ 'tiny.gguf': { bytes: weights, large: true } })
  const busy = [429, 503]
  hub.instead = (_request, response) => {
    const status = busy.shift()
    if (status !== undefined) response.writeHead(status, { 'retry-after': '0' }).end()
    return status !== undefined
  }
  const found = await find(hub, 'hf:org/tiny')
  busy.push(503, 429)
  const waits: number[] = []
  const wait = async (ms: number) => void waits.push(ms)
  const path = await fetchModelFile(found, await emptyFolder(), { signal: never, wait })
  expect([(await readFile(path)).equals(weights), waits]).toEqual([true, [0, 0]])
  busy.push(500, 500, 500)
  await expect(find(hub, 'hf:org/tiny')).rejects.toThrow(
    `Hugging Face cannot be reached: ${new URL(hub.endpoint).host} returned 500.`,
  )
})

it('redirects in circles or to addresses that are not on the web are not followed', async () => {
  const hub = await startHub({})
  const redirecting = (location: string) => {
    hub.instead = (_request, response) => {
      response.writeHead(307, { location }).end()
      return true
    }
    return find(hub, 'hf:org/tiny')
  }
  await expect(redirecting('/round')).rejects.toThrow('redirects more than 5 times.')
  await expect(redirecting('file:///etc/passwd')).rejects.toThrow('redirects to something that is not a web address.')
  for (const login of ['user:pw', ':pw'])
    await expect(redirecting(`http://${login}@127.0.0.1/`)).rejects.toThrow(
      'redirects to something that is not a web address.',
    )
})

it('HF_ENDPOINT must be an address', async () => {
  await expect(findModelFile(parseModelSource('hf:a/b'), { HF_ENDPOINT: 'nowhere' }, never)).rejects.toThrow(
    "HF_ENDPOINT is not a web address: 'nowhere'.",
  )
  const hub = (HF_ENDPOINT: string) => findModelFile(parseModelSource('hf:a/b'), { HF_ENDPOINT }, never)
  await expect(hub('http://user:secret@a')).rejects.toThrow('HF_ENDPOINT contains a user name or password.')
  await expect(hub('ftp://user:se/cret@a')).rejects.toThrow("HF_ENDPOINT is not a web address: 'ftp://a'.")
})
