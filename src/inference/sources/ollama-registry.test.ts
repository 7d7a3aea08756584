import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { fetchModelFile, findModelFile } from './fetch-model.ts'
import { type Registry, sha256Of, someBytes, startRegistry } from './loopback-hub.fixture.ts'
import { parseModelSource } from './model-source.ts'

const weights = someBytes(200_000, 3)
const never = new AbortController().signal

const find = ({ address }: Registry, text = 'ollama:tiny') =>
  findModelFile(parseModelSource(text), { OLLAMA_REGISTRY: address }, never)

it('the weights are the layer of that media type, fetched by digest and resumed after a cut', async () => {
  const registry = await startRegistry(weights)
  const folder = await emptyFolder()
  registry.cuts.push(60_000)
  const path = await fetchModelFile(await find(registry), folder, { signal: never, wait: async () => undefined })
  expect([await readdir(folder), (await readFile(path)).equals(weights)]).toEqual([['tiny-latest.gguf'], true])
  const rest = expect.stringMatching(/^bytes=[1-9]\d*-$/)
  const blob = `/v2/library/tiny/blobs/sha256:${sha256Of(weights)}`
  expect(registry.seen.map(({ host, url, range }) => [host, url, range])).toEqual([
    ['hub', '/v2/library/tiny/manifests/latest', undefined],
    ['hub', blob, undefined],
    ['cdn', '/data', undefined],
    ['hub', blob, rest],
    ['cdn', '/data', rest],
  ])
})

it('if the registry requires a token, one is requested and sent only to the registry', async () => {
  const registry = await startRegistry(weights, { wantsToken: true })
  const path = await fetchModelFile(await find(registry), await emptyFolder(), { signal: never })
  expect((await readFile(path)).equals(weights)).toBe(true)
  expect(registry.seen.map(({ host, url, authorization }) => [host, url.split('/').at(-1), authorization])).toEqual([
    ['hub', 'latest', undefined],
    ['auth', 'token?service=registry&scope=repository%3Alibrary%2Ftiny%3Apull', undefined],
    ['hub', 'latest', 'Bearer sesame'],
    ['hub', `sha256:${sha256Of(weights)}`, 'Bearer sesame'],
    ['cdn', 'data', undefined],
  ])
})

it('bytes that do not match the digest are refused and not kept', async () => {
  const registry = await startRegistry(weights)
  registry.spoilt = someBytes(200_000, 4)
  const folder = await emptyFolder()
  await expect(
    fetchModelFile(await find(registry), folder, { signal: never, wait: async () => undefined }),
  ).rejects.toThrow(`has the sha256 ${sha256Of(registry.spoilt)} instead of ${sha256Of(weights)}.`)
  expect(await readdir(folder)).toEqual([])
})

it('an unknown model and one without a single weight file are reported, and omitted parts are noted', async () => {
  const registry = await startRegistry(weights, { mediaTypes: ['model', 'projector', 'params'] })
  expect((await find(registry)).notes).toEqual(['Only the weights are used, not the projector.'])
  await expect(find(registry, 'ollama:other:7b')).rejects.toThrow('has no model ollama:other:7b.')
  await expect(find(await startRegistry(weights, { mediaTypes: ['adapter'] }))).rejects.toThrow(
    'ollama:tiny:latest has its weights in 0 files; only one file is supported.',
  )
})
