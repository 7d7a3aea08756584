import { expect, it } from 'vitest'
import { safeFileName } from '../../platform/transfer/remote-file.ts'
import { isModelSource, parseModelSource, plainNameOf } from './model-source.ts'

it('a name contains the repository, the revision, and the file', () => {
  expect(
    ['hf:org/tiny', 'HF:org/tiny@v1.0:sub/m.gguf', 'hf:gpt2:Q4_K_M', 'hf:org/tiny@refs/pr/1'].map(parseModelSource),
  ).toEqual([
    { kind: 'hf', repo: 'org/tiny', revision: 'main', file: null },
    { kind: 'hf', repo: 'org/tiny', revision: 'v1.0', file: 'sub/m.gguf' },
    { kind: 'hf', repo: 'gpt2', revision: 'main', file: 'Q4_K_M' },
    { kind: 'hf', repo: 'org/tiny', revision: 'refs/pr/1', file: null },
  ])
  expect(['ollama:tiny', 'ollama:me/tiny:8b-q4_0'].map(parseModelSource)).toEqual([
    { kind: 'ollama', namespace: 'library', name: 'tiny', tag: 'latest' },
    { kind: 'ollama', namespace: 'me', name: 'tiny', tag: '8b-q4_0' },
  ])
  expect(['hf:org/tiny:a.gguf', 'ollama:me/tiny:1b'].map(parseModelSource).map(plainNameOf)).toEqual(['tiny', 'tiny'])
})

it('an invalid name is refused, especially one with path traversal', () => {
  const wrong = [
    'hf:',
    'hf:../tiny',
    'hf:a/b/c',
    'hf:org/..',
    'hf:org/tiny:../../etc/passwd',
    'hf:org/tiny@../x',
    'ollama:',
    'ollama:a/b/c',
    'ollama:a:b:c',
    'ollama:..',
    's3:x',
  ]
  for (const text of wrong) expect(() => parseModelSource(text), text).toThrow(`'${text}' is not the name of a model.`)
  expect(['hf:x', 'ollama:x', 'hfx', './hf:x'].map(isModelSource)).toEqual([true, true, false, false])
})

it('a name from elsewhere becomes a file name and never a path', () => {
  expect(
    [
      'a/b.gguf',
      '../../.ssh/id',
      '..',
      'C:\\x\\y.pt',
      'a b\u001b[2J.pt',
      '',
      'con.gguf',
      '.hidden',
      'x'.repeat(300),
    ].map(safeFileName),
  ).toEqual(['b.gguf', 'id', '_', 'y.pt', 'a_b__2J.pt', '_', '_con.gguf', '_hidden', 'x'.repeat(150)])
})
