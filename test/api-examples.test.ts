import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { readPaths } from './api-document.ts'

interface Body {
  readonly schema: { readonly description?: string; readonly examples?: readonly unknown[] }
}
type Content = Readonly<Record<string, Body>>
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

const OPERATIONS = Object.values(readPaths<Operation>()).flatMap((methods) => Object.values(methods))
const JSON_TYPES = ['application/json', 'multipart/form-data']

/** The JSON and form bodies of every operation. */
const BODIES = OPERATIONS.flatMap(({ operationId, requestBody, responses }) =>
  [['request', requestBody] as const, ...Object.entries(responses).filter(([status]) => status < '4')].flatMap(
    ([kind, body]) =>
      Object.entries(body?.content ?? {})
        .filter(([type]) => JSON_TYPES.includes(type))
        .map(([, { schema }]) => [`${operationId} ${kind}`, schema] as const),
  ),
)

test.each(BODIES)('the body of %s has a description and a valid example', (_name, schema) => {
  expect(schema).toMatchObject({ description: expect.stringMatching(/^\w/), examples: [expect.anything()] })
  const validator = Compile(schema)
  for (const example of schema.examples!) expect([...validator.Errors(example)]).toEqual([])
})

test('operations have unique ids, which are verbs, and summaries of at most ten words', () => {
  const ids = OPERATIONS.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { operationId, summary } of OPERATIONS) {
    expect(operationId).toMatch(/^[a-z]+(?:[A-Z][a-z]*)*$/)
    expect([summary, summary.split(' ').length <= 10, summary.endsWith('.')]).toEqual([summary, true, false])
  }
})

test('every body is a component, never inlined in an operation', () => {
  const { paths } = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const contents = [operation.requestBody?.content, ...Object.values(operation.responses).map((one) => one.content)]
    for (const content of contents)
      for (const [type, { schema }] of Object.entries(content ?? {}))
        if (JSON_TYPES.includes(type))
          expect([operation.operationId, Object.keys(schema)]).toEqual([operation.operationId, ['$ref']])
  }
})
