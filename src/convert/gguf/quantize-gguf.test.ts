import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import { writeMixedGguf } from './mixed-gguf.fixture.ts'
import { type GgufMethod, quantizeGguf } from './quantize-gguf.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures')
const TINY = join(fixtures, 'models/tiny-chat-q8_0.gguf')
const expected = JSON.parse(readFileSync(join(fixtures, 'gguf/quantized.json'), 'utf8')) as Record<
  string,
  Record<string, string>
>
const folder = mkdtempSync(join(tmpdir(), 'quantize-gguf-'))
const MIXED = join(folder, 'mixed.gguf')
beforeAll(() => writeMixedGguf(MIXED))
afterAll(() => rmSync(folder, { recursive: true }))

const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

describe.each(['f16', 'q8_0', 'q4_0', 'q4_k_m'] as const)('%s', (kind) => {
  it.each([
    ['tiny-chat', TINY],
    ['mixed', MIXED],
  ])('is byte for byte the file that llama-quantize writes: %s', async (name, source) => {
    const target = join(folder, `${name}-${kind}.gguf`)
    const steps: number[] = []
    const options = { threads: 2, onProgress: (done: number, total: number) => steps.push(done / total) }
    const result = await quantizeGguf(source, target, kind, options)
    expect(result).toMatchObject({ kind, bytes: readFileSync(target).length })
    expect(hashOf(target)).toBe(expected[name]![kind])
    expect(steps.at(-1)).toBe(1)
  })
})

it('uses Q4_K_M for int4, or Q4_0 if rows are not a multiple of 256 long', async () => {
  const kindOf = async (source: string, method: GgufMethod) =>
    (await quantizeGguf(source, join(folder, 'kind.gguf'), method)).kind
  expect(await kindOf(TINY, 'int4')).toBe('q4_k_m')
  expect(await kindOf(MIXED, 'int4')).toBe('q4_0')
  expect(await kindOf(TINY, 'auto')).toBe('q4_k_m')
  expect(await kindOf(TINY, 'int8')).toBe('q8_0')
  expect(await kindOf(TINY, 'dynamic')).toBe('q8_0')
  expect(await kindOf(TINY, 'float16')).toBe('f16')
  const header = await readGgufHeader(join(folder, 'kind.gguf'))
  expect(header.metadata.get('general.file_type')?.value).toBe(1)
})

describe('refuses and writes nothing', () => {
  const refusal = async (source: string, method: GgufMethod = 'q4_k_m', signal?: AbortSignal): Promise<string> => {
    const target = join(folder, 'refused', 'target.gguf')
    const error = await quantizeGguf(source, target, method, signal && { signal }).then(
      () => new Error('It was written.'),
      (reason: Error) => reason,
    )
    expect(existsSync(join(folder, 'refused')) ? readdirSync(join(folder, 'refused')) : []).toEqual([])
    return error.message.replaceAll(folder, '')
  }

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1e30])('a weight of %s', async (value) => {
    const path = join(folder, 'bad.gguf')
    writeMixedGguf(path, (values) => values.fill(value, 77, 78))
    expect(await refusal(path)).toBe(
      "Tensor 'token_embd.weight' has a weight that is NaN, infinite, or too large for Q6_K. A model with such weights does not work: export it again.",
    )
  })

  it('weights that are already small', async () => {
    const path = join(folder, 'q4_0.gguf')
    await quantizeGguf(MIXED, path, 'q4_0')
    expect(await refusal(path)).toMatch(/^Tensor '\S+' of '\/q4_0.gguf' is Q4_0 already\. Quantize a file with F32/)
  })

  it('a missing file, a folder, another file, an adapter, and an unknown method', async () => {
    expect(await refusal(join(folder, 'none.gguf'))).toBe("The model file '/none.gguf' cannot be opened (ENOENT).")
    expect(await refusal(folder)).toBe("'' is not a file.")
    writeFileSync(join(folder, 'text.gguf'), 'This is a text.')
    expect(await refusal(join(folder, 'text.gguf'))).toMatch(/is not a GGUF file: it begins with 'This'/)
    expect(await refusal(join(fixtures, 'models/tiny-lora.gguf'))).toMatch(
      /is not a model but a vocabulary or an adapter/,
    )
    expect(await refusal(TINY, 'int3' as GgufMethod)).toMatch(
      /^There is no method 'int3' for GGUF files\. Use one of auto/,
    )
  })

  it('if canceled', async () => {
    expect(await refusal(TINY, 'q4_k_m', AbortSignal.abort(new Error('Enough.')))).toBe('Enough.')
  })

  it('to replace its source', async () => {
    await expect(quantizeGguf(TINY, TINY, 'q8_0')).rejects.toThrow('would replace its source')
  })
})
