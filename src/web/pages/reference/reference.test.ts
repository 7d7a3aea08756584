import { describe, expect, it } from 'vitest'
import openapi from '../../../../openapi.json' with { type: 'json' }
import { faultOfBody, fieldsIn, missingIn, pathOf } from './call.ts'
import { type ApiDocument, exampleOf, groupsOf, limitsOf, nameOf, operationsOf, search } from './document.ts'
import { LANGUAGES, pythonOf, sampleOf } from './samples.ts'

const document = openapi as unknown as ApiDocument
const operations = operationsOf(document)
const operation = (id: string) => operations.find((one) => one.id === id)!
const origin = 'http://127.0.0.1:8000'

describe('the API document in the reference', () => {
  it('has every operation in one group, each with its parameters and bodies', () => {
    const groups = groupsOf(document, operations)
    expect(groups.flatMap((group) => group.operations)).toHaveLength(operations.length)
    expect(groups.every(({ description }) => description !== '')).toBe(true)
    expect(operation('searchDevices').parameters.map(({ name }) => name)).toContain('q')
    expect(nameOf(operation('registerDevice').body!.schema)).not.toBeNull()
  })

  it('is searched by words of path, name, and summary', () => {
    expect(search(operations, 'register device').map(({ id }) => id)).toContain('registerDevice')
    expect(search(operations, 'POST devices/register').map(({ id }) => id)).toEqual(['registerDevice'])
    expect(search(operations, 'no such words')).toEqual([])
  })

  it('has an example for every body', () => {
    for (const { id, body } of operations)
      if (body?.type === 'application/json')
        expect([id, exampleOf(document, body.schema)]).toEqual([id, expect.anything()])
  })

  it('describes limits in words', () => {
    expect(limitsOf({ type: 'integer', minimum: 1, maximum: 9, default: 3 })).toEqual(['1 to 9', '3 by default'])
    expect(limitsOf({ type: 'string', maxLength: 5, format: 'uuid' })).toEqual(['uuid', 'at most 5 characters'])
  })
})

describe('a call', () => {
  it('fills in paths and queries, and reports missing parameters', () => {
    const inputs = { parameters: { model_id: 'a/b', version: '' }, body: '' }
    const download = operation('downloadVersion')
    expect(pathOf(download, inputs, true)).toBe('/api/v1/models/a%2Fb/versions/<version>/download')
    expect(missingIn(download, inputs)).toEqual(['version'])
    const steps = { parameters: { model_id: '..', version: '.' }, body: '' }
    expect(pathOf(download, steps, false)).toBe('/api/v1/models/{model_id}/versions/{version}/download')
    expect(missingIn(download, steps)).toEqual(['model_id', 'version'])
    const found = { parameters: { q: 'a b', limit: '5' }, body: '' }
    expect(pathOf(operation('searchDevices'), found, true)).toBe('/api/v1/fleet/devices?q=a+b&limit=5')
    const model = operation('createModel')
    expect(['{}', '{', ''].map((text) => faultOfBody(model, text) === null)).toEqual([true, false, false])
    const pause = operation('pauseRollout')
    expect(['', ' \n', '{', 'null'].map((text) => faultOfBody(pause, text) === null)).toEqual([true, true, false, true])
    const upload = operation('uploadVersion')
    expect(['', '{}', 'null'].map((text) => faultOfBody(upload, text))).toEqual([null, null, expect.any(String)])
  })

  it('has samples for curl, Python, and TypeScript', () => {
    const sample = {
      operation: operation('createModel'),
      inputs: { parameters: {}, body: `{"name":"it's","public":true}` },
      origin,
    }
    expect(sampleOf('curl', sample)).toBe(
      [
        `curl -X POST 'http://127.0.0.1:8000/api/v1/models' \\`,
        `  -H "authorization: Bearer $SERVICE_API_KEY" \\`,
        `  -H 'content-type: application/json' \\`,
        `  -d '{"name":"it'\\''s","public":true}'`,
      ].join('\n'),
    )
    const empty = { operation: operation('pauseRollout'), inputs: { parameters: {}, body: '' }, origin }
    for (const language of LANGUAGES) expect(sampleOf(language, empty)).not.toMatch(/body|json=|-d /)
    expect(sampleOf('Python', sample)).toContain(`json={\n        "name": "it's",\n        "public": True,\n    },`)
    expect(sampleOf('TypeScript', sample)).toContain(`api.POST('/api/v1/models', {\n  body: {\n    name: "it's",`)
  })

  it('sends the objects of a form as JSON', () => {
    const upload = operation('uploadVersion')
    const body = '{"version_label":"2.0.0","metadata":{"accuracy":0.91}}'
    expect(fieldsIn(JSON.parse(body))).toEqual([
      ['version_label', '2.0.0'],
      ['metadata', '{"accuracy":0.91}'],
    ])
    const sample = { operation: upload, inputs: { parameters: {}, body }, origin }
    expect(sampleOf('curl', sample)).toContain(`-F 'metadata={"accuracy":0.91}'`)
    expect(sampleOf('Python', sample)).toContain(String.raw`"metadata": "{\"accuracy\":0.91}"`)
  })

  it('in TypeScript reads the response as data, a file, or text, or only checks for success', () => {
    const scriptOf = (id: string) =>
      sampleOf('TypeScript', { operation: operation(id), inputs: { parameters: {}, body: '' }, origin })
    expect(scriptOf('getOwnKey')).toMatch(/\nconst answer = await unwrap\(api\.GET\('\/api\/v1\/keys\/self'\)\)$/)
    expect(scriptOf('removeMember')).toMatch(/\nawait unwrap\(api\.DELETE\(/)
    expect(scriptOf('downloadVersion')).toMatch(/\nconst answer = await unwrap\([\s\S]+ {2}parseAs: 'blob',\n\}\)\)$/)
    expect(scriptOf('exportAudit')).toContain("parseAs: 'text'")
    expect(scriptOf('getUploadOffset')).toMatch(
      /import \{ createClient \} [\s\S]+\nconst \{ response \} = await api\.HEAD\(/,
    )
  })

  it('has samples for every operation', () => {
    for (const one of operations) {
      const body = one.body === null ? '' : JSON.stringify(exampleOf(document, one.body.schema))
      for (const language of ['curl', 'Python', 'TypeScript'] as const)
        expect(sampleOf(language, { operation: one, inputs: { parameters: {}, body }, origin })).toContain('api/v1')
    }
  })
})

it('formats JSON as Python', () => {
  expect(pythonOf({ a: [true, null, 1.5, 'x'], b: {} })).toBe(
    '{\n    "a": [\n        True,\n        None,\n        1.5,\n        "x",\n    ],\n    "b": {},\n}',
  )
})
