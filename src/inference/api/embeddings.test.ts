import { expect, test } from 'vitest'
import { InferenceError } from '../errors.ts'
import { presentEmbeddings, readEmbeddingsRequest } from './embeddings.routes.ts'

const fault = (body: unknown): unknown => {
  try {
    return readEmbeddingsRequest(body)
  } catch (error) {
    if (error instanceof InferenceError) return [error.code, error.param]
    throw error
  }
}

test('an embeddings request names a model and one or more texts', () => {
  expect(fault({ model: 'm', input: 'a', user: 'x', dimensions: null })).toEqual({ model: 'm', input: 'a', user: 'x' })
  expect(fault({ model: 'm', input: ['a', 'b'], encoding_format: 'base64' })).toEqual({
    model: 'm',
    input: ['a', 'b'],
    encoding_format: 'base64',
  })
})

test.each([
  [{ model: 'm', input: [1, 2] }, 'unsupported', 'input'],
  [{ model: 'm', input: [[1, 2]] }, 'unsupported', 'input'],
  [{ model: 'm', input: 'a', dimensions: 0 }, 'invalid_request', 'dimensions'],
  [{ model: 'm', input: '' }, 'invalid_request', 'input'],
  [{ model: 'm', input: [] }, 'invalid_request', 'input'],
  [{ model: 'm' }, 'invalid_request', 'input'],
  [{ input: 'a' }, 'invalid_request', 'model'],
  [{ model: 'm', input: 'a', encoding_format: 'int8' }, 'invalid_request', 'encoding_format'],
  [{ model: 'm', input: 'a', pooling: 'cls' }, 'invalid_request', 'pooling'],
  [{ model: 'm', input: ['a', 1] }, 'invalid_request', 'input[1]'],
  [{ model: 'm', input: [''] }, 'invalid_request', 'input[0]'],
  [{ model: 'm', input: ['a', null] }, 'invalid_request', 'input[1]'],
  [{ model: 'm', input: Array(2049).fill('') }, 'invalid_request', 'input'],
  [undefined, 'invalid_request', null],
])('%j is refused, and the error names the field', (body, code, param) => {
  expect(fault(body)).toEqual([code, param])
})

test('an error about an input item that is not a string names the item and shows its value', () => {
  const reading = (input: readonly unknown[]) => () => readEmbeddingsRequest({ model: 'm', input })
  expect(reading(['a', 1])).toThrow('input[1] must be a non-empty string, got 1.')
  expect(reading([''])).toThrow('input[0] must be a non-empty string, got "".')
})

test('embeddings are returned as numbers or as base64 of little-endian float32', () => {
  const embeddings = { vectors: [Float32Array.of(0.5, -1), Float32Array.of(0, 1)], tokens: 7 }
  const list = (data: readonly unknown[]) => ({
    object: 'list',
    data: data.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'm',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  })
  expect(presentEmbeddings(embeddings, 'm', 'float')).toEqual(
    list([
      [0.5, -1],
      [0, 1],
    ]),
  )
  expect(presentEmbeddings(embeddings, 'm', 'base64')).toEqual(list(['AAAAPwAAgL8=', 'AAAAAAAAgD8=']))
})
