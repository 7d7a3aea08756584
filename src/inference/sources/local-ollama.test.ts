import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { findInLocalOllama } from './local-ollama.ts'
import { sha256Of, someBytes } from './loopback-hub.fixture.ts'

const source = { kind: 'ollama', namespace: 'library', name: 'tiny', tag: '1b' } as const
const weights = someBytes(1000)

const pulled = async (layers: unknown, blob: Uint8Array = weights) => {
  const OLLAMA_MODELS = await emptyFolder()
  const manifests = join(OLLAMA_MODELS, 'manifests', 'registry.ollama.ai', 'library', 'tiny')
  await mkdir(manifests, { recursive: true })
  await mkdir(join(OLLAMA_MODELS, 'blobs'))
  await writeFile(join(manifests, '1b'), JSON.stringify({ schemaVersion: 2, layers }))
  await writeFile(join(OLLAMA_MODELS, 'blobs', `sha256-${sha256Of(weights)}`), blob)
  return { OLLAMA_MODELS }
}

const layer = { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${sha256Of(weights)}` }
const template = { mediaType: 'application/vnd.ollama.image.template', digest: `sha256:${sha256Of(Buffer.from('t'))}` }

it('a model that Ollama has pulled is found by its manifest and its digest', async () => {
  const env = await pulled([template, layer])
  const path = join(env.OLLAMA_MODELS, 'blobs', `sha256-${sha256Of(weights)}`)
  expect(await findInLocalOllama(source, env)).toEqual({ path, notes: [] })
  expect(await findInLocalOllama({ ...source, tag: '7b' }, env)).toBeNull()
})

it('a model that is incomplete, damaged, or not in one file is not used', async () => {
  const climbing = { ...layer, digest: 'sha256:../../../etc/passwd' }
  expect([
    await findInLocalOllama(source, await pulled([layer], weights.subarray(1))),
    await findInLocalOllama(source, await pulled([layer, layer])),
    await findInLocalOllama(source, await pulled([climbing])),
    await findInLocalOllama(source, await pulled([template])),
    await findInLocalOllama(source, await pulled('nothing')),
    await findInLocalOllama(source, await pulled([null])),
  ]).toEqual([null, null, null, null, null, null])
})

it('layers that are not used are noted', async () => {
  const other = (kind: string) => ({ ...template, mediaType: `application/vnd.ollama.image.${kind}` })
  const env = await pulled([layer, other('adapter'), other('system'), other('params')])
  const notes = ['Only the weights are used, not the adapter and the system message.']
  expect(await findInLocalOllama(source, env)).toMatchObject({ notes })
})
