import { expect, test } from 'vitest'
import { multipart } from './multipart.ts'

test('a form contains its fields and then its files, whatever their names and bytes', async () => {
  const content = new Blob([Uint8Array.from({ length: 256 }, (_, byte) => byte), '\r\n--form-'])
  const form = multipart({ num_samples: '3', metrics: '{"a\\"":"ä\r\n"}' }, [
    { field: 'control', fileName: 'control', content: new Blob([]) },
    { field: 'file', fileName: 'a "b"\n.bin', content },
  ])
  const read = await new Response(form, { headers: { 'content-type': form.type } }).formData()
  expect([...read.keys()]).toEqual(['num_samples', 'metrics', 'control', 'file'])
  expect(read.get('num_samples')).toBe('3')
  expect(read.get('metrics')).toBe('{"a\\"":"ä\r\n"}')
  const file = read.get('file') as File
  expect(file.name).toBe('a "b"\n.bin')
  expect(new Uint8Array(await file.arrayBuffer())).toEqual(new Uint8Array(await content.arrayBuffer()))
  expect((read.get('control') as File).size).toBe(0)
})
