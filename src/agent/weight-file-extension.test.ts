import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { extensionByContent } from './weight-file-extension.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../../test/fixtures/weights/${name}`, import.meta.url))

test.each([
  ['net_a.pt', '.pt'],
  ['net_legacy.pt', '.pt'],
  ['net_a.safetensors', '.safetensors'],
  ['net_a.npz', '.npz'],
  ['evil.pkl', '.pkl'],
])('%s ends in %s', (name, ending) => {
  expect(extensionByContent(fixture(name))).toBe(ending)
})

test('the extension of unknown content is .bin', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ending-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'x.pt'), new Float32Array([1, 2]))
  expect(extensionByContent(join(folder, 'x.pt'))).toBe('.bin')
})
