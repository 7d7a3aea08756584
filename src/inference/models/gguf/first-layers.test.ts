import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { writeFirstLayers } from './first-layers.ts'
import { type GgufHeader, readGgufHeader } from './header.ts'
import { makeGguf, tinyLlama } from './write-gguf.fixture.ts'

const models = join(import.meta.dirname, '../../../../test/fixtures/models')
const WHOLE = join(models, 'tiny-chat-q8_0.gguf')
const folder = mkdtempSync(join(tmpdir(), 'first-layers-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The whole content of a file, including the bytes of its weights, independent of their order. */
const contents = (header: GgufHeader) => {
  const file = readFileSync(header.path)
  return {
    metadata: Object.fromEntries(
      [...header.metadata.values()].map((entry) => [
        entry.key,
        [entry.type, entry.itemType, entry.length, file.subarray(entry.valueStart, entry.end).toString('hex')],
      ]),
    ),
    tensors: Object.fromEntries(
      header.tensors.map(({ name, shape, type, bytes, offset }) => {
        const from = header.dataStart + offset
        return [name, [shape, type, file.subarray(from, from + bytes).toString('hex')]]
      }),
    ),
  }
}

it('writes the same content as the script that created the fixture', async () => {
  const target = join(folder, 'first1.gguf')
  await writeFirstLayers(WHOLE, target, 1)
  const written = contents(await readGgufHeader(target))
  expect(written).toEqual(contents(await readGgufHeader(join(models, 'tiny-chat-first1-q8_0.gguf'))))
  expect(readdirSync(folder)).toEqual(['first1.gguf'])
})

it('reproduces the file if all blocks are kept', async () => {
  const target = join(folder, 'all.gguf')
  await writeFirstLayers(WHOLE, target, 4)
  expect(readFileSync(target).equals(readFileSync(WHOLE))).toBe(true)
})

it('truncates arrays with one value per block', async () => {
  const source = join(folder, 'arrays.gguf')
  const target = join(folder, 'arrays-1.gguf')
  writeFileSync(source, makeGguf(tinyLlama()))
  await writeFirstLayers(source, target, 1)
  const header = await readGgufHeader(target)
  expect(header.metadata.get('llama.feed_forward_length')).toMatchObject({ length: 1, value: [64] })
  expect(header.tensors.map(({ name }) => name)).not.toContain('blk.1.attn_q.weight')
})

it('refuses block counts that the model does not have, and leaves no file behind', async () => {
  for (const blocks of [0, 5, 1.5])
    await expect(writeFirstLayers(WHOLE, join(folder, 'none.gguf'), blocks)).rejects.toThrow('has 4 blocks')
  expect(readdirSync(folder).filter((name) => name.startsWith('none'))).toEqual([])
})
